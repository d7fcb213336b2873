//! Answers of every shape, from real servers: files asked for, several results, warnings, and what is too long for
//! one packet.

use crate::conduct::{conduct, spec};
use crate::real::{Real, on_each_server, with_tls};
use plimsoll_engine::control::Control;
use plimsoll_engine::tls::Mode;
use plimsoll_engine::workload::{DeclaredWorkload, Input};
use plimsoll_engine::{Endpoint, Failure, Protocol, RunSpec, Session, Statement};
use plimsoll_load::recorder::End;
use plimsoll_load::window::Limit;
use plimsoll_model::StatementKind::{Select, Update};
use plimsoll_wire::Value;

const MIB: usize = 1 << 20;

/// A connection that may load files.
fn loader(server: &Real) -> Control {
    let mut control = Control::open(&Endpoint { local_files: true, ..server.unix() }).unwrap();
    control.run("CREATE DATABASE d").unwrap();
    control.run("CREATE TABLE d.t (id INT PRIMARY KEY, c CHAR(120) NOT NULL)").unwrap();
    control
}

const LOAD: &str = "LOAD DATA LOCAL INFILE 'rows' INTO TABLE d.t";

/// Rows from `from` on, about so many bytes of them.
fn put_rows(out: &mut Vec<u8>, from: &mut usize, bytes: usize) {
    let end = out.len() + bytes;
    while out.len() < end {
        out.extend(format!("{from}\t{from:0>110}\n").bytes());
        *from += 1;
    }
}

#[test]
fn a_file_of_any_size_is_loaded_piece_by_piece() {
    on_each_server(&[], |server| {
        let mut control = loader(server);
        // Pieces of many sizes, one of them longer than a packet, an empty one, and a last one with content.
        let mut pieces = [100, 64 << 10, 17 * MIB, 0, 1 << 10, 3 * MIB].into_iter();
        let mut next = 0;
        let outcome = control.load_data(LOAD, |out| {
            put_rows(out, &mut next, pieces.next().expect("not asked again after the end"));
            pieces.len() > 0
        });
        let outcome = outcome.unwrap();
        assert_eq!((outcome.affected_rows, outcome.warnings), (next as u64, 0));
        assert!(next * 110 > 18 * MIB);
        let sums = control.rows("SELECT COUNT(*), MAX(id), MIN(LENGTH(c)) FROM d.t").unwrap();
        assert_eq!(sums.rows[0], [next.to_string(), (next - 1).to_string(), "110".to_owned()].map(Some));
        // None at all.
        assert_eq!(control.load_data(LOAD, |_| false).unwrap().affected_rows, 0);
        // Doubles are left out, with warnings.
        let mut next = 0;
        let outcome = control.load_data(LOAD, |out| {
            put_rows(out, &mut next, 1000);
            false
        });
        let outcome = outcome.unwrap();
        assert_eq!((outcome.affected_rows, outcome.warnings as usize), (0, next));
    });
}

#[test]
fn a_load_that_fails_leaves_the_connection_usable() {
    on_each_server(&[], |server| {
        let mut control = loader(server);
        let code = |result: Result<_, Failure>| match result {
            Err(Failure::Server(message)) => message.code,
            other => panic!("{other:?}"),
        };
        let never = |_: &mut Vec<u8>| panic!("nothing was asked for");
        assert_eq!(code(control.load_data("LOAD DATA LOCAL INFILE 'x' INTO TABLE d.missing", never)), 1146);
        control
            .run(
                "CREATE TRIGGER d.picky BEFORE INSERT ON d.t FOR EACH ROW \
                 IF NEW.id = 2000 THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'two thousand is too many'; END IF",
            )
            .unwrap();
        let mut next = 0;
        let failed = control.load_data(LOAD, |out| {
            put_rows(out, &mut next, 64 << 10);
            next < 50_000
        });
        assert!(
            matches!(&failed, Err(Failure::Server(message))
            if message.code == 1644 && message.text == "two thousand is too many"),
            "{failed:?}"
        );
        assert_eq!(control.rows("SELECT COUNT(*) FROM d.t").unwrap().single(), Some("0"));
        // A connection that may not load says so, and goes on.
        let mut plain = server.control();
        assert!(plain.load_data(LOAD, never).is_err());
        assert_eq!(plain.rows("SELECT 1").unwrap().single(), Some("1"));
    });
}

