//! The dashboard: whom it refuses, what it shows, and that viewers do not affect what is measured.

use crate::harness::{Lab, Running, run, signal_process};
use crate::pages::{in_browser, no_browser};
use jiff::Timestamp;
use plimsoll_host::facts::HostFacts;
use plimsoll_model::LoadPoint;
use plimsoll_plan::{Plan, RunPlan};
use plimsoll_record::Happening;
use plimsoll_record::{Manifest, Recording, Status};
use plimsoll_testkit::servers::{self, skip, timed_run};
use plimsoll_testkit::simulated::run_plan;
use rustix::fs::{CWD, FileType, Mode, mknodat};
use rustix::net::{AddressFamily, SocketType, connect, socket, sockopt};
use rustix::process::Signal;
use serde_json::{Value, json};
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::Duration;

/// Longer than any answer takes, on the slowest machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// Markup, a terminal's escape sequence, and a mark that turns the direction of writing.
const HOSTILE: &str = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\u{202e}\u{1b}[31m\u{7}";

/// A dashboard under way; it ends with the test.
pub struct Dashboard {
    child: Child,
    /// As it was printed: with the token.
    url: String,
    token: String,
    address: SocketAddr,
}

/// What came back.
pub struct Answer {
    pub status: u16,
    head: String,
    pub body: String,
}

impl Dashboard {
    pub fn over(home: &Path, listen: &str) -> Dashboard {
        let mut command = servers::plimsoll(env!("CARGO_BIN_EXE_plimsoll"), home);
        let mut child = command.args(["serve", "--listen", listen]).stderr(Stdio::piped()).spawn().expect("it starts");
        let mut said = BufReader::new(child.stderr.take().expect("it was piped"));
        let mut line = String::new();
        said.read_line(&mut line).expect("it says where it is");
        let url = line.split_whitespace().find(|word| word.starts_with("http://")).expect("an address").to_owned();
        let port = url.rsplit(':').next().and_then(|rest| rest.split('/').next()).expect("a port");
        let token = url.split("?token=").nth(1).expect("a token").to_owned();
        Dashboard { child, address: format!("127.0.0.1:{port}").parse().expect("an address"), url, token }
    }

    /// The header that opens it.
    fn bearer(&self) -> String {
        format!("Authorization: Bearer {}", self.token)
    }

    /// Answers to a request with exactly these headers.
    fn asked(&self, request: &str, headers: &[&str]) -> Answer {
        let mut connection = TcpStream::connect(self.address).expect("it listens");
        connection.set_read_timeout(Some(PATIENCE)).expect("a time");
        let headers: String = headers.iter().map(|header| format!("{header}\r\n")).collect();
        write!(connection, "{request} HTTP/1.1\r\n{headers}Connection: close\r\n\r\n").expect("it reads");
        let mut bytes = Vec::new();
        connection.read_to_end(&mut bytes).expect("an answer");
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("{request}: {text:?}"));
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
        Answer { status, head: head.to_ascii_lowercase(), body: body.to_owned() }
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn get(&self, path: &str) -> Answer {
        self.asked(&format!("GET {path}"), &[&format!("Host: {}", self.address), &self.bearer()])
    }

    /// As somebody asks who has not seen what was printed.
    fn get_as_stranger(&self, path: &str) -> Answer {
        self.asked(&format!("GET {path}"), &[&format!("Host: {}", self.address)])
    }

    /// A page that must be there.
    #[track_caller]
    fn page(&self, path: &str) -> String {
        let Answer { status, body, .. } = self.get(path);
        assert_eq!(status, 200, "{path}: {body}");
        body
    }

    /// Ctrl-C ends it.
    #[track_caller]
    fn is_interrupted(&mut self) {
        signal_process(self.child.id(), Signal::INT);
        let ended = servers::wait_until(PATIENCE, || self.child.try_wait().expect("a child").is_some());
        assert!(ended, "Ctrl-C stops it");
    }

    /// Memory that the process holds, bytes.
    fn resident(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id())).expect("it is there");
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("its memory");
        line.trim().trim_end_matches(" kB").parse::<u64>().expect("a number") << 10
    }

    /// Asks for the events of a recording and never reads any: with so small a buffer it stalls at once.
    fn stalls(&self, id: &str) -> TcpStream {
        let stalled = socket(AddressFamily::INET, SocketType::STREAM, None).expect("a socket");
        sockopt::set_socket_recv_buffer_size(&stalled, 1024).expect("a small buffer");
        connect(&stalled, &self.address).expect("it listens");
        let mut stalled = TcpStream::from(stalled);
        self.begins_events(&mut stalled, id);
        stalled
    }

    fn begins_events(&self, connection: &mut TcpStream, id: &str) {
        let (host, bearer) = (self.address, self.bearer());
        write!(connection, "GET /live/{id}/events HTTP/1.1\r\nHost: {host}\r\n{bearer}\r\n\r\n").expect("it reads");
    }

    /// The first events of a recording.
    fn events(&self, id: &str, count: usize) -> Vec<Value> {
        let mut connection = TcpStream::connect(self.address).expect("it listens");
        connection.set_read_timeout(Some(PATIENCE)).expect("a time");
        self.begins_events(&mut connection, id);
        // The lengths of the chunks stand on lines of their own.
        let lines = BufReader::new(connection).lines().map_while(Result::ok);
        let events = lines.filter_map(|line| serde_json::from_str(line.strip_prefix("data: ")?).ok());
        events.take(count).collect()
    }
}

