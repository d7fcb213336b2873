//! The measuring loop, written once: arrivals × stop × workload × transport are independent values.
//!
//! Each connection runs [`drive`]: wait for a turn, run the transaction, retry it if the server asks for that,
//! count what came of it.

use crate::context::Context;
use crate::due::{Begun, Turn};
use crate::error::{Failure, Reason};
use crate::executor::Slot;
use crate::session::Session;
use crate::workload::{Input, Workload};
use plimsoll_load::recorder::{Done, End};
use plimsoll_load::seed::Rng;
use std::rc::Rc;

/// Deadlock, lock wait timeout, record changed since read, refused by group certification.
const RETRYABLE: [u16; 4] = [1213, 1205, 1020, 3101];
/// Shutdown in progress, connection killed (MariaDB, MySQL), idle for too long.
const FAREWELLS: [u16; 4] = [1053, 1927, 3169, 4031];
/// Too many connections: of all users, of this one, of this one per hour.
const FULL: [u16; 3] = [1040, 1203, 1226];
/// A server that is not silent and comes to no end all the same is given up after so many outage limits.
pub const ENDLESS: u64 = 4;
const TRIES: u32 = 10;
const BACKOFF_MS_MAX: u64 = 100;
const RECONNECT_NS: u64 = 100_000_000;
/// The stream of back-off, apart from those of the transactions.
const BACKOFF_STREAM: u64 = 1 << 62;

/// Runs transactions on one connection until there is none left to begin. `local` is its place in this loop.
pub async fn drive<W: Workload>(context: &Context<W>, slot: &Rc<Slot>, session: &mut Session, who: Who) {
    let mut state = context.workload.state(who.connection, context.spec.connections);
    let mut begun = Begun::default();
    while let Some(turn) = context.turn(slot, session, who.connection, &mut begun).await {
        context.begin_exchange(turn.sent_ns);
        let outcome = transact(context, slot, session, &mut state, who, &turn).await;
        context.end_exchange();
        if outcome.is_err() {
            return;
        }
        context.answered(&turn);
    }
    context.begin_exchange(session.now_ns());
    let finished = context.workload.finish(state, session).await;
    context.end_exchange();
    if let Err(failure) = finished {
        context.give_up_for(session, &failure);
    }
}

/// Which connection: its number in the run and its place in the loop.
#[derive(Clone, Copy, Debug)]
pub struct Who {
    pub connection: usize,
    pub local: usize,
}

/// This connection runs no more transactions; why stands in the context.
struct Ended;

