//! Whatever all servers send at once, the memory of all connections together has a bound: in a process with little
//! address space, whose server is in another.

#[allow(dead_code)]
#[path = "engine/conduct.rs"]
mod conduct;
#[allow(dead_code)]
#[path = "engine/scripts.rs"]
mod scripts;
#[allow(dead_code)]
#[path = "engine/steps.rs"]
mod steps;

use conduct::{conduct, spec};
use plimsoll_engine::workload::{DeclaredWorkload, Input};
use plimsoll_engine::{Failure, RunSpec, Session, Statement};
use plimsoll_load::recorder::End;
use plimsoll_model::StatementKind::Select;
use plimsoll_testkit::fake::{Fake, FakePlace, Talk};
use scripts::answering;
use std::io;
use std::path::PathBuf;
use std::process::Command;

/// Connections whose rows of 16 MiB are all under way at once, and the address space of who receives them: a quarter
/// of that.
const MANY: usize = 128;
const ADDRESS_SPACE: u64 = 512 << 20;
/// Tells a process of this program that it is the one with a limit, and where the server is.
const SERVER: &str = "PLIMSOLL_TEST_SERVER_OF_LIMITED";

/// Reads its rows, or only counts them.
struct Reads {
    keeps: bool,
}

impl DeclaredWorkload for Reads {
    type State = ();

    fn statements(&self) -> Vec<Statement> {
        steps::Steps::autocommit(&[(Select, "SELECT c FROM t")]).statements()
    }

    fn state(&self, _connection: usize, _connections: usize) {}

    async fn transaction(&self, _: &mut (), session: &mut Session, _: &mut Input) -> Result<End, Failure> {
        match self.keeps {
            true => session.select(0, &[]).await?,
            false => session.execute(0, &[]).await?,
        };
        Ok(End::Autocommit(1))
    }
}

/// All of a row of 16 MiB but its last byte, which is never sent.
fn nearly_a_row(talk: &mut Talk) -> io::Result<()> {
    talk.send(&[scripts::header(1, 1), scripts::column(2), vec![0xfe, 0xff, 0xff, 3, 0]].concat())?;
    let piece = [b'x'; 64 << 10];
    let mut left = 0xff_fffe - 2;
    while left > 0 {
        let some = piece.len().min(left);
        talk.send(&piece[..some])?;
        left -= some;
    }
    talk.stall()
}

/// What a process with little address space says of a run against such a server.
fn limited(keeps: bool) -> (bool, String) {
    let fake = Fake::unix(answering(nearly_a_row));
    let FakePlace::Unix(socket) = &fake.place else { panic!("a Unix socket") };
    let mut child = Command::new("prlimit");
    child.arg(format!("--as={ADDRESS_SPACE}")).arg(std::env::current_exe().unwrap());
    child.args(["--exact", "--nocapture", "the_process_that_has_a_limit"]);
    let output = child.env(SERVER, format!("{keeps} {}", socket.display())).output().expect("util-linux is there");
    let said = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8_lossy(&said).into_owned())
}

/// The other process of the test below; in that one itself, nothing.
#[test]
fn the_process_that_has_a_limit() {
    let Ok(told) = std::env::var(SERVER) else { return };
    let (keeps, socket) = told.split_once(' ').expect("two words");
    let endpoint = conduct::unix(&PathBuf::from(socket));
    let spec = RunSpec { connections: MANY, ..RunSpec { outage_limit_ns: 3_000_000_000, ..spec(endpoint) } };
    let conducted = conduct(spec, Reads { keeps: keeps == "true" });
    println!("it ended: {}", conducted.reason());
}

#[test]
fn all_connections_together_have_a_bound() {
    // Rows that are only counted are not kept, so that the server's silence is all there is to say.
    let (done, said) = limited(false);
    assert!(done && said.contains("it ended: the server did not answer for 3 s"), "{said}");
    let (done, said) = limited(true);
    let refusal = "it ended: the answers that all connections hold together reach 256 MiB, which is the limit; \
                   use fewer connections, or statements with shorter answers";
    assert!(done && said.contains(refusal), "{said}");
}