impl Drop for Dashboard {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A recording of a run that was killed before its first second.
fn recording(home: &Path, title: &str) -> String {
    let plan = RunPlan {
        workload: title.to_owned(),
        params: [(title.to_owned(), title.to_owned())].into(),
        target: title.to_owned(),
        protocol: title.to_owned(),
        ..run_plan(&[])
    };
    let manifest = Manifest::new("hostile", "0.1.0", Timestamp::now(), Plan::Run(plan), HostFacts::default());
    let mut recording = Recording::create(&home.join("recordings"), manifest).expect("the home can be written");
    recording.event(1, Happening::Failed { id: None, why: title.to_owned() }).expect("an event");
    id(recording.directory())
}

fn id(recording: &Path) -> String {
    recording.file_name().expect("a name").to_string_lossy().into_owned()
}

#[test]
fn who_is_not_of_this_machine_is_refused() {
    let home = servers::home();
    let id = recording(home.path(), "a run");
    let dashboard = Dashboard::over(home.path(), "127.0.0.1:0");
    let host = format!("Host: {}", dashboard.address);
    let refused: [(&str, &[&str], u16); 14] = [
        ("GET /", &["Host: evil.example"], 421),
        ("GET /", &["Host: 127.0.0.1.evil.example"], 421),
        ("GET /", &[&host, "Origin: http://evil.example"], 403),
        ("GET /", &[&host, "Origin: null"], 403),
        ("GET /", &[&host, "Sec-Fetch-Site: cross-site"], 403),
        ("POST /", &[&host, "Content-Length: 0"], 405),
        ("DELETE /recording/x", &[&host], 405),
        ("GET /recording/20260101T000000Z-none-0000", &[&host], 404),
        ("GET /recording/..%2f..%2f..%2fetc", &[&host], 404),
        ("GET /recording/%2e%2e/report.html", &[&host], 404),
        ("GET /compare?a=/etc&b=..", &[&host], 404),
        ("GET /compare", &[&host], 400),
        ("GET /?page=abc", &[&host], 400),
        ("GET /recording/%ff", &[&host], 400),
    ];
    let bearer = dashboard.bearer();
    for (request, headers, status) in refused {
        let answer = dashboard.asked(request, &[headers, &[&bearer]].concat());
        assert_eq!(answer.status, status, "{request} {headers:?}: {}", answer.body);
        is_kept_to_itself(&answer);
    }
    for path in ["/", "/style.css", &format!("/recording/{id}"), &format!("/recording/{id}/report.md")] {
        let answer = dashboard.get(path);
        assert_eq!(answer.status, 200, "{path}: {}", answer.body);
        is_kept_to_itself(&answer);
    }
    let head = dashboard.asked("HEAD /", &[&host, &bearer]);
    assert!(head.status == 200 && head.body.is_empty());
}

/// The headers that no answer is without.
fn is_kept_to_itself(answer: &Answer) {
    let wanted = [
        "content-security-policy: default-src 'none'",
        "frame-ancestors 'none'",
        "x-content-type-options: nosniff",
        "referrer-policy: no-referrer",
        "cache-control: no-store",
    ];
    for header in wanted {
        assert!(answer.head.contains(header), "{header}: {}", answer.head);
    }
    assert!(!answer.head.contains("unsafe"), "{}", answer.head);
}

#[test]
fn a_token_is_wanted_on_this_machine_and_beyond_it() {
    let home = servers::home();
    let id = recording(home.path(), "a secret run");
    for listen in ["127.0.0.1:0", "0.0.0.0:0"] {
        let dashboard = Dashboard::over(home.path(), listen);
        is_closed_to_strangers(&dashboard, &id);
        opens_by_its_link(&dashboard);
    }
}

fn is_closed_to_strangers(dashboard: &Dashboard, id: &str) {
    let host = format!("Host: {}", dashboard.address);
    let unknown = dashboard.get_as_stranger("/");
    assert!(unknown.status == 401 && unknown.head.contains("www-authenticate: bearer"), "{}", unknown.head);
    assert!(unknown.body.contains("open the link that `plimsoll serve` printed"), "{}", unknown.body);
    is_kept_to_itself(&unknown);
    let paths = ["/?token=0123", "/style.css", "/dashboard.js", &format!("/recording/{id}"), "/?q=secret", "/none"];
    for path in paths {
        let answer = dashboard.get_as_stranger(path);
        assert!(answer.status == 401 && !answer.body.contains("secret"), "{path}: {}", answer.body);
    }
    assert_eq!(dashboard.asked("GET /", &[&host, "Cookie: plimsoll_token=0123"]).status, 401);
    assert_eq!(dashboard.asked("GET /", &["Host: evil.example", &dashboard.bearer()]).status, 421);
    assert_eq!(dashboard.get("/").status, 200);
}

fn opens_by_its_link(dashboard: &Dashboard) {
    let exchanged = dashboard.get_as_stranger(&format!("/?token={}", dashboard.token));
    assert_eq!(exchanged.status, 303);
    let told = |name: &str| {
        let line = exchanged.head.lines().find_map(|line| line.strip_prefix(name));
        line.unwrap_or_else(|| panic!("{name} {}", exchanged.head)).trim().to_owned()
    };
    assert_eq!(told("location:"), "/", "the token is out of the address");
    let cookie = told("set-cookie:");
    assert!(cookie.contains("httponly") && cookie.contains("samesite=strict"), "{cookie}");
    let cookie = format!("Cookie: {}", cookie.split(';').next().expect("a pair"));
    let host = format!("Host: {}", dashboard.address);
    assert_eq!(dashboard.asked("GET /", &[&host, &cookie]).status, 200);
}

#[test]
fn an_address_that_is_taken_or_none_is_said() {
    let home = servers::home();
    let mut dashboard = Dashboard::over(home.path(), "127.0.0.1:0");
    let again = |listen: &str| {
        let mut command = servers::plimsoll(env!("CARGO_BIN_EXE_plimsoll"), home.path());
        command.args(["serve", "--listen", listen]);
        run(command)
    };
    again(&dashboard.address.to_string()).refuses(3, &["cannot listen on", "--listen"]);
    again("nowhere").refuses(2, &["nowhere", "127.0.0.1:7576"]);
    dashboard.is_interrupted();
}

#[test]
fn hostile_names_are_text() {
    let home = servers::home();
    let id = recording(home.path(), HOSTILE);
    let dashboard = Dashboard::over(home.path(), "127.0.0.1:0");
    let searched = "/?q=%3C/script%3E%3Cscript%3Ealert(1)%3C/script%3E%E2%80%AE%1B%5B31m";
    let unknown = "/recording/%3Cscript%3Ealert(1)%3C%2Fscript%3E";
    for path in ["/", searched, unknown, &format!("/recording/{id}"), &format!("/compare?a={id}:%3Cscript%3E&b={id}")] {
        let body = dashboard.get(path).body;
        for harm in ["<script>", "<img", "\u{202e}", "\u{1b}", "\u{7}"] {
            assert!(!body.contains(harm), "{harm:?} in {path}: {body}");
        }
    }
    assert!(dashboard.page("/").contains("&lt;img src=x"), "it is shown all the same");
    let live = Recording::reopen(&home.path().join("recordings").join(&id)).expect("nobody writes it");
    let page = dashboard.page(&format!("/live/{id}"));
    assert!(page.contains("&lt;script&gt;") && !page.contains("<script>") && !page.contains('\u{202e}'), "{page}");
    drop(live);
}

/// A recording that comes from elsewhere can hold anything under the names of its files.
#[test]
fn files_that_are_none_hold_nobody_up() {
    let home = servers::home();
    let recordings = home.path().join("recordings");
    let secret = home.path().join("secret.json");
    fs::write(&secret, json!({ "headline": "A secret." }).to_string()).expect("a file");
    let linked = recordings.join(recording(home.path(), "linked"));
    std::os::unix::fs::symlink(&secret, linked.join("lab.json")).expect("a link");
    let mut ids = vec![id(&linked)];
    for name in ["summary.json", "lab.json", "events.ndjson", "trials"] {
        let id = recording(home.path(), name);
        let path = recordings.join(&id).join(name);
        let _ = if path.is_dir() { fs::remove_dir(&path) } else { fs::remove_file(&path) };
        mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).expect("a FIFO");
        ids.push(id);
    }
    let mut dashboard = Dashboard::over(home.path(), "127.0.0.1:0");
    let all = dashboard.page("/");
    assert!(ids.iter().all(|id| all.contains(id.as_str())) && !all.contains("secret"), "{all}");
    for id in &ids {
        let answer = dashboard.get(&format!("/recording/{id}"));
        assert!(!answer.body.contains("A secret") && [200, 500].contains(&answer.status), "{id}: {}", answer.body);
    }
    dashboard.is_interrupted();
}

