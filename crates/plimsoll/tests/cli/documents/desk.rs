//! Where the commands of documents are typed: a directory, a private server in a home, a shell.

use super::find::{self, Typed, root};
use super::table::{Played, Table, Used};
use crate::harness::{Done, Lab, PATIENCE, begin, signal_process};
use plimsoll_testkit::proxy::DelayingProxy;
use plimsoll_testkit::servers::{self, wait_until};
use rcgen::{BasicConstraints, CertificateParams, IsCa, KeyPair};
use rustix::process::{Signal, geteuid};
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::symlink;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// What the shell keeps from one command to the next: `dir=$(…)`.
const VARIABLES: &str = ".variables";

/// Which tests play a command.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Season {
    /// `make test`.
    Short,
    /// `make test-all`: those alone that the table calls long.
    Long,
}

/// A directory with what the documents name, and a server.
pub struct Desk {
    directory: PathBuf,
    known: Vec<(&'static str, String)>,
    home: PathBuf,
    path: String,
    _proxy: DelayingProxy,
    _lab: Lab,
}

impl Desk {
    /// The lab's server runs, over its socket and over TCP with TLS.
    pub fn with(lab: Lab, table: &Table) -> Desk {
        let home = lab.home().to_owned();
        let directory = home.join("desk");
        let bin = directory.join("bin");
        fs::create_dir_all(&bin).expect("the home can be written");
        symlink(env!("CARGO_BIN_EXE_plimsoll"), bin.join("plimsoll")).expect("a link can be made");
        certify(&directory);
        let [ca, certificate, key] = ["ca.pem", "server.pem", "server-key.pem"].map(|file| directory.join(file));
        let (ca, certificate, key) = (ca.display(), certificate.display(), key.display());
        lab.up(&format!("--set ssl_ca={ca} --set ssl_cert={certificate} --set ssl_key={key}"));
        lab.sql(&["CREATE USER 'bench'@'localhost'", "GRANT ALL ON *.* TO 'bench'@'localhost'"]);
        let proxy = DelayingProxy::to(&lab.socket(), Duration::ZERO);
        let beside = lab.server().parent().expect("a server lies in a directory").display().to_string();
        // Where the broker is only unpacked, as `make test-all` has it.
        let broker = servers::nats_server().and_then(|broker| Some(format!("{}:", broker.parent()?.display())));
        let path = std::env::var("PATH").unwrap_or_default();
        let path = format!("{}:{beside}:{}{path}", bin.display(), broker.unwrap_or_default());
        let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
        let known = vec![
            ("{DESK}", directory.display().to_string()),
            ("{ROOT}", root().display().to_string()),
            ("{FIXTURES}", fixtures.display().to_string()),
            ("{SERVER}", lab.server().display().to_string()),
            ("{SOCKET}", lab.socket().display().to_string()),
            ("{TCP}", proxy.address.to_string()),
        ];
        let desk = Desk { directory, known, home, path, _proxy: proxy, _lab: lab };
        desk.lay_out_plans(table);
        desk
    }

    /// The plans of the repository, and the plans and scripts that documents show.
    fn lay_out_plans(&self, table: &Table) {
        let used = &mut Used::default();
        symlink(root().join("plans"), self.directory.join("plans")).expect("a link can be made");
        for (name, text) in find::files_shown() {
            fs::write(self.directory.join(name), self.known_in(&table.shortened(&text, used))).expect("written");
        }
    }

    fn known_in(&self, text: &str) -> String {
        self.known.iter().fold(text.to_owned(), |text, (name, value)| text.replace(name, value))
    }

