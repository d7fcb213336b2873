//! The connection to the broker, as a blocking face: nothing outside this file knows NATS or how to wait for it.
//!
//! Control goes over core NATS, which forgets; what a load tells goes into one JetStream stream, which keeps it until the
//! coordinator has it. Neither is trusted to be the only copy.

use crate::error::FleetError;
use crate::key;
use crate::subject;
use async_nats::HeaderMap;
use async_nats::jetstream::consumer::{DeliverPolicy, pull};
use async_nats::jetstream::stream::{Config, StorageType, Stream};
use async_nats::jetstream::{self, Context};
use async_nats::{Client, ConnectOptions, Event, Request, ServerError};
use futures_util::StreamExt;
use plimsoll_plan::broker::BrokerAddress;
use std::future::Future;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::sync::{oneshot, watch};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

/// A broker answers within this time, or is not there.
const PATIENCE: Duration = Duration::from_secs(5);
/// An attempt at a connection that takes longer is made again: who is silent for 5 s is lost.
const CONNECTED_WITHIN: Duration = Duration::from_secs(2);
/// What is not acknowledged by then is sent again, under the same id.
const STORED_WITHIN: Duration = Duration::from_secs(1);
/// Between two attempts.
const AGAIN: Duration = Duration::from_millis(200);
/// How often somebody who waits for an answer looks whether it was interrupted.
const LOOK: Duration = Duration::from_millis(100);
/// How a broker begins to say that we may not hear something (nats-server, `-ERR`), in small letters.
const NOT_TO_BE_HEARD: &str = "permissions violation for subscription";
/// What the stream keeps at most: after this time nobody comes back for it.
const KEPT_FOR: Duration = Duration::from_secs(24 * 3600);
/// And so much, so that nobody fills the broker's disk.
const KEPT_BYTES: i64 = 32 << 20;

/// What was received.
#[derive(Clone, Debug)]
pub struct Letter {
    pub subject: String,
    /// Where its answer is expected.
    pub reply: Option<String>,
    pub body: Vec<u8>,
    /// When it was asked for and when it came, if it is an answer.
    pub times: Option<(Instant, Instant)>,
}

/// A connection to the broker that comes back by itself.
pub struct BrokerLink {
    runtime: Runtime,
    client: Client,
    jetstream: Context,
    outbox: UnboundedSender<Outgoing>,
    news: Arc<Mutex<News>>,
    /// How often the connection was made.
    connected: watch::Receiver<u64>,
}

/// What is sent in turn.
enum Outgoing {
    Letter(String, Vec<u8>),
    /// Whoever waits for everything before it.
    Flush(oneshot::Sender<()>),
}

/// How it stands with the connection.
#[derive(Debug, Default)]
struct News {
    /// Why it is gone.
    trouble: Option<String>,
    /// Whether that has changed since somebody asked.
    is_new: bool,
    /// What we may not hear, in the broker's words.
    refused: Option<String>,
}

impl News {
    fn hear(&mut self, event: Event) {
        let trouble = match event {
            Event::Connected => None,
            Event::Disconnected => Some("it is gone".to_owned()),
            // It says so after it seemed to have let us.
            Event::ServerError(ServerError::Other(why)) if why.to_lowercase().starts_with(NOT_TO_BE_HEARD) => {
                self.refused.get_or_insert(why);
                return;
            }
            // What else it complains of while it is there is no reason not to hear it.
            _ => return,
        };
        self.is_new |= self.trouble.is_some() != trouble.is_some();
        self.trouble = trouble;
    }
}

impl BrokerLink {
    /// Connects as `who`, whose inbox nobody else may read.
    ///
    /// # Errors
    /// The broker does not answer, does not trust us, or has no JetStream.
    pub fn connect(address: &BrokerAddress, who: &str) -> Result<BrokerLink, FleetError> {
        let failed = |why: String| FleetError::Environment(format!("the broker {address}: {why}"));
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("broker")
            .enable_all()
            .build()
            .map_err(|error| failed(error.to_string()))?;
        let news = Arc::new(Mutex::new(News::default()));
        let (made, connected) = watch::channel(0);
        let options = options(address, who, &news, made)?;
        let answer = runtime.block_on(async { timeout(PATIENCE, options.connect(address.url())).await });
        let client = match answer {
            Ok(Ok(client)) => client,
            Ok(Err(error)) => return Err(failed(error.to_string())),
            Err(_) => return Err(failed("it does not answer".to_owned())),
        };
        let jetstream = {
            let _within = runtime.enter();
            jetstream::new(client.clone())
        };
        let (outbox, mut letters) = unbounded_channel();
        let sender = client.clone();
        runtime.spawn(async move {
            while let Some(outgoing) = letters.recv().await {
                match outgoing {
                    // What cannot be sent while the broker is gone is of no use when it is back.
                    Outgoing::Letter(subject, body) => {
                        drop(timeout(PATIENCE, sender.publish(subject, body.into())).await);
                    }
                    Outgoing::Flush(done) => {
                        let _ = timeout(PATIENCE, sender.flush()).await;
                        let _ = done.send(());
                    }
                }
            }
        });
        // That it is there is no news.
        news.lock().unwrap_or_else(PoisonError::into_inner).is_new = false;
        Ok(BrokerLink { runtime, client, jetstream, outbox, news, connected })
    }