#[test]
fn who_connects_and_asks_for_nothing_is_cut_off() {
    let home = servers::home();
    let dashboard = Dashboard::over(home.path(), "127.0.0.1:0");
    let idle = |_| {
        let mut idle = TcpStream::connect(dashboard.address).expect("it listens");
        write!(idle, "GET / HTTP/1.1\r\nHost: ").expect("there is room");
        idle
    };
    let mut idle: Vec<TcpStream> = (0..200).map(idle).collect();
    assert_eq!(dashboard.get("/").status, 200, "there is a place again");
    idle[0].set_read_timeout(Some(PATIENCE)).expect("a time");
    idle[0].read_to_end(&mut Vec::new()).expect("its end");
}

#[test]
fn hundreds_of_recordings_are_on_pages() {
    let home = servers::home();
    for number in 0..300 {
        let name = if number % 100 == 0 { "rare" } else { "frequent" };
        let plan = RunPlan { workload: "oltp_read_only".to_owned(), ..run_plan(&[LoadPoint::closed(1)]) };
        let started = Timestamp::from_second(1_800_000_000 + number).expect("a time");
        let manifest = Manifest::new(name, "0.1.0", started, Plan::Run(plan), HostFacts::default());
        let mut recording = Recording::create(&home.path().join("recordings"), manifest).expect("a recording");
        recording.finish(Status::Done, started).expect("its end");
    }
    let dashboard = Dashboard::over(home.path(), "127.0.0.1:0");
    let rows = |path: &str| dashboard.page(path).matches("name=\"pick\"").count();
    assert_eq!((rows("/"), rows("/?page=6"), rows("/?q=rare"), rows("/?q=RARE+read_only")), (50, 50, 3, 3));
    assert_eq!((rows("/?page=999"), rows("/?q=nothing")), (50, 0), "beyond the last page is the last page");
    let first = dashboard.page("/");
    let places: Vec<usize> = ["00:04:59", "00:04:58"].iter().filter_map(|time| first.find(time)).collect();
    assert!(first.contains("300 recordings") && places.is_sorted(), "the latest first: {first}");
}

