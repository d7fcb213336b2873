//! The measuring loop, written once: arrivals × stop × workload × transport are independent values.
//!
//! Each connection runs [`drive`]: wait for a turn, run the transaction, retry it if the server asks for that,
//! count what came of it.

use crate::client::LoadClient;
use crate::commit_log::LoggedCommit;
use crate::context::Context;
use crate::due::{Begun, Turn};
use crate::error::{Failure, Reason};
use crate::executor::Slot;
use crate::workload::{Input, Who, Workload};
use plimsoll_load::recorder::{Done, End};
use plimsoll_load::seed::Rng;
use std::rc::Rc;

/// Deadlock, lock wait timeout, record changed since read, refused by group certification.
pub const RETRYABLE: [u16; 4] = [1213, 1205, 1020, 3101];
/// Shutdown in progress, connection killed (MariaDB, MySQL), idle for too long.
pub const FAREWELLS: [u16; 4] = [1053, 1927, 3169, 4031];
/// Too many connections: of all users, of this one, of this one per hour.
const FULL: [u16; 3] = [1040, 1203, 1226];
/// A server that is not silent and comes to no end all the same is given up after so many outage limits.
pub const ENDLESS: u64 = 4;
const TRIES: u32 = 10;
/// A transaction that still loses its connection after so many tries, and longer than the outage limit, is given up: it
/// may be what ends them. Half of the tries at least were lost, not refused.
const LOST_TRIES: u32 = 2 * TRIES;
const BACKOFF_MS_MAX: u64 = 100;
const RECONNECT_NS: u64 = 100_000_000;
/// The stream of back-off, apart from those of the transactions.
const BACKOFF_STREAM: u64 = 1 << 62;

/// A connection that is ready for transactions.
pub struct ReadyConnection<W: Workload> {
    pub client: W::Client,
    pub state: W::State,
    pub who: Who,
}

/// Runs transactions on one connection until there is none left to begin; returns it to be closed.
pub async fn drive<W: Workload>(context: &Context<W>, slot: &Rc<Slot>, mut ready: ReadyConnection<W>) -> W::Client {
    let mut begun = Begun::default();
    while let Some(turn) = context.turn(slot, &mut ready.client, ready.who, &mut begun).await {
        context.reactor.begin_exchange(turn.sent_ns);
        let outcome = transact(context, slot, &mut ready, &turn).await;
        context.reactor.end_exchange();
        match outcome {
            Ok(()) => context.answered(&turn),
            Err(Ended::Stopped) => break,
            Err(Ended::Failed) => return ready.client,
        }
    }
    let ReadyConnection { mut client, state, .. } = ready;
    context.reactor.begin_exchange(client.now_ns());
    let finished = context.workload.finish(state, &mut client).await;
    context.reactor.end_exchange();
    if let Err(failure) = finished {
        context.give_up_for(&client, &failure);
    }
    client
}

/// Why a connection runs no more transactions.
enum Ended {
    /// The reason stands in the context.
    Failed,
    /// Its workload has nothing more for it to do.
    Stopped,
}