    /// Whether the connection was lost or has come back since this was last asked: why it is gone, or that it is there.
    pub fn news(&self) -> Option<Option<String>> {
        let mut news = self.news.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut news.is_new).then(|| news.trouble.clone())
    }

    /// Whether the broker is there.
    pub fn is_up(&self) -> bool {
        self.news.lock().unwrap_or_else(PoisonError::into_inner).trouble.is_none()
    }

    /// What the broker does not let us hear, in its words, if there is such a thing.
    pub fn refused(&self) -> Option<String> {
        self.news.lock().unwrap_or_else(PoisonError::into_inner).refused.clone()
    }

    /// How often the broker came, or came back.
    pub fn comings(&self) -> u64 {
        *self.connected.borrow()
    }

    /// Sends something, after everything that was sent before; nobody may be there to hear it.
    pub fn tell(&self, subject: &str, body: Vec<u8>) {
        let _ = self.outbox.send(Outgoing::Letter(subject.to_owned(), body));
    }

    /// Waits until all that was told is with the broker.
    pub fn flush(&self) {
        let (done, is_done) = oneshot::channel();
        let _ = self.outbox.send(Outgoing::Flush(done));
        // One that is gone has nothing to wait for.
        let _ = self.runtime.block_on(async { timeout(PATIENCE, is_done).await });
    }

    /// Asks all of these at once, and waits until all have answered or their time is over.
    pub fn ask_all(&self, questions: Vec<(String, Vec<u8>)>, patience: Duration) -> Vec<Result<Vec<u8>, String>> {
        self.ask_all_unless(questions, patience, &|| false).unwrap_or_default()
    }

    /// The same; `None` if it was interrupted before.
    pub fn ask_all_unless(
        &self,
        questions: Vec<(String, Vec<u8>)>,
        patience: Duration,
        is_interrupted: &dyn Fn() -> bool,
    ) -> Option<Vec<Result<Vec<u8>, String>>> {
        let asked: Vec<_> = questions
            .into_iter()
            .map(|(subject, body)| self.runtime.spawn(self.asked(subject, body, patience)))
            .collect();
        asked.into_iter().map(|answer| self.answered(answer, is_interrupted)).collect()
    }

    fn answered(
        &self,
        mut answer: JoinHandle<Result<Vec<u8>, String>>,
        is_interrupted: &dyn Fn() -> bool,
    ) -> Option<Result<Vec<u8>, String>> {
        loop {
            match self.runtime.block_on(async { timeout(LOOK, &mut answer).await }) {
                Ok(answered) => return Some(answered.unwrap_or_else(|error| Err(error.to_string()))),
                Err(_) if is_interrupted() => return None,
                Err(_) => {}
            }
        }
    }

    /// Asks `times` times, one after the other, and goes on; what is answered in time comes as letters on `subject`.
    pub fn ask_later(&self, subject: &str, body: Vec<u8>, times: usize, inbox: &Sender<Letter>) {
        let (client, subject, inbox) = (self.client.clone(), subject.to_owned(), inbox.clone());
        self.runtime.spawn(async move {
            for _ in 0..times {
                let asked = Instant::now();
                let answer = timeout(PATIENCE, client.request(subject.clone(), body.clone().into())).await;
                let times = Some((asked, Instant::now()));
                let Ok(Ok(answer)) = answer else { return };
                let _ =
                    inbox.send(Letter { subject: subject.clone(), reply: None, body: answer.payload.to_vec(), times });
            }
        });
    }

    /// Asks something whose answer may take long; it comes into `inbox`, or why none does.
    pub fn ask_long(&self, subject: &str, body: Vec<u8>, inbox: Sender<Result<Vec<u8>, String>>) {
        let (client, subject) = (self.client.clone(), subject.to_owned());
        self.runtime.spawn(async move {
            let request = Request::new().payload(body.into()).timeout(None);
            let answer = client.send_request(subject, request).await;
            let _ = inbox.send(answer.map(|answer| answer.payload.to_vec()).map_err(|error| error.to_string()));
        });
    }

    fn asked(
        &self,
        subject: String,
        body: Vec<u8>,
        patience: Duration,
    ) -> impl Future<Output = Result<Vec<u8>, String>> + Send + use<> {
        let client = self.client.clone();
        async move {
            match timeout(patience, client.request(subject, body.into())).await {
                Ok(Ok(answer)) => Ok(answer.payload.to_vec()),
                Ok(Err(error)) => Err(error.to_string()),
                Err(_) => Err(format!("no answer within {} s", patience.as_secs_f64())),
            }
        }
    }

    /// Has all that comes on `subject`, from now on, put into `inbox`.
    ///
    /// # Errors
    /// The broker does not let us.
    pub fn hear(&self, subject: &str, inbox: Sender<Letter>) -> Result<(), FleetError> {
        self.each(subject, move |letter, _| drop(inbox.send(letter)))
    }

    /// Answers what is asked on `subject` at once, whatever this process is at.
    ///
    /// # Errors
    /// The broker does not let us.
    pub fn answer(&self, subject: &str, answer: impl Fn() -> Vec<u8> + Send + 'static) -> Result<(), FleetError> {
        self.each(subject, move |letter, client| {
            let (Some(reply), body) = (letter.reply, answer()) else { return };
            let client = client.clone();
            tokio::spawn(async move { client.publish(reply, body.into()).await });
        })
    }

    fn each(&self, subject: &str, mut take: impl FnMut(Letter, &Client) + Send + 'static) -> Result<(), FleetError> {
        let failed = |why: String| FleetError::Environment(format!("listening on {subject}: {why}"));
        let (client, wanted) = (self.client.clone(), subject.to_owned());
        let mut heard = self.runtime.block_on(client.subscribe(wanted)).map_err(|error| failed(error.to_string()))?;
        // Nothing that is sent after this is missed.
        self.runtime.block_on(client.flush()).map_err(|error| failed(error.to_string()))?;
        self.runtime.spawn(async move {
            while let Some(message) = heard.next().await {
                let reply = message.reply.map(|reply| reply.to_string());
                let (subject, body) = (message.subject.to_string(), message.payload.to_vec());
                let letter = Letter { subject, reply, body, times: None };
                take(letter, &client);
            }
        });
        Ok(())
    }

    /// Stores something under an `id` that is stored only once, and waits until the broker has it.
    ///
    /// # Errors
    /// It has not said so in time; it may have it all the same.
    pub fn store(&self, subject: &str, id: &str, body: Vec<u8>) -> Result<(), String> {
        let mut headers = HeaderMap::new();
        headers.insert("Nats-Msg-Id", id);
        let stored = async {
            let sent = self.jetstream.publish_with_headers(subject.to_owned(), headers, body.into()).await;
            sent.map_err(|error| error.to_string())?.await.map_err(|error| error.to_string())
        };
        let stored = self.runtime.block_on(async { timeout(STORED_WITHIN, stored).await });
        stored.map_err(|_| "no acknowledgement in time".to_owned())?.map(drop)
    }

    /// Makes the stream if there is none; the sequence of its last message.
    ///
    /// # Errors
    /// The broker has no JetStream, or does not let us.
    pub fn prepare_stream(&self) -> Result<u64, FleetError> {
        let failed = |why: String| FleetError::Environment(format!("the broker's stream: {why}"));
        let made = async { timeout(PATIENCE, stream(&self.jetstream)).await };
        let stream = self.runtime.block_on(made).map_err(|_| failed("it does not answer".to_owned()))?;
        Ok(stream.map_err(failed)?.cached_info().state.last_sequence)
    }

    /// Has all that is stored after this sequence put into `inbox`, in order, for as long as there is somebody to read it.
    pub fn read_stored(&self, after: u64, inbox: Sender<Letter>) {
        let (jetstream, mut connected) = (self.jetstream.clone(), self.connected.clone());
        self.runtime.spawn(async move {
            let mut next = after + 1;
            loop {
                connected.mark_unchanged();
                let read = tokio::select! {
                    read = read(&jetstream, &mut next, &inbox) => read,
                    // A broker that was started again has forgotten who was reading, and would not say so for long.
                    _ = connected.changed() => Ok(()),
                };
                if read.is_err() {
                    return;
                }
                sleep(AGAIN).await;
            }
        });
    }
}