    /// Plays the commands of one document in order. What was wrong: place, command, and what came of it.
    pub fn play(&self, commands: &[Typed], table: &Table, season: Season) -> Vec<String> {
        let used = &mut Used::default();
        let Some(first) = commands.first() else { return Vec::new() };
        let is_due = |typed: &&Typed| table.played(typed, &mut Used::default()).long == (season == Season::Long);
        let due: Vec<&Typed> = commands.iter().filter(is_due).collect();
        if due.is_empty() {
            return Vec::new();
        }
        let mut wrong = self.prepare(first, table.before(&first.document, None, used), table);
        for typed in due {
            let played = table.played(typed, used);
            if let Some(reason) = self.lacks(&played) {
                servers::skip(&format!("{}: {reason}", typed.text));
                continue;
            }
            let begun = Instant::now();
            wrong.extend(self.prepare(typed, table.before(&typed.document, Some(&typed.text), used), table));
            let text = self.known_in(&played.text);
            let found = match played.stays {
                true => self.stays(&text),
                false if played.is_given => self.in_shell(&text),
                false => self.do_type(&text, table),
            };
            println!("{:4.1} s  {}", begun.elapsed().as_secs_f64(), typed.text);
            wrong.extend(found.err().map(|why| told(typed, &text, &why)));
        }
        wrong
    }

    /// Why a command cannot be played here.
    fn lacks(&self, played: &Played) -> Option<String> {
        let is_there = |program: &String| self.in_shell(&format!("command -v {program}")).is_ok();
        match played.needs.as_ref().filter(|program| !is_there(program)) {
            Some(program) => Some(format!("no {program}; install it")),
            None if played.needs_root && !geteuid().is_root() => Some("only root can build lanes".to_owned()),
            None => None,
        }
    }

    fn prepare(&self, typed: &Typed, before: Vec<String>, table: &Table) -> Vec<String> {
        let texts = before.into_iter().map(|text| self.known_in(&table.mapped(&text, &mut Used::default())));
        texts.filter_map(|text| Some(told(typed, &text, &self.in_shell(&text).err()?))).collect()
    }

    /// Executes what can be: `plimsoll`, and of `make` what it would do with `plimsoll`.
    fn do_type(&self, text: &str, table: &Table) -> Result<(), String> {
        match text.split_whitespace().next() {
            Some("make") => self.makes(text, table),
            _ if text.contains("plimsoll ") => self.in_shell(text),
            _ => Err("it is no command of plimsoll or make: put into the table what is to be executed".to_owned()),
        }
    }

    /// `make` says what it would do; what it would do with the binary is done, by that of this build.
    fn makes(&self, text: &str, table: &Table) -> Result<(), String> {
        let done = self.shell(&format!("{text} -n --no-print-directory -C '{}'", root().display()))?;
        let recipe = done.out.lines().filter_map(|line| Some(line.split_once("/release/plimsoll ")?.1));
        for arguments in recipe {
            let line = table.shortened(&format!("plimsoll {arguments}"), &mut Used::default());
            self.in_shell(&self.known_in(&line))?;
        }
        Ok(())
    }

    fn in_shell(&self, text: &str) -> Result<(), String> {
        let text = format!(
            "set -a; [ ! -f {VARIABLES} ] || . ./{VARIABLES}; set -e\n{text}\n\
             status=$?; export -p >{VARIABLES}; exit $status"
        );
        self.shell(&text).map(drop)
    }

    /// Success, and what it said. A command that does not end is killed with all that it started.
    fn shell(&self, text: &str) -> Result<Done, String> {
        let mut command = self.command(text);
        command.process_group(0);
        let mut running = begin(command);
        let ended = wait_until(2 * PATIENCE, || running.has_ended());
        if !ended {
            running.kill_group();
        }
        let done = running.end();
        match done.status.code() {
            Some(0) if !done.err.contains("panicked at") => Ok(done),
            _ if !ended => Err(format!("it does not end: {done}")),
            _ => Err(done.to_string()),
        }
    }

    fn command(&self, text: &str) -> Command {
        let mut command = servers::plimsoll("sh", &self.home);
        command.args(["-c", text]).current_dir(&self.directory).env("PATH", &self.path);
        // Of a `make test` around this test.
        for variable in ["MAKEFLAGS", "MFLAGS", "MAKELEVEL", "MYSQL_PWD"] {
            command.env_remove(variable);
        }
        command
    }

