//! The pages by their addresses, and the process that serves them.

use crate::apart::apart;
use crate::catalogue::RecordingCatalogue;
use crate::comparison;
use crate::connections;
use crate::documents::Documents;
use crate::followers::Followers;
use crate::guard::{self, Guard};
use crate::history;
use crate::page::{self, Page, Refused};
use crate::token::Token;
use crate::{api, live, recording, script, trends};
use axum::Router;
use axum::extract::rejection::{PathRejection, QueryRejection};
use axum::extract::{Path, Query, State};
use axum::http::{StatusCode, header};
use axum::middleware::from_fn_with_state;
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::get;
use plimsoll_analysis::ParametersOf;
use plimsoll_record::read::{Entry, State as Standing};
use plimsoll_render::{STYLE, script as report_script};
use plimsoll_report::document::Document;
use plimsoll_report::svg;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;

/// The most streams of events at a time.
const STREAMS: usize = 32;
/// The most threads that read files and make reports.
const THREADS: usize = 4;
/// How often to check whether to end.
const LOOK: Duration = Duration::from_millis(100);
/// Below everything that measures or is measured: viewers only get CPU time that nothing else needs.
const NICENESS: i32 = 10;

#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    #[error(
        "cannot listen on {listen}: {source}; if another dashboard is using this address, choose a different one \
             with --listen"
    )]
    Listen { listen: SocketAddr, source: std::io::Error },

    #[error("the dashboard cannot be served: {0}")]
    Serve(#[from] std::io::Error),
}

/// A dashboard that listens, and answers once it is running.
pub struct Dashboard {
    listener: TcpListener,
    sources: Sources,
    guard: Guard,
}

/// What pages are made from.
#[derive(Clone)]
struct Sources {
    catalogue: RecordingCatalogue,
    documents: Documents,
    followers: Followers,
    streams: Arc<Semaphore>,
}

impl Dashboard {
    /// Listens on an address, with a token of its own; `parameters_of` returns the parameters of a workload.
    ///
    /// # Errors
    /// [`ServeError::Listen`] if the address is in use or not one of this machine's.
    pub fn listen(
        listen: SocketAddr,
        recordings: PathBuf,
        parameters_of: ParametersOf,
    ) -> Result<Dashboard, ServeError> {
        let listener = TcpListener::bind(listen).map_err(|source| ServeError::Listen { listen, source })?;
        listener.set_nonblocking(true)?;
        let token = Token::new(listener.local_addr()?.port())?;
        let sources = Sources {
            catalogue: RecordingCatalogue::new(recordings),
            documents: Documents::new(parameters_of),
            followers: Followers::default(),
            streams: Arc::new(Semaphore::new(STREAMS)),
        };
        Ok(Dashboard { listener, sources, guard: Guard { listen: listen.ip(), token } })
    }

    /// Where a browser finds it: with the token, which the browser then keeps.
    ///
    /// # Errors
    /// If the system does not tell the address.
    pub fn url(&self) -> Result<String, ServeError> {
        let mut address = self.listener.local_addr()?;
        if address.ip().is_unspecified() {
            // It listens on all addresses of the machine; this one is known.
            address.set_ip(if address.is_ipv4() { Ipv4Addr::LOCALHOST.into() } else { Ipv6Addr::LOCALHOST.into() });
        }
        Ok(format!("http://{address}/?token={}", self.guard.token.text()))
    }

    /// Answers requests until `ended` is true. Then connections that are still open are closed.
    ///
    /// # Errors
    /// [`ServeError::Serve`] if the system refuses a thread or the listener.
    pub fn run(self, ended: impl Fn() -> bool) -> Result<(), ServeError> {
        // Refused only if somebody forbade it; then viewers have the same priority as everything else.
        let _ = rustix::process::nice(NICENESS);
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().max_blocking_threads(THREADS).build()?;
        let served = runtime.block_on(async {
            let listener = tokio::net::TcpListener::from_std(self.listener)?;
            tokio::select! {
                () = connections::answer(listener, pages(self.sources, self.guard)) => {}
                () = until(ended) => {}
            }
            Ok(())
        });
        runtime.shutdown_background();
        served
    }
}

async fn until(ended: impl Fn() -> bool) {
    while !ended() {
        tokio::time::sleep(LOOK).await;
    }
}

/// All pages, behind the guard.
fn pages(sources: Sources, guard: Guard) -> Router {
    let style = [svg::STYLE, STYLE, page::STYLE].concat();
    Router::new()
        .route("/", get(all))
        .route("/recording/{id}", get(one))
        .route("/recording/{id}/{file}", get(file))
        .route("/compare", get(compare))
        .route("/trend/{name}", get(trend))
        .route("/api/recordings", get(api_recordings))
        .route("/api/recording/{id}", get(api_recording))
        .route("/api/compare", get(api_compare))
        .route("/api/trend/{name}", get(api_trend))
        .route("/metrics", get(metrics))
        .route("/live/{id}", get(watch))
        .route("/live/{id}/events", get(events))
        .route("/style.css", get(|| async { typed("text/css; charset=utf-8", style) }))
        .route("/icon.svg", get(|| async { typed("image/svg+xml", page::ICON) }))
        .route("/dashboard.js", get(|| async { bundle(script::BUNDLE) }))
        .route("/report.js", get(|| async { bundle(report_script::BUNDLE) }))
        .fallback(|| async { Refused::new(StatusCode::NOT_FOUND, "There is no such page.") })
        .with_state(sources)
        .layer(from_fn_with_state(Arc::new(guard), guard::admit))
}