/// Nobody reads any more.
struct Closed;

/// Reads until the stream or the connection fails; `next` is the sequence of what comes next.
async fn read(jetstream: &Context, next: &mut u64, inbox: &Sender<Letter>) -> Result<(), Closed> {
    let Ok(stream) = stream(jetstream).await else { return Ok(()) };
    // A broker that has lost its disk counts anew; what was read before is known again by its own numbers.
    if stream.cached_info().state.last_sequence + 1 < *next {
        *next = 1;
    }
    let consumer = stream.create_consumer(pull::OrderedConfig {
        deliver_policy: DeliverPolicy::ByStartSequence { start_sequence: *next },
        ..pull::OrderedConfig::default()
    });
    let Ok(consumer) = consumer.await else { return Ok(()) };
    let Ok(mut messages) = consumer.messages().await else { return Ok(()) };
    while let Some(Ok(message)) = messages.next().await {
        let Ok(info) = message.info() else { return Ok(()) };
        *next = info.stream_sequence + 1;
        let (subject, body) = (message.subject.to_string(), message.payload.to_vec());
        let letter = Letter { subject, reply: None, body, times: None };
        inbox.send(letter).map_err(|_| Closed)?;
    }
    Ok(())
}

async fn stream(jetstream: &Context) -> Result<Stream, String> {
    let config = Config {
        name: subject::STREAM.to_owned(),
        subjects: vec![subject::told("*")],
        storage: StorageType::File,
        max_age: KEPT_FOR,
        // The oldest goes first; agents have all of it.
        max_bytes: KEPT_BYTES,
        // Whoever stores something says where that is acknowledged, and the acknowledgement would do as a request to delete.
        deny_delete: true,
        deny_purge: true,
        ..Config::default()
    };
    jetstream.get_or_create_stream(config).await.map_err(|error| error.to_string())
}

