//! Work on files, away from the thread that answers requests.

use crate::page::Refused;
use tokio::task::spawn_blocking;

/// Reads files on a separate thread, so that nobody else waits for them.
///
/// # Errors
/// Those of `make`.
pub async fn apart<T: Send + 'static>(
    make: impl FnOnce() -> Result<T, Refused> + Send + 'static,
) -> Result<T, Refused> {
    spawn_blocking(make)
        .await
        .unwrap_or_else(|error| Err(Refused::failed(&format!("The page could not be created: {error}"))))
}