async fn transact<W: Workload>(
    context: &Context<W>,
    slot: &Rc<Slot>,
    ready: &mut ReadyConnection<W>,
    turn: &Turn,
) -> Result<(), Ended> {
    let sent_ns = turn.sent_ns;
    context.meter.at(sent_ns).started(turn.due_ns, sent_ns);
    let (mut tries, mut begun_ns) = (0, sent_ns);
    loop {
        let ReadyConnection { client, state, who } = ready;
        let mut input = turn.input(context.spec.seed, *who);
        let mut failure = match context.workload.transaction(state, client, &mut input).await {
            Ok(end) => {
                finished(context, client, *who, turn, &input, end);
                return if end == End::Stopped { Err(Ended::Stopped) } else { Ok(()) };
            }
            Err(failure) => failure,
        };
        tries += 1;
        count_failure(context, client, &failure, begun_ns);
        let again = after_failure(context, &failure, turn, tries);
        let code = code(&failure);
        let rolls_back = again == Next::Retry || again == Next::Skip && client.needs_rollback();
        if rolls_back && let Err(second) = client.rollback().await {
            count_failure(context, client, &second, client.answered_ns());
            failure = second;
        }
        match after_failure(context, &failure, turn, tries) {
            Next::Reconnect => reconnect(context, slot, ready, tries > 1).await?,
            Next::GiveUp => return give_up(context, client, turn, &input, &failure),
            _ if again == Next::Retry => {
                context.meter.at(context.meter.now_ns()).retried(input.transaction, code);
                back_off(context, slot, turn, tries).await?;
                client.waited();
            }
            Next::Skip | Next::Retry => {
                context.meter.at(context.meter.now_ns()).failed(input.transaction, turn.due_ns);
                return Ok(());
            }
        }
        begun_ns = context.meter.now_ns();
    }
}

/// What an attempt at a transaction that began at `begun_ns` has come to.
fn count_failure<W: Workload>(context: &Context<W>, client: &W::Client, failure: &Failure, begun_ns: u64) {
    let now_ns = context.meter.now_ns();
    let mut recorder = context.meter.at(now_ns);
    match failure {
        Failure::Server(message) => return recorder.attempt_failed(message.code, now_ns.saturating_sub(begun_ns)),
        Failure::Lost(_) => recorder.connection_lost(),
        _ => {}
    }
    if !failure.is_unsent() && client.is_committing() {
        recorder.commit_unknown();
    }
}