const PLAN: &str = "[workload]\nkind = \"oltp_read_write\"\ntables = 1\ntable_size = 1000\n\
                    [load]\nconnections = [2]\nrate = 20\n[trials]\nrounds = ROUNDS\nwarmup = \"1s\"\nmeasure = \"SECONDS\"\n\
                    pause = \"0s\"\n[[variant]]\nname = \"small\"\nconfig = { innodb_buffer_pool_size = \"16M\" }\n\
                    [[variant]]\nname = \"large\"\nconfig = { innodb_buffer_pool_size = \"64M\" }\n";

/// Begins a lab, and waits until it measures.
fn begins(lab: &Lab, name: &str, rounds: usize, seconds: usize) -> (Running, PathBuf) {
    let plan = PLAN.replace("ROUNDS", &rounds.to_string()).replace("SECONDS", &format!("{seconds}s"));
    let before = lab.recordings().len();
    let mut running = lab.begins(&format!("lab {}", lab.plan(name, &plan).display()));
    running.wait_for("its recording", || lab.recordings().len() > before);
    lab.wait_until_measured(&mut running);
    (running, lab.recordings().pop().expect("a recording"))
}

#[test]
fn a_lab_is_watched_live_and_stalled_viewers_change_nothing() {
    let Some(lab) = Lab::mariadb() else { return };
    let _timed = timed_run();
    let dashboard = Dashboard::over(lab.home(), "127.0.0.1:0");
    let (running, recording) = begins(&lab, "watched", 2, 3);
    let id = id(&recording);
    let page = dashboard.page(&format!("/live/{id}"));
    for part in ["watched", "Time left</dt><dd>about", "of 4: ", "So far", "What comes next", "polyline"] {
        assert!(page.contains(part), "{part}: {page}");
    }
    let stalled: Vec<TcpStream> = (0..24).map(|_| dashboard.stalls(&id)).collect();
    let before = dashboard.resident();
    let events = dashboard.events(&id, 4);
    assert_eq!(events.len(), 4);
    assert!(events.windows(2).all(|pair| pair[0]["state"] != pair[1]["state"]), "each second has its own: {events:#?}");
    let plan = events[3]["plan"].as_str().expect("the plan");
    assert!(plan.contains("class=\"trial now\"") && plan.contains("to come"), "{plan}");
    let metrics = dashboard.page("/metrics");
    let of_this = format!("plimsoll_trials_begun{{recording=\"{id}\",");
    assert!(metrics.contains(&of_this) && metrics.ends_with("# EOF\n"), "{metrics}");
    running.end_within(Duration::from_secs(300)).exits(0);
    let grown = dashboard.resident().saturating_sub(before);
    assert!(grown < 64 << 20, "stalled viewers hold {grown} bytes");
    drop(stalled);
    every_second_is_recorded(&recording, 3.0);

    assert_eq!(dashboard.get(&format!("/live/{id}")).status, 303, "there is nothing to watch any more");
    assert_eq!(dashboard.get(&format!("/live/{id}/events")).status, 204, "and browsers stop asking");
    assert!(dashboard.page(&format!("/recording/{id}")).contains("watched"));
    let compared = dashboard.page(&format!("/compare?a={id}:small&b={id}:large"));
    assert!(compared.contains("large") && compared.contains("<select"), "{compared}");
    let refused = dashboard.page(&format!("/compare?pick={id}&pick={id}"));
    assert!(
        refused.contains("These cannot be compared") && refused.contains(":large\""),
        "the variants to choose: {refused}"
    );
}