fn options(
    address: &BrokerAddress,
    who: &str,
    news: &Arc<Mutex<News>>,
    made: watch::Sender<u64>,
) -> Result<ConnectOptions, FleetError> {
    let news = Arc::clone(news);
    let mut options = ConnectOptions::new()
        .name(format!("plimsoll {who}"))
        .custom_inbox_prefix(subject::inbox(who))
        .connection_timeout(CONNECTED_WITHIN)
        // It may have addresses that cannot be reached from here.
        .ignore_discovered_servers()
        .require_tls(address.is_encrypted())
        .reconnect_delay_callback(|_| AGAIN)
        .event_callback(move |event| {
            if event == Event::Connected {
                made.send_modify(|times| *times += 1);
            }
            if let Ok(mut news) = news.lock() {
                news.hear(event);
            }
            std::future::ready(())
        });
    if let Some(seed) = key::seed(address)? {
        options = options.nkey(seed);
    }
    if let Some(authority) = address.authority() {
        options = options.add_root_certificates(authority.to_owned());
    }
    Ok(options)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(why: &str) -> Event {
        Event::ServerError(ServerError::Other(why.to_owned()))
    }

    #[test]
    fn what_we_may_not_hear_is_kept_and_nothing_else_that_a_broker_complains_of() {
        let mut news = News::default();
        // An answer that comes too late to be allowed is none of our subscriptions.
        news.hear(said("Permissions Violation for Publish to \"_INBOX_x.y\""));
        news.hear(said("stale connection"));
        news.hear(Event::Closed);
        assert!(news.refused.is_none() && !news.is_new && news.trouble.is_none());
        let why = "Permissions Violation for Subscription to \"plimsoll.to.a02\"";
        news.hear(said(why));
        news.hear(said("Permissions Violation for Subscription to \"plimsoll.clock.a02\""));
        assert_eq!(news.refused.as_deref(), Some(why), "the first");
        assert!(!news.is_new && news.trouble.is_none(), "the broker is there all the same");
    }

    #[test]
    fn a_broker_that_is_gone_and_back_is_news_each_time() {
        let mut news = News::default();
        news.hear(Event::Disconnected);
        assert!(std::mem::take(&mut news.is_new) && news.trouble.is_some());
        news.hear(Event::Disconnected);
        assert!(!news.is_new);
        news.hear(Event::Connected);
        assert!(news.is_new && news.trouble.is_none());
    }
}
