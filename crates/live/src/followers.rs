//! One follower for each watched recording, shared by all its viewers.
//!
//! Viewers only get the latest state: one that does not read keeps that one state, however long it stalls, and neither
//! the others nor the recording ever wait for it.

use crate::apart::apart;
use crate::follow::Follower;
use crate::live;
use crate::page::Refused;
use crate::shown::{ShownState, Watched};
use axum::http::StatusCode;
use jiff::Timestamp;
use plimsoll_record::read::Entry;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::watch;

/// A recording gains a line a second.
const LOOK: Duration = Duration::from_secs(1);
/// How many looks continue after the last viewer has left, so that a page that reloads itself finds its follower still
/// there.
const LINGERING: u32 = 20;
/// The most recordings that are followed at a time.
const MOST: usize = 8;

/// All active followers.
#[derive(Clone, Debug, Default)]
pub struct Followers {
    by_id: Arc<Mutex<HashMap<String, Watched>>>,
}

impl Followers {
    /// The state to watch of a recording; the first request begins to follow it.
    ///
    /// # Errors
    /// If too many recordings are followed already, or the recording cannot be followed.
    pub async fn watch(&self, entry: Entry) -> Result<Watched, Refused> {
        let mut watched = self.follower(entry)?;
        match watched.wait_for(|shown| !shown.parts.is_empty()).await.map(drop) {
            Ok(()) => Ok(watched),
            Err(_) => Err(Refused::failed("The recording could not be followed.")),
        }
    }

    /// What a follower shows; nothing before its first look.
    fn follower(&self, entry: Entry) -> Result<Watched, Refused> {
        let id = entry.id();
        let mut by_id = self.by_id.lock().unwrap_or_else(PoisonError::into_inner);
        by_id.retain(|_, watched| watched.has_changed().is_ok());
        if let Some(watched) = by_id.get(&id) {
            return Ok(watched.clone());
        }
        if by_id.len() >= MOST {
            let why = format!("{MOST} recordings are being watched already; close one of them first.");
            return Err(Refused::new(StatusCode::SERVICE_UNAVAILABLE, &why));
        }
        let (sender, watched) = watch::channel(Arc::default());
        by_id.insert(id, watched.clone());
        tokio::spawn(follow(Follower::new(entry), sender));
        Ok(watched)
    }
}

/// Looks once a second until the recording has ended or nobody has watched for a while.
async fn follow(mut follower: Follower, sender: watch::Sender<Arc<ShownState>>) {
    let mut alone = 0;
    while alone < LINGERING {
        let Ok((again, shown)) = look(follower).await else { return };
        follower = again;
        let over = shown.over;
        sender.send_replace(shown);
        if over {
            return;
        }
        // One receiver belongs to the map.
        alone = if sender.receiver_count() > 1 { 0 } else { alone + 1 };
        tokio::time::sleep(LOOK).await;
    }
}

/// Files may be slow, so nobody else waits for them.
async fn look(mut follower: Follower) -> Result<(Follower, Arc<ShownState>), Refused> {
    apart(move || {
        follower.look();
        let shown = Arc::new(live::shown(&follower, Timestamp::now()));
        Ok((follower, shown))
    })
    .await
}