/// What programs get is what the commands print.
#[test]
fn programs_get_the_same_as_data() {
    let Some(lab) = Lab::mariadb() else { return };
    lab.up("");
    lab.does("load oltp_point_select --tables 1 --table-size 1000");
    for name in ["one", "other"] {
        lab.does(&format!("run oltp_point_select --events 200 --name {name}"));
    }
    lab.does("recordings tag one nightly");
    let dashboard = Dashboard::over(lab.home(), "127.0.0.1:0");
    let json = |path: &str| -> Value { serde_json::from_str(&dashboard.page(path)).expect("JSON") };
    let listed = json("/api/recordings");
    assert_eq!(listed, lab.does("recordings list --json").json());
    let id = |place: usize| listed[place]["recording"].as_str().expect("an id").to_owned();
    let (one, other) = (id(0), id(1));
    let of_command = lab.does(&format!("report {one} --format json -o -")).json();
    assert_eq!(json(&format!("/api/recording/{one}"))["data"], of_command["data"]);
    let compared = json(&format!("/api/compare?a={one}&b={other}"));
    assert_eq!(compared["headline"], lab.does(&format!("compare {one} {other} --json")).json()["headline"]);
    assert_eq!(json("/api/trend/one")["data"]["recordings"][0]["tags"], serde_json::json!(["nightly"]));
    let metrics = dashboard.page("/metrics");
    assert!(metrics.contains("plimsoll_recordings{state=\"done\"} 2\n") && metrics.ends_with("# EOF\n"), "{metrics}");
    for (path, status) in [("/api/trend/nothing", 404), ("/trend/nothing", 404), ("/api/compare?a=x", 400)] {
        assert_eq!(dashboard.get(path).status, status, "{path}");
    }
    let history = dashboard.page("/");
    assert!(history.contains("<span class=\"label\">nightly</span>"), "{history}");
    let shown = dashboard.page(&format!("/recording/{one}"));
    assert!(shown.contains("/trend/one") && shown.contains("plimsoll recordings tag"), "{shown}");
    assert!(dashboard.page("/trend/one").contains("too few to see a change of level"));
    let three = dashboard.page(&format!("/compare?pick={one}&pick={other}&pick={one}"));
    assert!(three.contains("one") && three.contains("<svg"), "{three}");
}

