//! External targets: where the password comes from, and that nobody ever sees it.

use crate::harness::{Done, Lab, run};
use plimsoll_testkit::servers;
use std::fs;
use std::io::Write;
use std::net::TcpListener;
use std::process::Command;
use std::thread;

/// A word that must not be found anywhere.
const SECRET: &str = "q7-Velvet-Anchor";
const WRONG: &str = "q7-Wrong-Anchor";

struct External {
    lab: Lab,
    url: String,
}

impl External {
    /// The lab's server, as somebody knows it who has a password there.
    fn of(lab: Lab) -> External {
        lab.up("");
        lab.does("load oltp_read_write --table-size 200");
        lab.sql(&[
            &format!("CREATE USER 'pat'@'localhost' IDENTIFIED BY '{SECRET}'"),
            "GRANT ALL ON sbtest.* TO 'pat'@'localhost'",
        ]);
        let url = format!("mysql://pat@localhost/sbtest?socket={}", lab.socket().display());
        External { lab, url }
    }

    fn command(&self, line: &str) -> Command {
        let mut command = self.lab.command(&format!("{line} --target {}", self.url));
        command.env_remove("MYSQL_PWD");
        command
    }

    #[track_caller]
    fn with_password(&self, line: &str, password: &str) -> Done {
        let mut command = self.command(line);
        command.env("MYSQL_PWD", password);
        discreet(run(command))
    }
}

#[track_caller]
fn discreet(done: Done) -> Done {
    for secret in [SECRET, WRONG] {
        assert!(!done.err.contains(secret) && !done.out.contains(secret), "a password is shown: {done}");
    }
    done
}

/// Every file below this directory that holds the bytes.
fn files_with(directory: &std::path::Path, bytes: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).expect("it can be read").flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            found.extend(files_with(&entry.path(), bytes));
        } else if let Ok(content) = fs::read(entry.path())
            && content.windows(bytes.len()).any(|window| window == bytes.as_bytes())
        {
            found.push(entry.path().display().to_string());
        }
    }
    found
}

fn passwords_work_and_stay_secret(lab: Lab) {
    let external = External::of(lab);
    let line = "run oltp_read_write --connections 2 --events 20 --json";
    let summary = external.with_password(line, SECRET).exits(0).json();
    assert_eq!(summary["points"][0]["counts"]["finished"], 20);
    assert!(summary["server"]["statements"].is_null(), "an external server is not asked what it counted");

    let file = external.lab.home().join("client.cnf");
    fs::write(
        &file,
        format!("[client]\nuser=pat\npassword=\"{SECRET}\"\nsocket={}\n", external.lab.socket().display()),
    )
    .expect("written");
    let mut command = external.lab.command(&format!("{line} --defaults-file {}", file.display()));
    command.env_remove("MYSQL_PWD");
    discreet(run(command)).exits(0);
    // What the file has is used before the environment.
    let mut command = external.lab.command(&format!("check oltp_read_write --defaults-file {}", file.display()));
    command.env("MYSQL_PWD", WRONG);
    discreet(run(command)).exits(0);
    fs::remove_file(&file).expect("removed");

    let hint = ["cannot log in as `pat`", "MYSQL_PWD"];
    external.with_password(line, WRONG).refuses(3, &hint).in_one_message();
    discreet(run(external.command(line))).refuses(3, &hint).in_one_message();
    let recordings = external.lab.home().join("recordings");
    assert_eq!(external.lab.recordings().len(), 2);
    assert_eq!(files_with(&recordings, SECRET), [""; 0]);
}

#[test]
fn passwords_work_and_stay_secret_on_mariadb() {
    let Some(lab) = Lab::mariadb() else { return };
    passwords_work_and_stay_secret(lab);
}

#[test]
fn passwords_work_and_stay_secret_on_mysql() {
    let Some(lab) = Lab::mysql() else { return };
    passwords_work_and_stay_secret(lab);
}

#[test]
fn a_url_with_a_password_is_refused_without_echoing_it() {
    let Some(lab) = Lab::mariadb() else { return };
    for url in [
        format!("mysql://pat:{SECRET}@localhost/sbtest"),
        format!("mysql://pat@localhost/sbtest?password={SECRET}"),
        format!("mysql:/pat:{SECRET}@localhost/sbtest"),
        format!("pat:{SECRET}@localhost"),
    ] {
        for command in ["run", "load", "check", "drop"] {
            let done = lab.ends(&format!("{command} oltp_read_write --target {url}"));
            // The test's own words stand in the line that was typed, so only the answer is looked at.
            discreet(done).refuses(2, &["target"]).in_one_message();
        }
    }
}

#[test]
fn a_user_without_rights_is_told_what_the_server_said() {
    let Some(lab) = Lab::mariadb() else { return };
    let external = External::of(lab);
    external
        .lab
        .sql(&["REVOKE ALL ON sbtest.* FROM 'pat'@'localhost'", "GRANT SELECT ON sbtest.* TO 'pat'@'localhost'"]);
    let done = external.with_password("run oltp_update_index --time 20s", SECRET);
    assert!(done.err.contains("1142") || done.err.contains("denied"), "{done}");
    done.exits(3);
    external.with_password("run oltp_read_only --events 10", SECRET).exits(0);
}