async fn transact<W: Workload>(
    context: &Context<W>,
    slot: &Rc<Slot>,
    session: &mut Session,
    state: &mut W::State,
    who: Who,
    turn: &Turn,
) -> Result<(), Ended> {
    let sent_ns = turn.sent_ns;
    context.meter.at(sent_ns).started(turn.due_ns, sent_ns);
    let (mut tries, mut begun_ns) = (0, sent_ns);
    loop {
        let mut input = turn.input(context.spec.seed, who.connection, context.spec.connections);
        let mut failure = match context.workload.transaction(state, session, &mut input).await {
            Ok(end) => {
                finished(context, session, who, turn, input.transaction, end);
                return Ok(());
            }
            Err(failure) => failure,
        };
        tries += 1;
        count_failure(context, session, &failure, begun_ns);
        let again = after_failure(context, &failure, tries);
        let code = code(&failure);
        let rolls_back = again == Next::Retry || again == Next::Skip && session.needs_rollback();
        if rolls_back && let Err(second) = session.rollback().await {
            count_failure(context, session, &second, session.answered_ns());
            failure = second;
        }
        match after_failure(context, &failure, tries) {
            Next::Reconnect => reconnect(context, slot, session, tries > 1).await?,
            Next::GiveUp => return give_up(context, session, turn, &input, &failure),
            _ if again == Next::Retry => {
                context.meter.at(context.meter.now_ns()).retried(input.transaction, code);
                back_off(context, slot, turn, tries).await?;
                session.waited();
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
fn count_failure<W>(context: &Context<W>, session: &Session, failure: &Failure, begun_ns: u64) {
    let now_ns = context.meter.now_ns();
    let mut recorder = context.meter.at(now_ns);
    match failure {
        Failure::Server(message) => return recorder.attempt_failed(message.code, now_ns.saturating_sub(begun_ns)),
        Failure::Lost(_) => recorder.connection_lost(),
        _ => {}
    }
    if session.is_committing() {
        recorder.commit_unknown();
    }
}

fn finished<W: Workload>(context: &Context<W>, session: &Session, who: Who, turn: &Turn, transaction: usize, end: End) {
    let Turn { due_ns, sent_ns, .. } = *turn;
    // A transaction may have sent nothing.
    let now_ns = session.answered_ns().max(sent_ns);
    let done = Done { connection: who.local, transaction, end, due_ns, sent_ns, now_ns };
    context.meter.at(now_ns).finished(done);
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

fn after_failure<W>(context: &Context<W>, failure: &Failure, tries: u32) -> Next {
    match failure {
        _ if lost(failure) && !context.spec.private => Next::Reconnect,
        Failure::Server(message) if RETRYABLE.contains(&message.code) && tries < TRIES => Next::Retry,
        Failure::Server(message) if RETRYABLE.contains(&message.code) => Next::Skip,
        Failure::Server(message) if context.spec.ignore_errors.contains(&message.code) => Next::Skip,
        _ => Next::GiveUp,
    }
}

fn give_up<W: Workload>(
    context: &Context<W>,
    session: &Session,
    turn: &Turn,
    input: &Input,
    failure: &Failure,
) -> Result<(), Ended> {
    if matches!(failure, Failure::Server(_)) {
        context.meter.at(context.meter.now_ns()).failed(input.transaction, turn.due_ns);
    }
    context.give_up_for(session, failure);
    Err(Ended)
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
        false => Err(Ended),
    }
}

/// Connects anew, again and again until the outage limit is reached; at once, unless it is done `again` for the same
/// transaction.
async fn reconnect<W: Workload>(
    context: &Context<W>,
    slot: &Rc<Slot>,
    session: &mut Session,
    again: bool,
) -> Result<(), Ended> {
    let since = context.meter.now_ns();
    let mut next_ns = if again { since + RECONNECT_NS } else { since };
    loop {
        if context.stopping.get() || !context.reactor.sleep_until(slot, next_ns).await {
            return Err(Ended);
        }
        let last = match open_session(context, slot).await {
            Ok(fresh) => {
                *session = fresh;
                context.meter.at(context.meter.now_ns()).reconnected();
                return Ok(());
            }
            Err(Failure::Cancelled) => return Err(Ended),
            Err(failure) => failure,
        };
        let now = context.meter.now_ns();
        // Being refused is no silence: how long that may go on is decided here.
        context.reactor.begin_waiting(now);
        if now - since > context.spec.outage_limit_ns {
            context.give_up(Reason::Lost(away(context.spec.outage_limit_ns, &last)));
            return Err(Ended);
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
        Failure::Server(_) | Failure::Endless { .. } => ("let nobody in", ""),
        _ => ("was gone", ""),
    };
    format!("the server {was} for {:.0} s (--outage-limit): {last}{then}", limit_ns as f64 / 1e9)
}

/// Connects, logs in and prepares, which has to come to its end within [`ENDLESS`] outage limits.
pub async fn open_session<W: Workload>(context: &Context<W>, slot: &Rc<Slot>) -> Result<Session, Failure> {
    let limit_ns = context.spec.outage_limit_ns.saturating_mul(ENDLESS);
    let until_ns = context.meter.now_ns().saturating_add(limit_ns);
    let opening = Session::open(
        &context.spec.endpoint,
        context.catalogue.clone(),
        context.spec.protocol,
        context.meter.clone(),
        context.reactor.clone(),
        slot.clone(),
    );
    let endless = || {
        let what = "the login and of preparing the statements";
        Err(Failure::Endless { what, seconds: limit_ns as f64 / 1e9 })
    };
    context.reactor.within(slot, until_ns, opening).await.unwrap_or_else(endless)
}
