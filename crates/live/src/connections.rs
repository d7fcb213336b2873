//! Connections: a limited number at a time, and none that stays idle.

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::sleep;

/// The most connections at a time; later ones wait.
const MOST: usize = 128;
/// How long a connection may take to send a request, or the next one.
const ASKED_WITHIN: Duration = Duration::from_secs(5);
/// A viewer that takes no data for this long is dropped, milliseconds (tcp(7), TCP_USER_TIMEOUT).
const STALLED_MS: u32 = 30_000;
/// If the system has no file descriptors left, some may be free again after this.
const BREATH: Duration = Duration::from_millis(100);

/// Answers all connections, for ever.
pub async fn answer(listener: TcpListener, pages: Router) {
    let places = Arc::new(Semaphore::new(MOST));
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(ASKED_WITHIN);
    // The semaphore is never closed.
    while let Ok(place) = places.clone().acquire_owned().await {
        let connection = next(&listener).await;
        let pages = TowerToHyperService::new(pages.clone());
        let answered = http.serve_connection(TokioIo::new(connection), pages);
        tokio::spawn(async move {
            // A viewer that is gone needs no answer.
            let _ = answered.await;
            drop(place);
        });
    }
}

async fn next(listener: &TcpListener) -> TcpStream {
    loop {
        let Ok((connection, _)) = listener.accept().await else {
            sleep(BREATH).await;
            continue;
        };
        // If the system does not know these options, it only takes longer to notice.
        let _ = rustix::net::sockopt::set_tcp_user_timeout(&connection, STALLED_MS);
        let _ = connection.set_nodelay(true);
        return connection;
    }
}