fn finished<W: Workload>(context: &Context<W>, client: &W::Client, who: Who, turn: &Turn, input: &Input, end: End) {
    let Turn { due_ns, sent_ns, .. } = *turn;
    // A transaction may have sent nothing.
    let now_ns = client.answered_ns().max(sent_ns);
    let done = Done { connection: who.local, transaction: input.transaction, end, due_ns, sent_ns, now_ns };
    context.meter.at(now_ns).finished(done);
    if let (Some(log), End::Committed | End::Autocommit(_)) = (&context.spec.commits, end) {
        log.note(LoggedCommit { connection: who.connection as u64, number: input.entry, t_ns: now_ns });
    }
    if end == End::Queued {
        context.queue(turn, now_ns);
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    Retry,
    Skip,
    Reconnect,
    GiveUp,
}

/// The server's code; 0 where it was none of its errors.
fn code(failure: &Failure) -> u16 {
    match failure {
        Failure::Server(message) => message.code,
        _ => 0,
    }
}

/// Whether the connection is gone, or its server has just said that it will be.
fn lost(failure: &Failure) -> bool {
    match failure {
        Failure::Lost(_) => true,
        Failure::Server(message) => FAREWELLS.contains(&message.code),
        _ => false,
    }
}

fn retryable(failure: &Failure) -> bool {
    match failure {
        Failure::Server(message) => RETRYABLE.contains(&message.code),
        Failure::Again => true,
        _ => false,
    }
}

fn after_failure<W: Workload>(context: &Context<W>, failure: &Failure, turn: &Turn, tries: u32) -> Next {
    let in_vain_ns = || context.meter.now_ns().saturating_sub(turn.sent_ns);
    match failure {
        _ if lost(failure) && !context.spec.private => {
            let hopeless = tries >= LOST_TRIES && in_vain_ns() > context.spec.outage_limit_ns;
            if hopeless { Next::GiveUp } else { Next::Reconnect }
        }
        _ if retryable(failure) && tries < TRIES => Next::Retry,
        _ if retryable(failure) => Next::Skip,
        Failure::Server(message) if context.spec.ignore_errors.contains(&message.code) => Next::Skip,
        _ => Next::GiveUp,
    }
}

fn give_up<W: Workload>(
    context: &Context<W>,
    client: &W::Client,
    turn: &Turn,
    input: &Input,
    failure: &Failure,
) -> Result<(), Ended> {
    if matches!(failure, Failure::Server(_)) {
        context.meter.at(context.meter.now_ns()).failed(input.transaction, turn.due_ns);
    }
    context.give_up_for(client, failure);
    Err(Ended::Failed)
}

/// 0, 1, 2, 4 … 100 ms, each with jitter from a stream of its own.
async fn back_off<W: Workload>(context: &Context<W>, slot: &Slot, turn: &Turn, tries: u32) -> Result<(), Ended> {
    let ms = if tries <= 1 { 0 } else { (1 << (tries - 2)).min(BACKOFF_MS_MAX) };
    if ms == 0 {
        return Ok(());
    }
    let mut rng =
        Rng::new(context.spec.seed, turn.random_stream() | BACKOFF_STREAM, turn.number ^ u64::from(tries) << 48);
    let wait_ns = (ms as f64 * 1e6 * (0.5 + rng.unit() / 2.0)) as u64;
    match context.reactor.sleep_until(slot, context.meter.now_ns() + wait_ns).await {
        true => Ok(()),
        false => Err(Ended::Failed),
    }
}

/// Connects anew, again and again until the outage limit is reached; at once, unless it is done `again` for the same
/// transaction.
async fn reconnect<W: Workload>(
    context: &Context<W>,
    slot: &Rc<Slot>,
    ready: &mut ReadyConnection<W>,
    again: bool,
) -> Result<(), Ended> {
    let since = context.meter.now_ns();
    let mut next_ns = if again { since + RECONNECT_NS } else { since };
    loop {
        if context.stopping.get() || !context.reactor.sleep_until(slot, next_ns).await {
            return Err(Ended::Failed);
        }
        let last = match connect(context, slot, &mut ready.state).await {
            Ok(fresh) => {
                ready.client = fresh;
                context.meter.at(context.meter.now_ns()).reconnected();
                return Ok(());
            }
            Err(Failure::Cancelled) => return Err(Ended::Failed),
            Err(failure) => failure,
        };
        let now = context.meter.now_ns();
        // Being refused is no silence: how long that may go on is decided here.
        context.reactor.begin_waiting(now);
        if now - since > context.spec.outage_limit_ns {
            context.give_up(Reason::Lost(away(context.spec.outage_limit_ns, &last)));
            return Err(Ended::Failed);
        }
        next_ns = now + RECONNECT_NS;
    }
}

/// What an outage was, by how the last attempt to connect ended: a server that answers is not gone.
fn away(limit_ns: u64, last: &Failure) -> String {
    let (was, then) = match last {
        Failure::Server(message) if FULL.contains(&message.code) => {
            ("was full", "; raise its max_connections, or use fewer connections")
        }
        Failure::Server(_) | Failure::Endless { .. } | Failure::Setup(_) | Failure::Wire(_) => ("let nobody in", ""),
        _ => ("was gone", ""),
    };
    format!("the server {was} for {:.0} s (--outage-limit): {last}{then}", limit_ns as f64 / 1e9)
}

/// Connects, logs in and prepares, which has to come to its end within [`ENDLESS`] outage limits.
pub async fn connect<W: Workload>(
    context: &Context<W>,
    slot: &Rc<Slot>,
    state: &mut W::State,
) -> Result<W::Client, Failure> {
    let limit_ns = context.spec.outage_limit_ns.saturating_mul(ENDLESS);
    let until_ns = context.meter.now_ns().saturating_add(limit_ns);
    let connecting = context.workload.connect(state, &context.connector, slot);
    let endless = || {
        let what = "the login and of preparing the statements";
        Err(Failure::Endless { what, seconds: limit_ns as f64 / 1e9 })
    };
    context.reactor.within(slot, until_ns, connecting).await.unwrap_or_else(endless)
}