#[test]
fn one_call_gives_several_results() {
    on_each_server(&[], |server| {
        server.run(&[
            "CREATE DATABASE d",
            "CREATE TABLE d.t (id INT)",
            "CREATE PROCEDURE d.p(n INT) BEGIN \
             SELECT 1 AS a, 2 AS b; SELECT id FROM d.t WHERE id < 0; INSERT INTO d.t VALUES (n), (n + 1); \
             SELECT id AS found FROM d.t ORDER BY id; END",
        ]);
        let mut control = server.control();
        let rows = control.rows("CALL d.p(5)").unwrap();
        assert_eq!(rows.columns, ["found"]);
        assert_eq!(rows.rows, [[Some("5".to_owned())], [Some("6".to_owned())]]);
        let outcome = control.run("CALL d.p(7)").unwrap();
        assert_eq!((outcome.result_sets, outcome.rows), (3, 5));
        let empty = control.rows("SELECT id FROM d.t WHERE id = -1").unwrap();
        assert_eq!((empty.columns.as_slice(), empty.rows.len()), (["id".to_owned()].as_slice(), 0));
    });
}

#[test]
fn warnings_nulls_and_numbers_of_rows_are_told() {
    on_each_server(&[], |server| {
        server.run(&["CREATE DATABASE d", "CREATE TABLE d.t (id INT PRIMARY KEY AUTO_INCREMENT, k INT)"]);
        let mut control = server.control();
        let outcome = control.run("INSERT INTO d.t (k) VALUES (1), (NULL), (3)").unwrap();
        assert_eq!((outcome.affected_rows, outcome.last_insert_id, outcome.result_sets), (3, 1, 0));
        let outcome = control.run("INSERT IGNORE INTO d.t VALUES (1, 1), (2, 2), (9, 9)").unwrap();
        assert_eq!((outcome.affected_rows, outcome.warnings), (1, 2));
        let rows = control.rows("SELECT id, k FROM d.t WHERE id < 4 ORDER BY id").unwrap();
        let second: Vec<Option<&str>> = rows.rows.iter().map(|row| row[1].as_deref()).collect();
        assert_eq!(second, [Some("1"), None, Some("3")]);
        assert_eq!(rows.pairs().count(), 2, "a NULL makes no pair");
        assert!(matches!(control.run("SELECT"), Err(Failure::Server(message)) if message.code == 1064));
    });
}

/// Runs a function once, as a transaction.
struct Once<F> {
    statements: Vec<Statement>,
    body: F,
}

impl<F> DeclaredWorkload for Once<F>
where
    F: AsyncFn(&mut Session) -> Result<(), Failure> + Send + Sync + 'static,
{
    type State = ();

    fn statements(&self) -> Vec<Statement> {
        self.statements.clone()
    }

    fn state(&self, _connection: usize, _connections: usize) {}

    async fn transaction(&self, _: &mut (), session: &mut Session, _: &mut Input) -> Result<End, Failure> {
        (self.body)(session).await?;
        Ok(End::Autocommit(1))
    }
}

#[track_caller]
fn once<F>(spec: RunSpec, sql: &[(&str, bool)], body: F)
where
    F: AsyncFn(&mut Session) -> Result<(), Failure> + Send + Sync + 'static,
{
    let kind = |sql: &str| if sql.starts_with("SELECT") { Select } else { Update };
    let statement = |(sql, prepared): &(&str, bool)| Statement {
        name: kind(sql).name(),
        kind: kind(sql),
        sql: (*sql).to_owned(),
        prepared: *prepared,
    };
    let spec = RunSpec { limit: Limit::Events(1), ..spec };
    let conducted = conduct(spec, Once { statements: sql.iter().map(statement).collect(), body });
    // An assertion in the body ends the loop without a word.
    assert_eq!(conducted.tally().counters.transactions, 1);
}