/// The query of the request, if it can be read.
type Asked<T> = Result<Query<T>, QueryRejection>;
/// The parameter in the path, if it is text.
type Named<T> = Result<Path<T>, PathRejection>;

async fn all(State(sources): State<Sources>, asked: Asked<history::HistoryQuery>) -> Result<Page, Refused> {
    let Query(asked) = asked?;
    apart(move || Ok(history::page(&sources.catalogue.list()?, &asked))).await
}

async fn one(State(sources): State<Sources>, id: Named<String>) -> Result<Page, Refused> {
    let (entry, document) = sources.report(id?.0).await?;
    apart(move || Ok(recording::page(&entry, &document))).await
}

async fn file(State(sources): State<Sources>, named: Named<(String, String)>) -> Result<Response, Refused> {
    let Path((id, name)) = named?;
    let (entry, document) = sources.report(id).await?;
    apart(move || recording::file(&entry, &document, &name)).await
}

async fn compare(State(sources): State<Sources>, asked: Asked<Vec<(String, String)>>) -> Result<Page, Refused> {
    let Query(asked) = asked?;
    apart(move || comparison::page(&sources.catalogue, &sources.documents, &asked)).await
}

async fn trend(State(sources): State<Sources>, name: Named<String>) -> Result<Page, Refused> {
    let Path(name) = name?;
    apart(move || trends::page(&sources.catalogue, &name)).await
}

async fn api_recordings(State(sources): State<Sources>) -> Result<Response, Refused> {
    apart(move || api::recordings(&sources.catalogue)).await
}

async fn api_recording(State(sources): State<Sources>, id: Named<String>) -> Result<Response, Refused> {
    let (_, document) = sources.report(id?.0).await?;
    apart(move || api::document(&document)).await
}

async fn api_compare(State(sources): State<Sources>, asked: Asked<Vec<(String, String)>>) -> Result<Response, Refused> {
    let Query(asked) = asked?;
    apart(move || comparison::data(&sources.catalogue, &asked)).await
}

async fn api_trend(State(sources): State<Sources>, name: Named<String>) -> Result<Response, Refused> {
    let Path(name) = name?;
    apart(move || api::document(&trends::document(&sources.catalogue, &name)?)).await
}

/// A collector is no viewer: a recording that cannot be followed, since too many are, is left out.
async fn metrics(State(sources): State<Sources>) -> Result<Response, Refused> {
    let catalogue = sources.catalogue.clone();
    let listing = apart(move || catalogue.list()).await?;
    let states: Vec<Standing> = listing.recordings.iter().map(Entry::state).collect();
    let mut running = Vec::new();
    for entry in listing.recordings.into_iter().filter(|entry| entry.state() == Standing::Running) {
        if let Ok(watched) = sources.followers.watch(entry).await {
            running.push(watched.borrow().clone());
        }
    }
    Ok(api::metrics(&states, &running))
}

async fn watch(State(sources): State<Sources>, id: Named<String>) -> Result<Response, Refused> {
    let Path(id) = id?;
    let entry = sources.entry(id.clone()).await?;
    if entry.state() != Standing::Running {
        return Ok(Redirect::to(&format!("/recording/{id}")).into_response());
    }
    let shown = sources.followers.watch(entry).await?.borrow().clone();
    Ok(live::page(&id, &shown).into_response())
}

async fn events(State(sources): State<Sources>, id: Named<String>) -> Result<Response, Refused> {
    let entry = sources.entry(id?.0).await?;
    if entry.state() != Standing::Running {
        // This tells a browser not to reconnect (WHATWG HTML, 9.2 Server-sent events).
        return Ok(StatusCode::NO_CONTENT.into_response());
    }
    let Ok(place) = sources.streams.clone().try_acquire_owned() else {
        let why = format!("{STREAMS} pages are already being kept up to date; close one of them.");
        return Err(Refused::new(StatusCode::SERVICE_UNAVAILABLE, &why));
    };
    Ok(live::events(sources.followers.watch(entry).await?, place))
}

impl Sources {
    async fn entry(&self, id: String) -> Result<Entry, Refused> {
        let catalogue = self.catalogue.clone();
        apart(move || catalogue.entry(&id)).await
    }

    async fn report(&self, id: String) -> Result<(Entry, Arc<Document>), Refused> {
        let entry = self.entry(id).await?;
        Ok((entry.clone(), self.documents.of(entry).await?))
    }
}

impl From<QueryRejection> for Refused {
    fn from(rejection: QueryRejection) -> Refused {
        Refused::new(rejection.status(), &rejection.body_text())
    }
}

impl From<PathRejection> for Refused {
    fn from(rejection: PathRejection) -> Refused {
        Refused::new(rejection.status(), &rejection.body_text())
    }
}

fn bundle(script: Option<&'static str>) -> Response {
    match script {
        Some(script) => typed("text/javascript; charset=utf-8", script),
        None => Refused::new(StatusCode::NOT_FOUND, "This Plimsoll was built without the script.").into_response(),
    }
}

fn typed(media_type: &'static str, text: impl IntoResponse) -> Response {
    ([(header::CONTENT_TYPE, media_type)], text).into_response()
}
