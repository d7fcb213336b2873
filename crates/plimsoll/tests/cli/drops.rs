//! `drop` removes what `load` created and nothing else, whatever the marker says, whoever else uses the database, and
//! however little the login may see.

use crate::harness::{Done, Lab, run};

const LOAD: &str = "load oltp_read_only --tables 2 --table-size 10";

/// Every object of the databases of this test that somebody could miss.
fn objects(lab: &Lab) -> Vec<Vec<Option<String>>> {
    let not_system = "NOT IN ('mysql', 'sys', 'information_schema', 'performance_schema')";
    lab.sql(&[&format!(
        "SELECT * FROM (SELECT table_schema AS place, table_name AS name FROM information_schema.tables \
         UNION SELECT routine_schema, routine_name FROM information_schema.routines \
         UNION SELECT event_schema, event_name FROM information_schema.events \
         UNION SELECT trigger_schema, trigger_name FROM information_schema.triggers) AS objects \
         WHERE place {not_system} ORDER BY 1, 2"
    )])
}

fn exists(lab: &Lab, database: &str) -> bool {
    lab.value(&format!("SELECT COUNT(*) FROM information_schema.schemata WHERE schema_name = '{database}'")) == "1"
}

/// No byte that could steer a terminal.
#[track_caller]
fn harmless(done: Done) -> Done {
    let steers = |c: char| (c.is_control() && c != '\n') || ('\u{202a}'..='\u{202e}').contains(&c);
    assert!(!done.out.contains(steers) && !done.err.contains(steers), "{done:?}");
    done
}

