//! No memory is asked for per query: a run whose loop thread is watched by a counting allocator.

#[allow(dead_code)]
#[path = "engine/conduct.rs"]
mod conduct;

use conduct::{at, conduct, spec};
use plimsoll_engine::workload::{DeclaredWorkload, Input};
use plimsoll_engine::{Failure, RunSpec, Session, Statement};
use plimsoll_load::recorder::End;
use plimsoll_load::window::Limit;
use plimsoll_model::StatementKind;
use plimsoll_testkit::fake::{Answers, Fake, Talk};
use plimsoll_wire::Value;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::io;
use std::sync::Mutex;
use std::thread;
use std::time::Duration;

thread_local! {
    /// Requests for memory by this thread, its own alone.
    static REQUESTS: Cell<u64> = const { Cell::new(0) };
}

struct Counting;

// SAFETY: every call is passed on unchanged; counting touches a thread-local that is never dropped and asks for no
// memory.
#[allow(unsafe_code)]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        REQUESTS.set(REQUESTS.get() + 1);
        // SAFETY: the caller's promises are passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's promises are passed on.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        REQUESTS.set(REQUESTS.get() + 1);
        // SAFETY: the caller's promises are passed on.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// Queries that are enough to tell.
const ENOUGH: u64 = 5_000;
/// No run takes longer, however slow the machine is.
const LONGEST_NS: u64 = 20_000_000_000;
/// Queries that make the loop's buffers grow to what they need.
const SETTLING: u64 = 1_000;

/// One point select per transaction, as `oltp_point_select` has it; notes on the loop's own thread what was counted.
struct PointSelect {
    /// Asks for memory once per query, as a careless engine would.
    careless: bool,
    seen: &'static Mutex<Seen>,
}

/// How many queries there were since things had settled, and requests for memory meanwhile.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    transactions: u64,
    settled_at: u64,
    requests: u64,
}

impl DeclaredWorkload for PointSelect {
    type State = ();

    fn statements(&self) -> Vec<Statement> {
        let sql = "SELECT c FROM sbtest1 WHERE id=?".to_owned();
        vec![Statement { name: "point_select", kind: StatementKind::Select, sql, prepared: true }]
    }

    fn state(&self, _connection: usize, _connections: usize) {}

    async fn transaction(&self, _: &mut (), session: &mut Session, input: &mut Input) -> Result<End, Failure> {
        let id = input.rng.between(1, 100_000) as i64;
        session.execute(0, &[Value::Int(id)]).await?;
        if self.careless {
            std::hint::black_box(Box::new(id));
        }
        let mut seen = self.seen.lock().expect("nobody panics with it");
        seen.transactions += 1;
        if seen.transactions == SETTLING {
            seen.settled_at = REQUESTS.get();
        }
        seen.requests = REQUESTS.get() - seen.settled_at;
        Ok(End::Autocommit(1))
    }
}

/// Behaves, and takes some time for each answer: a hundred thousand more queries would tell no more.
fn unhurried(talk: &mut Talk) -> io::Result<()> {
    talk.greet()?;
    let mut answers = Answers::new(talk.capabilities());
    talk.serve(|payload, out| {
        thread::sleep(Duration::from_micros(600));
        answers.put(payload, out);
    })
}

/// Queries and requests for memory of one run, the first that is long enough for this machine.
fn counted(fake: &Fake, careless: bool) -> (u64, u64) {
    // Long enough for intervals to be closed and handed over, which is part of a steady state.
    let mut time_ns = 2_300_000_000;
    loop {
        let seen: &'static Mutex<Seen> = Box::leak(Box::default());
        let spec = RunSpec { connections: 4, limit: Limit::Time(time_ns), ..spec(at(fake)) };
        conduct(spec, PointSelect { careless, seen }).tally();
        let seen = *seen.lock().unwrap();
        let queries = seen.transactions.saturating_sub(SETTLING);
        time_ns *= 2;
        if queries > ENOUGH || time_ns > LONGEST_NS {
            return (queries, seen.requests);
        }
    }
}

#[test]
fn a_query_asks_for_no_memory() {
    for fake in Fake::both(unhurried) {
        let (queries, requests) = counted(&fake, false);
        assert!(queries > ENOUGH, "{queries} queries are too few to tell");
        assert!(requests < 50, "{requests} requests for memory in {queries} queries at {:?}", fake.place);
    }
    // And that this would be noticed.
    let (queries, requests) = counted(&Fake::unix(unhurried), true);
    assert!(queries > ENOUGH && requests >= queries, "{requests} requests in {queries} queries went unnoticed");
}