    /// A dashboard: its link is opened, and Ctrl-C ends it.
    fn stays(&self, text: &str) -> Result<(), String> {
        let mut command = self.command(&format!("exec {text}"));
        let mut child = command.stderr(Stdio::piped()).spawn().map_err(|error| error.to_string())?;
        let mut said = BufReader::new(child.stderr.take().expect("it was piped")).lines().map_while(Result::ok);
        let link =
            said.find_map(|line| line.split_whitespace().find(|word| word.starts_with("http://")).map(str::to_owned));
        let opened = match &link {
            Some(link) => opens(link),
            None => Err("it printed no link".to_owned()),
        };
        signal_process(child.id(), Signal::INT);
        let ended = wait_until(PATIENCE, || child.try_wait().is_ok_and(|status| status.is_some()));
        // If Ctrl-C did not end it.
        let _ = child.kill();
        let status = child.wait().map_err(|error| error.to_string())?;
        match opened {
            Ok(()) if ended && matches!(status.code(), Some(0 | 130)) => Ok(()),
            Ok(()) => Err(format!("Ctrl-C ended it so: {status}")),
            Err(why) => Err(why),
        }
    }
}

impl Drop for Desk {
    fn drop(&mut self) {
        if self.home.join("lanes").exists() {
            let _ = self.shell("plimsoll lane down");
        }
    }
}

fn told(typed: &Typed, text: &str, why: &str) -> String {
    format!("{}:{}: {}\n  typed: {text}\n  {why}", typed.document, typed.line, typed.text)
}

/// Opens a link as a browser does: one redirection is followed, with the cookie that came with it.
fn opens(link: &str) -> Result<(), String> {
    let answer = get(link, "")?;
    let status = |answer: &str| answer.split(' ').nth(1).unwrap_or_default().to_owned();
    let head = |name: &str| {
        let of = |line: &str| {
            line.split_once(": ").filter(|(key, _)| key.eq_ignore_ascii_case(name))?.1.trim().to_owned().into()
        };
        answer.lines().find_map(of).unwrap_or_else(String::new)
    };
    let last = match status(&answer).starts_with('3') {
        true => {
            let origin = link.splitn(4, '/').take(3).collect::<Vec<_>>().join("/");
            let cookie = head("set-cookie");
            let cookie = cookie.split(';').next().unwrap_or_default();
            get(&format!("{origin}{}", head("location")), &format!("Cookie: {cookie}\r\n"))?
        }
        false => answer.clone(),
    };
    match status(&last).as_str() {
        "200" => Ok(()),
        _ => Err(format!("{link} answered: {last}")),
    }
}

fn get(link: &str, headers: &str) -> Result<String, String> {
    let (host, path) = link.trim_start_matches("http://").split_once('/').unwrap_or((link, ""));
    let ask = || {
        let mut connection = TcpStream::connect(host)?;
        connection.set_read_timeout(Some(PATIENCE))?;
        write!(connection, "GET /{path} HTTP/1.1\r\nHost: {host}\r\n{headers}Connection: close\r\n\r\n")?;
        let mut answer = Vec::new();
        connection.read_to_end(&mut answer)?;
        Ok::<_, std::io::Error>(String::from_utf8_lossy(&answer).into_owned())
    };
    ask().map_err(|error| format!("{link}: {error}"))
}

/// An authority and a server's certificate from it.
fn certify(directory: &Path) {
    let write = |name: &str, text: String| fs::write(directory.join(name), text).expect("the home can be written");
    let pair = || KeyPair::generate().expect("a key can be made");
    let (authority_key, key) = (pair(), pair());
    let mut params = CertificateParams::new(Vec::new()).expect("no names are good names");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.distinguished_name.push(rcgen::DnType::CommonName, "an authority of a test");
    let authority = params.self_signed(&authority_key).expect("it signs itself");
    let params = CertificateParams::new(vec!["db.example".to_owned()]).expect("a name");
    let certificate = params.signed_by(&key, &authority, &authority_key).expect("it is signed");
    write("ca.pem", authority.pem());
    write("server.pem", certificate.pem());
    write("server-key.pem", key.serialize_pem());
}