/// The measured seconds of all trials, none of them lost.
fn every_second_is_recorded(recording: &Path, wanted: f64) {
    let trials = fs::read_dir(recording.join("trials")).expect("trials").flatten();
    let mut seen = 0;
    for trial in trials {
        let text = fs::read_to_string(trial.path().join("intervals.ndjson")).expect("seconds");
        let lines = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let measured = lines.filter(|line| line["phase"] == "measure").filter_map(|line| line["seconds"].as_f64());
        let seconds: f64 = measured.sum();
        assert!((seconds - wanted).abs() < 1e-6, "{seconds} s of {wanted} in {}", trial.path().display());
        seen += 1;
    }
    assert_eq!(seen, 4);
}

#[test]
fn a_browser_finds_its_way() {
    if let Some(reason) = no_browser() {
        return skip(reason);
    }
    let Some(lab) = Lab::mariadb() else { return };
    lab.does("load oltp_read_only --table-size 1000");
    for name in ["base", "new"] {
        lab.does(&format!("run oltp_read_only --connections 2 --time 1s --name {name}"));
    }
    lab.ends("server stop");
    let dashboard = Dashboard::over(lab.home(), "127.0.0.1:0");
    if dashboard.get("/dashboard.js").status == 404 {
        return skip("no script was built in; run scripts/build-web and build again");
    }
    let (running, _) = begins(&lab, "browsed", 40, 20);
    in_browser("dashboard.mjs", &[&dashboard.url]);
    running.signal(Signal::INT);
    running.end().exits(130);
}