/// A fresh account of MySQL's: its password is asked for until the server remembers it.
#[test]
fn a_password_itself_crosses_tcp_only_as_the_user_has_chosen() {
    let Some(lab) = Lab::mysql() else { return };
    let lab = lab.over_tls("");
    lab.up("");
    lab.does("load oltp_read_write --table-size 20");
    lab.sql(&[&format!("CREATE USER pat IDENTIFIED BY '{SECRET}'"), "GRANT ALL ON sbtest.* TO pat"]);
    let checks = |options: &str, file: &str| {
        lab.sql(&["FLUSH PRIVILEGES"]);
        let defaults = lab.home().join("client.cnf");
        fs::write(&defaults, format!("[client]\n{file}\n")).expect("written");
        let line = format!("check oltp_read_write --defaults-file {}", defaults.display());
        let mut command = lab.command(&format!("{line} --target {}", lab.remote().url("pat", options)));
        command.env("MYSQL_PWD", SECRET);
        discreet(run(command))
    };
    let choices = ["ssl-mode=verify-ca", "ssl-mode=required", "server-public-key-path=", "get-server-public-key=true"];
    for options in ["", "ssl-mode=preferred", "ssl-mode=disabled", "get-server-public-key=false"] {
        checks(options, "").refuses(3, &choices).in_one_message();
    }
    let key = format!("server-public-key-path={}public_key.pem", lab.value("SELECT @@datadir"));
    let authority = format!("ssl-ca={}", lab.remote().authority().display());
    for (options, file) in [
        ("ssl-mode=required", ""),
        ("", "ssl-mode=REQUIRED"),
        (&format!("ssl-mode=verify-ca&{authority}"), ""),
        ("get-server-public-key=true", ""),
        ("ssl-mode=disabled", "get-server-public-key"),
        (&key, ""),
        ("", &key),
    ] {
        checks(options, file).exits(0);
        let again = checks("", "").refuses(3, &choices);
        assert!(again.err.contains("cannot log in as `pat` at 127."), "{again}");
    }
    let missing = checks("server-public-key-path=/no/such/key.pem", "");
    missing.refuses(3, &["server-public-key-path /no/such/key.pem"]).in_one_message();
    checks("get-server-public-key=maybe", "").refuses(2, &["get-server-public-key", "true or false"]).in_one_message();
    checks("", "get-server-public-key=maybe").refuses(2, &["client.cnf, line 2", "true or false"]).in_one_message();
}

#[test]
fn a_server_that_is_not_there_is_named() {
    let Some(lab) = Lab::mariadb() else { return };
    let socket = lab.home().join("nobody.sock");
    let url = format!("mysql://root@localhost/sbtest?socket={}", socket.display());
    for command in ["run", "load", "check", "drop"] {
        let done = lab.ends(&format!("{command} oltp_read_write --target {url}"));
        done.refuses(3, &["nobody.sock"]).in_one_message();
    }
    // A port that was free a moment ago.
    let port = TcpListener::bind(("127.0.0.1", 0)).and_then(|free| free.local_addr()).expect("a port").port();
    let done = lab.ends(&format!("run oltp_read_write --target mysql://root@127.0.0.1:{port}/sbtest"));
    done.refuses(3, &[&format!("127.0.0.1:{port}")]).in_one_message();
    let done = lab.ends("run oltp_read_write --target mysql://root@no-such-host.invalid/sbtest");
    done.refuses(3, &["no-such-host.invalid"]).in_one_message();
}

/// A server that answers every login with these bytes, and then closes.
fn babbling(bytes: &'static [u8]) -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    let port = listener.local_addr().expect("an address").port();
    thread::spawn(move || {
        for stream in listener.incoming() {
            // The client may hang up first.
            let _ = stream.and_then(|mut stream| stream.write_all(bytes));
        }
    });
    port
}

#[test]
fn what_is_no_mysql_server_is_said() {
    let home = servers::home();
    let answers: [&[u8]; 4] = [
        b"HTTP/1.1 400 Bad Request\r\n\r\n",
        b"SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n",
        b"",
        &[0x4a, 0, 0, 0, 10, b'9', b'.', 0x1b, b'[', b'3', b'1', b'm'],
    ];
    for bytes in answers {
        let mut command = servers::plimsoll(env!("CARGO_BIN_EXE_plimsoll"), home.path());
        let port = babbling(bytes);
        command.args(["check", "oltp_read_write", &format!("--target=mysql://root@127.0.0.1:{port}/sbtest")]);
        let done = run(command).refuses(3, &[&format!("127.0.0.1:{port}")]).in_one_message();
        assert!(!done.err.contains('\u{1b}'), "control characters of a server reach nobody's terminal: {done}");
    }
}

#[test]
fn tls_that_is_required_and_not_there_is_said() {
    let Some(lab) = Lab::mariadb() else { return };
    let url = lab.up("--set skip_ssl=ON");
    let done = lab.ends(&format!("check oltp_read_write --target {url}&ssl-mode=required"));
    done.refuses(3, &["TLS"]).in_one_message();
}

#[test]
fn an_external_server_is_loaded_and_driven_like_a_private_one() {
    let Some(lab) = Lab::mariadb() else { return };
    let url = lab.up("");
    assert!(url.starts_with("mysql://root@localhost/?socket="), "{url}");
    for line in ["load oltp_read_write --table-size 300", "run oltp_read_write --events 10", "check oltp_read_write"] {
        lab.does(&format!("{line} --target {url} --database elsewhere"));
    }
    lab.does(&format!("drop oltp_read_write --target {url} --database elsewhere"));
}