#[test]
fn packets_over_sixteen_mebibytes_go_both_ways() {
    on_each_server(&[], |server| {
        // With TLS where the server has it by itself.
        let tls = with_tls(server.tcp(), Mode::Preferred, None);
        for endpoint in [server.unix(), tls] {
            let mut control = Control::open(&endpoint).unwrap();
            let long = "y".repeat(17 * MIB);
            let rows = control.rows(&format!("SELECT LENGTH('{long}'), 1")).unwrap();
            assert_eq!(rows.single(), Some((17 * MIB).to_string().as_str()));
            let rows = control.rows(&format!("SELECT REPEAT('x', {}), 'end'", 17 * MIB)).unwrap();
            let [Some(value), Some(end)] = rows.rows[0].as_slice() else { panic!("two values") };
            assert!(value.len() == 17 * MIB && value.bytes().all(|byte| byte == b'x') && end == "end");
            let outcome = control.run(&format!("SELECT REPEAT('x', {}) UNION ALL SELECT 'short'", 33 * MIB)).unwrap();
            assert_eq!((outcome.rows, outcome.result_sets), (2, 1));
            assert_eq!(control.rows("SELECT 1").unwrap().single(), Some("1"));
            for protocol in [Protocol::Prepared, Protocol::Text] {
                let spec = RunSpec { protocol, ..spec(endpoint.clone()) };
                once(spec, &[("SELECT CONCAT(?, ?), LENGTH(?) = 17825792", true)], async |session| {
                    let long = vec![b'z'; 17 * MIB];
                    let values = [Value::Bytes(&long), Value::Bytes(b"end"), Value::Bytes(&long)];
                    let outcome = session.execute(0, &values).await?;
                    assert_eq!((outcome.rows, outcome.result_sets), (1, 1));
                    Ok(())
                });
            }
        }
    });
}

#[test]
fn columns_that_change_under_a_prepared_statement_are_noticed() {
    on_each_server(&[], |server| {
        server.run(&[
            "CREATE DATABASE d",
            "CREATE TABLE d.t (id INT PRIMARY KEY)",
            "INSERT INTO d.t VALUES (1), (2), (3)",
        ]);
        let sql = [
            ("SELECT * FROM d.t WHERE id < ?", true),
            ("ALTER TABLE d.t ADD COLUMN c CHAR(200) DEFAULT 'added'", false),
        ];
        once(spec(server.unix()), &sql, async |session| {
            for round in 0..6 {
                for below in [4, 2, 0] {
                    let outcome = session.execute(0, &[Value::Int(below)]).await?;
                    assert_eq!(outcome.rows as i64, (below - 1).max(0));
                }
                // Types are told anew where they change.
                assert_eq!(session.execute(0, &[Value::Bytes(b"3")]).await?.rows, 2);
                assert_eq!(session.execute(0, &[Value::Null]).await?.rows, 0);
                assert_eq!(session.execute(0, &[Value::Double(2.5)]).await?.rows, 2);
                if round == 2 {
                    session.execute(1, &[]).await?;
                }
            }
            Ok(())
        });
    });
}

#[test]
fn literals_mean_the_same_whatever_backslashes_do() {
    on_each_server(&[], |server| {
        for mode in ["", "NO_BACKSLASH_ESCAPES"] {
            server.run(&[&format!("SET GLOBAL sql_mode = '{mode}'")]);
            let spec = RunSpec { protocol: Protocol::Text, ..spec(server.unix()) };
            // The first statement of a connection is the one that knows least of the server.
            once(
                spec,
                &[("SELECT 1 FROM (SELECT 1) AS one WHERE HEX(?) = '615C2762270A5C' AND ? IS NULL", true)],
                async |session| {
                    let outcome = session.execute(0, &[Value::Bytes(b"a\\'b'\n\\"), Value::Null]).await?;
                    assert_eq!(outcome.rows, 1);
                    Ok(())
                },
            );
        }
    });
}