fn forged_markers_drop_nothing(lab: &Lab) {
    lab.sql(&["CREATE DATABASE victim", "CREATE TABLE victim.t (a INT)", "CREATE TABLE victim.`sbtest1` (a INT)"]);
    lab.does(&format!("{LOAD} --database mine"));
    lab.sql(&["CREATE TABLE mine.stranger (a INT)", "CREATE TABLE mine.sbtest3 (a INT)"]);
    lab.sql(&["CREATE PROCEDURE mine.of_others() SELECT 1"]);
    let marker = lab.value("SELECT detail FROM mine.plimsoll_dataset WHERE part = ''");
    let before = objects(lab);
    let (tables, routines) = (r#""tables":["sbtest1","sbtest2"]"#, r#""routines":[]"#);
    assert!(marker.contains(tables) && marker.contains(routines), "{marker}");
    for (was, forged, shown) in [
        (tables, r#""tables":["x`, `victim`.`t"]"#, "x`, `victim`.`t"),
        (tables, r#""tables":["sbtest1","victim`.`sbtest1"]"#, "victim`.`sbtest1"),
        (tables, r#""tables":["sbtest1","stranger"]"#, "`stranger`"),
        (tables, r#""tables":["sbtest1","sbtest3"]"#, "`sbtest3`"),
        (tables, r#""tables":["plimsoll_dataset"]"#, "`plimsoll_dataset`"),
        (tables, r#""tables":["sbtest1\u001b[2J\u202e"]"#, "sbtest1\\u{1b}[2J\\u{202e}"),
        (routines, r#""routines":["of_others"]"#, "of_others"),
        (routines, r#""routines":["x`; DROP DATABASE victim; -- "]"#, "x`; DROP DATABASE victim"),
    ] {
        let forged = marker.replace(was, forged).replace('\\', "\\\\").replace('\'', "''");
        lab.sql(&[&format!("UPDATE mine.plimsoll_dataset SET detail = '{forged}' WHERE part = ''")]);
        let done = harmless(lab.ends("drop oltp_read_only --database mine"));
        assert_eq!(objects(lab), before, "{done}");
        done.refuses(2, &["nothing was dropped", shown]).in_one_message();
    }
    // What stands there truly is dropped; what is not Plimsoll's stays, and the database with it.
    lab.sql(&[&format!("UPDATE mine.plimsoll_dataset SET detail = '{marker}' WHERE part = ''")]);
    lab.does("drop oltp_read_only --database mine").tells(&["dropped sbtest1, sbtest2"]);
    assert_eq!(objects(lab).len(), before.len() - 3, "two tables and the marker");
}

fn forged_families_and_rows_are_left_alone(lab: &Lab) {
    lab.does(&format!("{LOAD} --database families"));
    let marker = lab.value("SELECT detail FROM families.plimsoll_dataset WHERE part = ''");
    let other = marker.replace("sbtest1", "x`, `victim`.`t");
    for family in ["a`b", "smack", "tpcc"] {
        lab.sql(&[&format!("INSERT INTO families.plimsoll_dataset VALUES ('{family}', '', 'loaded', '{other}')")]);
    }
    let before = objects(lab);
    for (workload, why) in [("smack_select_key", "`x`, `victim`.`t`"), ("tpcc", "are not accepted")] {
        let line = format!("drop {workload} --database families");
        harmless(lab.ends(&line)).refuses(2, &["nothing was dropped", why]);
        assert_eq!(objects(lab), before);
    }
    lab.does("drop oltp_read_only --database families");
    let left = lab.value("SELECT GROUP_CONCAT(family ORDER BY family) FROM families.plimsoll_dataset");
    assert_eq!(left, "a`b,smack,tpcc", "the marker of others stays, and so does the database");
}

fn what_others_made_keeps_the_database(lab: &Lab, mariadb: bool) {
    let made = [
        ("table", "CREATE TABLE theirs (a INT)"),
        ("view", "CREATE VIEW theirs AS SELECT 1 AS one"),
        ("procedure", "CREATE PROCEDURE theirs() SELECT 1"),
        ("function", "CREATE FUNCTION theirs() RETURNS INT DETERMINISTIC RETURN 1"),
        ("event", "CREATE EVENT theirs ON SCHEDULE EVERY 1 YEAR DO SELECT 1"),
    ];
    let sequence = mariadb.then_some(("sequence", "CREATE SEQUENCE theirs"));
    for (what, create) in made.into_iter().chain(sequence) {
        let database = format!("with_{what}");
        lab.does(&format!("{LOAD} --database {database}"));
        lab.sql(&[&format!("USE {database}"), create]);
        lab.does(&format!("drop oltp_read_only --database {database}")).tells(&[
            "dropped sbtest1, sbtest2",
            "is kept",
            what,
        ]);
        assert!(exists(lab, &database), "{what}");
        let own = objects(lab).into_iter().filter(|row| row[0].as_deref() == Some(&*database)).count();
        assert_eq!(own, 1, "{what}");
    }
    lab.does(&format!("{LOAD} --database alone"));
    lab.does("drop oltp_read_only --database alone").tells(&["the database alone"]);
    assert!(!exists(lab, "alone"));
}

/// What has the name of a table of the load and is none, or has something of others on it, is not dropped.
fn tables_that_others_changed_are_not_dropped(lab: &Lab, mariadb: bool) {
    lab.does(&format!("{LOAD} --database changed"));
    lab.sql(&["CREATE TRIGGER changed.theirs BEFORE INSERT ON changed.sbtest2 FOR EACH ROW SET @seen = 1"]);
    let before = objects(lab);
    lab.ends("drop oltp_read_only --database changed").refuses(2, &["nothing was dropped", "trigger", "`theirs`"]);
    assert_eq!(objects(lab), before);
    let replaced = if mariadb { "SEQUENCE changed.sbtest2" } else { "VIEW changed.sbtest2 AS SELECT 1 AS one" };
    lab.sql(&["DROP TABLE changed.sbtest2", &format!("CREATE {replaced}")]);
    let before = objects(lab);
    lab.ends("drop oltp_read_only --database changed").refuses(2, &["nothing was dropped", "`sbtest2`"]);
    assert_eq!(objects(lab), before);
}

/// A login that may not see routines and events finds none.
fn a_login_that_sees_little_drops_no_database(lab: &Lab) {
    let socket = lab.socket();
    for (user, grants, goes) in [
        ("little", "SELECT, INSERT, UPDATE, DELETE, CREATE, DROP, INDEX, ALTER", false),
        ("half", "SELECT, INSERT, UPDATE, DELETE, CREATE, DROP, INDEX, ALTER, EVENT", false),
        ("whole", "ALL", true),
    ] {
        let database = format!("of_{user}");
        lab.sql(&[
            &format!("CREATE USER '{user}'@'localhost' IDENTIFIED BY 'pass'"),
            &format!("GRANT {grants} ON `of\\_{user}`.* TO '{user}'@'localhost'"),
        ]);
        let url = format!("mysql://{user}@localhost/{database}?socket={}", socket.display());
        let as_user = |line: &str| {
            let mut command = lab.command(&format!("{line} --target {url}"));
            command.env("MYSQL_PWD", "pass");
            run(command)
        };
        as_user(LOAD).exits(0);
        if !goes {
            lab.sql(&[&format!("CREATE PROCEDURE {database}.theirs() SELECT 1")]);
        }
        let done = as_user("drop oltp_read_only").exits(0);
        assert_eq!(exists(lab, &database), !goes, "{done}");
        match goes {
            true => done.tells(&[&format!("and the database {database}")]),
            false => done.tells(&["dropped sbtest1, sbtest2", "is kept", "do not let it see the database's routines"]),
        };
    }
}

fn drops_only_what_it_made(lab: &Lab, mariadb: bool) {
    lab.up("");
    forged_markers_drop_nothing(lab);
    forged_families_and_rows_are_left_alone(lab);
    what_others_made_keeps_the_database(lab, mariadb);
    tables_that_others_changed_are_not_dropped(lab, mariadb);
    a_login_that_sees_little_drops_no_database(lab);
}

#[test]
fn drop_removes_only_what_it_made_on_mariadb() {
    let Some(lab) = Lab::mariadb() else { return };
    drops_only_what_it_made(&lab, true);
}

#[test]
#[ignore = "the same on the other server; make test-all"]
fn drop_removes_only_what_it_made_on_mysql() {
    let Some(lab) = Lab::mysql() else { return };
    drops_only_what_it_made(&lab, false);
}
