//! Agents that something else starts, at a broker that they reach from other machines: ssh, Slurm, Kubernetes. What
//! docs/fleet.md shows is what is run here.

use crate::crash_interrupted::outcomes;
use crate::documents;
use crate::drop_in_recordings::texts;
use crate::fleet::plimsoll;
use crate::harness::{Done, Lab, PATIENCE, begin, run};
use k8s_openapi::api::batch::v1::Job;
use plimsoll_testkit::programs::write_script;
use plimsoll_testkit::servers::{self, wait_until};
use rustix::process::Signal;
use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// `HOST:PORT` that nobody listens at.
fn free_at(host: &str) -> String {
    let free = std::net::TcpListener::bind(("127.0.0.1", 0)).and_then(|free| free.local_addr());
    format!("{host}:{}", free.expect("a port is free").port())
}

/// What docs/fleet.md shows in this language.
fn shown(language: &str) -> String {
    let text = fs::read_to_string(documents::root().join("docs/fleet.md")).expect("a document of the repository");
    let (_, rest) = text.split_once(&format!("```{language}\n")).expect("it shows one");
    rest.split_once("```").expect("it ends").0.to_owned()
}

/// An ssh server of our own on the loopback, with keys of its own.
struct Sshd {
    directory: tempfile::TempDir,
    port: u16,
    child: std::process::Child,
}

impl Sshd {
    /// `None` was said with [`servers::skip`].
    fn start() -> Option<Sshd> {
        let program = Path::new("/usr/sbin/sshd");
        if !program.exists() || !Path::new("/usr/bin/ssh-keygen").exists() || !rustix::process::geteuid().is_root() {
            servers::skip("no ssh server, or not root: apt-get install openssh-server openssh-client");
            return None;
        }
        let directory = servers::home();
        let path = |name: &str| directory.path().join(name).display().to_string();
        for key in ["host", "user"] {
            let made = Command::new("ssh-keygen").args(["-q", "-t", "ed25519", "-N", "", "-f", &path(key)]).status();
            assert!(made.expect("ssh-keygen").success());
        }
        let free = std::net::TcpListener::bind(("127.0.0.1", 0)).and_then(|free| free.local_addr());
        let port = free.expect("a port is free").port();
        let config = format!(
            "Port {port}\nListenAddress 127.0.0.1\nHostKey {}\nAuthorizedKeysFile {}\nPidFile none\nStrictModes no\n\
             UsePAM no\nPermitUserEnvironment no\n",
            path("host"),
            path("user.pub")
        );
        fs::write(path("config"), config).expect("it can be written");
        // Where it separates its privileges; the package makes it when the service is started.
        fs::create_dir_all("/run/sshd").expect("root may");
        let mut command = Command::new(program);
        command.args(["-D", "-e", "-f", &path("config")]).stderr(std::process::Stdio::null());
        let child = command.spawn().expect("sshd starts");
        let answers = || std::net::TcpStream::connect(("127.0.0.1", port)).is_ok();
        assert!(servers::wait_until(PATIENCE, answers), "sshd does not answer");
        Some(Sshd { directory, port, child })
    }

    fn command(&self) -> String {
        let key = self.directory.path().join("user");
        format!(
            "ssh -o BatchMode=yes -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR -p {} -i {}",
            self.port,
            key.display()
        )
    }
}

impl Drop for Sshd {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn agents_are_started_over_ssh_with_keys_of_their_own_and_leave_nothing_there() {
    let Some(lab) = Lab::mariadb() else { return };
    let (Some(sshd), Some(_)) = (Sshd::start(), servers::nats_server()) else { return };
    lab.up("");
    lab.does("load oltp_read_only --table-size 1000");
    let free = std::net::TcpListener::bind(("127.0.0.1", 0)).and_then(|free| free.local_addr());
    let listen = format!("localhost:{}", free.expect("a port is free").port());
    let up = |ssh: &str, program: &str| {
        let mut command = plimsoll(lab.home(), "fleet up --hosts localhost,127.0.0.1");
        command.args(["--listen", &listen, "--ssh", ssh, "--remote-plimsoll", program]);
        run(command)
    };
    let none = up(&sshd.command(), "/no/plimsoll");
    none.refuses(3, &["localhost", "there is no /no/plimsoll"]);
    // Whoever logs in has another home.
    let (elsewhere, program) = (servers::home(), lab.home().join("plimsoll-there"));
    let binary = env!("CARGO_BIN_EXE_plimsoll");
    let home = elsewhere.path().display();
    write_script(&program, &format!("#!/bin/sh\nPLIMSOLL_HOME={home} exec {binary} \"$@\"\n"));
    let fleet = up(&sshd.command(), &program.display().to_string()).exits(0).out.trim().to_owned();
    assert!(fleet.starts_with("tls://localhost:"), "{fleet}");
    let own = fs::read_to_string(lab.home().join("fleet/own.json")).expect("what was begun is noted");
    let broker = lab.home().join("fleet/broker");
    let seeds: Vec<String> = ["coordinator.nk", "localhost.nk", "127-0-0-1.nk"]
        .iter()
        .map(|name| fs::read_to_string(broker.join(name)).expect("a key").trim().to_owned())
        .collect();
    let line = format!("run oltp_read_only --connections 4 --events 40 --json --agents 2 --fleet {fleet}");
    let summary = lab.does(&line).json();
    assert_eq!(summary["points"][0]["agents"].as_array().map(Vec::len), Some(2));
    let processes = Command::new("ps").args(["-eo", "args"]).output().expect("ps");
    let processes = String::from_utf8_lossy(&processes.stdout).into_owned();
    let logs = fs::read_to_string(broker.join("log")).unwrap_or_default();
    for seed in &seeds {
        assert!(!processes.contains(seed) && !logs.contains(seed) && !own.contains(seed), "no key is shown");
    }
    let there: Value = serde_json::from_str(&own).expect("it is JSON");
    let directory = there["agents"][0]["place"]["there"]["directory"].as_str().expect("a directory").to_owned();
    assert!(Path::new(&directory).exists());
    run(plimsoll(lab.home(), "fleet down")).exits(0);
    assert!(!Path::new(&directory).exists(), "{directory} is left");
}

/// A broker with keys for agents that something else starts, over a server with data.
struct Keyed {
    up: Done,
    listen: String,
    /// The directory of the keys.
    keys: PathBuf,
}

impl Keyed {
    #[track_caller]
    fn on(lab: &Lab, names: &str, host: &str) -> Keyed {
        lab.up("");
        lab.does("load oltp_read_only --table-size 1000");
        let listen = free_at(host);
        let up = run(plimsoll(lab.home(), &format!("fleet up --names {names} --listen {listen}"))).exits(0);
        Keyed { up, listen, keys: lab.home().join("fleet/broker") }
    }
}

/// A private Slurm of one node, this machine.
struct Slurm {
    bin: PathBuf,
    directory: tempfile::TempDir,
    daemons: Vec<Child>,
}

impl Slurm {
    /// `None` was said with [`servers::skip`].
    fn start() -> Option<Slurm> {
        let Some(launcher) = std::env::var_os("PLIMSOLL_TEST_SLURM").filter(|launcher| !launcher.is_empty()) else {
            servers::skip("no Slurm; set PLIMSOLL_TEST_SLURM=$(scripts/unpack-server slurm)");
            return None;
        };
        if !rustix::process::geteuid().is_root() {
            servers::skip("a private Slurm needs root");
            return None;
        }
        let bin = PathBuf::from(launcher).parent().expect("a directory").to_owned();
        let mut slurm = Slurm { bin, directory: servers::home(), daemons: Vec::new() };
        slurm.configure();
        let path = |name: &str| slurm.path(name).display().to_string();
        let (key, socket, config) = (path("munge/key"), path("munge/socket"), path("slurm.conf"));
        let munged = [
            "--foreground".to_owned(),
            "--force".to_owned(),
            format!("--key-file={key}"),
            format!("--socket={socket}"),
            format!("--pid-file={}", path("munge/pid")),
            format!("--seed-file={}", path("munge/seed")),
        ];
        let step = slurm.bin.join("slurmstepd-wlm").display().to_string();
        slurm.begin("munged", &munged);
        assert!(wait_until(Duration::from_secs(60), || Path::new(&socket).exists()), "{}", slurm.said("munged"));
        slurm.begin("slurmctld-wlm", &["-D".to_owned(), "-f".to_owned(), config.clone()]);
        slurm.begin("slurmd-wlm", &["-D".to_owned(), "-d".to_owned(), step, "-f".to_owned(), config]);
        let is_idle = || slurm.asks("sinfo", &["-h", "-o", "%T"]).contains("idle");
        assert!(wait_until(Duration::from_secs(120), is_idle), "{}", slurm.said("slurmd-wlm"));
        Some(slurm)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn configure(&self) {
        for name in ["munge", "state", "spool"] {
            fs::create_dir(self.path(name)).expect("a directory can be made");
        }
        let own = fs::Permissions::from_mode(0o600);
        let key: Vec<u8> = (0..1024).map(|byte| (byte * 37 % 251) as u8).collect();
        fs::write(self.path("munge/key"), key).expect("it can be written");
        fs::set_permissions(self.path("munge/key"), own).expect("it is ours");
        let root = self.bin.parent().expect("it is below a directory").join("root");
        let plugins = ["x86_64", "aarch64"].map(|cpu| root.join(format!("usr/lib/{cpu}-linux-gnu/slurm-wlm")));
        let plugins = plugins.into_iter().find(|plugins| plugins.exists()).expect("its plugins");
        let host = fs::read_to_string("/proc/sys/kernel/hostname").expect("a name").trim().to_owned();
        let port = |address: String| address.rsplit(':').next().expect("a port").to_owned();
        let (here, socket) = (self.directory.path().display(), self.path("munge/socket"));
        let text = format!(
            "ClusterName=test\nSlurmctldHost={host}(127.0.0.1)\nSlurmctldPort={}\nSlurmdPort={}\nSlurmUser=root\n\
             AuthType=auth/munge\nAuthInfo=socket={}\nCryptoType=crypto/munge\nStateSaveLocation={here}/state\n\
             SlurmdSpoolDir={here}/spool\nSlurmctldPidFile={here}/ctld.pid\nSlurmdPidFile={here}/d.pid\n\
             ProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\nSelectType=select/cons_tres\n\
             SelectTypeParameters=CR_CPU\nMpiDefault=none\nSwitchType=switch/none\n\
             JobAcctGatherType=jobacct_gather/none\nSlurmdParameters=config_overrides\nPluginDir={}\n\
             NodeName={host} NodeAddr=127.0.0.1 CPUs=8 State=UNKNOWN\nPartitionName=main Nodes=ALL Default=YES State=UP\n",
            port(free_at("127.0.0.1")),
            port(free_at("127.0.0.1")),
            socket.display(),
            plugins.display()
        );
        fs::write(self.path("slurm.conf"), text).expect("it can be written");
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(self.bin.join(program));
        command.env("SLURM_CONF", self.path("slurm.conf"));
        command
    }

    fn begin(&mut self, program: &str, words: &[String]) {
        let log = fs::File::create(self.path(&format!("{program}.log"))).expect("a log can be written");
        let errors = log.try_clone().expect("a log can be shared");
        let child = self.command(program).args(words).stdin(Stdio::null()).stdout(log).stderr(errors).spawn();
        self.daemons.push(child.expect("it starts"));
    }

    fn said(&self, program: &str) -> String {
        fs::read_to_string(self.path(&format!("{program}.log"))).unwrap_or_default()
    }

    fn asks(&self, program: &str, words: &[&str]) -> String {
        let output = self.command(program).args(words).output().expect("it runs");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }
}

impl Drop for Slurm {
    fn drop(&mut self) {
        let _ = self.command("scancel").args(["--user=root", "--signal=KILL"]).output();
        for daemon in self.daemons.iter_mut().rev() {
            let _ = daemon.kill();
            let _ = daemon.wait();
        }
    }
}

#[test]
#[ignore = "unpacks and starts Slurm: `make test-all`"]
fn an_array_job_of_slurm_is_a_fleet() {
    let Some(lab) = Lab::mariadb() else { return };
    let (Some(slurm), Some(_)) = (Slurm::start(), servers::nats_server()) else { return };
    let Keyed { up, listen, keys } = Keyed::on(&lab, "load[1-4]", "localhost");
    let up = up.tells(&["4 keys", &keys.display().to_string()]);
    let programs = servers::home();
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_plimsoll"), programs.path().join("plimsoll")).expect("a link");
    let script = shown("slurm")
        .replace("control.example:4222", &listen)
        .replace("/shared/keys", &keys.display().to_string())
        .replace("'mysql://bench@db.example:3306/*' --defaults-file /shared/bench.cnf", "private");
    let job = slurm.path("agents.sh");
    fs::write(&job, script).expect("it can be written");
    let output = slurm.path("%a.out");
    let path = format!("{}:{}", programs.path().display(), std::env::var("PATH").expect("a path"));
    let mut command = slurm.command("sbatch");
    command.env("PLIMSOLL_HOME", lab.home()).env("PATH", path).arg(format!("--output={}", output.display())).arg(&job);
    assert!(command.status().expect("it runs").success());
    let fleet = up.out.trim();
    let line = format!("run oltp_read_only --connections 4 --events 40 --json --agents 4 --fleet {fleet}");
    let summary = lab.does(&line).json();
    let agents = summary["points"][0]["agents"].as_array().expect("a list");
    let names: Vec<&str> = agents.iter().filter_map(|agent| agent["agent"].as_str()).collect();
    assert_eq!(names, ["load1", "load2", "load3", "load4"]);
    run(plimsoll(lab.home(), "fleet down")).exits(0);
    let is_over = || slurm.asks("squeue", &["-h"]).trim().is_empty();
    assert!(
        wait_until(Duration::from_secs(60), is_over),
        "agents leave when the fleet ends: {}",
        slurm.asks("squeue", &[])
    );
}

/// How many of them this process has made.
static MADE: AtomicUsize = AtomicUsize::new(0);

/// A machine as far as the network goes: a namespace with one link to this one.
struct Apart {
    name: String,
    /// Where it reaches this machine, and others like it do.
    here: String,
}

impl Apart {
    /// `None` was said with [`servers::skip`].
    fn new() -> Option<Apart> {
        let (process, number) = (std::process::id() as usize, MADE.fetch_add(1, Ordering::Relaxed));
        let name = format!("pl{process}x{number}");
        if !ip(&format!("netns add {name}")) {
            servers::skip("no network namespace can be made here: needs root and iproute2");
            return None;
        }
        let end = |end: usize| format!("10.213.{}.{}", process % 250, (4 * number + end) % 256);
        let (here, there) = (end(1), end(2));
        let apart = Apart { name: name.clone(), here: here.clone() };
        let steps = [
            format!("link add {name} type veth peer name far netns {name}"),
            format!("addr add {here}/30 dev {name}"),
            format!("link set {name} up"),
            format!("-n {name} addr add {there}/30 dev far"),
            format!("-n {name} link set far up"),
            format!("-n {name} link set lo up"),
            format!("-n {name} route add default via {here}"),
        ];
        let is_made = steps.iter().all(|step| ip(step));
        if !is_made {
            servers::skip("no network namespace can be joined to this machine: needs veth");
        }
        is_made.then_some(apart)
    }

    /// How nsenter names it. `ip netns exec` would keep copies of the mounts of lanes that other tests take down.
    fn namespace(&self) -> String {
        format!("--net=/run/netns/{}", self.name)
    }

    fn link(&self, state: &str) {
        assert!(ip(&format!("link set {} {state}", self.name)));
    }
}

impl Drop for Apart {
    fn drop(&mut self) {
        ip(&format!("link del {}", self.name));
        ip(&format!("netns del {}", self.name));
    }
}

fn ip(words: &str) -> bool {
    let done = Command::new("ip").args(words.split(' ')).stderr(Stdio::null()).status();
    done.is_ok_and(|status| status.success())
}

#[test]
#[ignore = "waits until an agent is lost: `make test-all`"]
fn an_agent_that_is_cut_off_is_lost_and_joins_the_next_load() {
    let Some(lab) = Lab::mariadb() else { return };
    let (Some(apart), Some(_)) = (Apart::new(), servers::nats_server()) else { return };
    let Keyed { up, listen, keys } = Keyed::on(&lab, "near,far", &apart.here);
    let (fleet, keys) = (up.out.trim().to_owned(), keys.display().to_string());
    let agent = |name: &str| {
        format!(
            "agent --name {name} --allow-target private --fleet tls://{listen}?key={keys}/{name}.nk&ca={keys}/ca.pem"
        )
    };
    let near = begin(plimsoll(lab.home(), &agent("near")));
    let line = agent("far");
    // The server's socket is a file, which it reaches all the same.
    let mut command = Command::new("nsenter");
    command.arg(apart.namespace()).arg(env!("CARGO_BIN_EXE_plimsoll")).args(line.split(' '));
    command.env("PLIMSOLL_HOME", lab.home());
    let far = begin(command);
    let before = lab.recordings().len();
    let line = "run oltp_read_only --connections 4 --time 600s --json --tolerate-lost 1 --agents 2 --fleet";
    let mut running = lab.begins(&format!("{line} {fleet}"));
    running.wait_for("a load of both", || lab.recordings().len() > before);
    lab.wait_until_measured(&mut running);
    apart.link("down");
    let lost = || {
        let trials = lab.recordings().pop().and_then(|recording| fs::read_dir(recording.join("trials")).ok());
        let agents = trials.into_iter().flatten().flatten().map(|trial| trial.path().join("agents.ndjson"));
        agents
            .filter_map(|path| fs::read_to_string(path).ok())
            .any(|text| text.contains("\"lost\":\"nothing of its load"))
    };
    running.wait_for("the loss of one", lost);
    apart.link("up");
    running.signal(Signal::INT);
    let summary = running.end().exits(130).json();
    let agents = |summary: &Value| -> Vec<(String, bool)> {
        let agents = summary["points"][0]["agents"].as_array().expect("a list").clone();
        agents.iter().map(|agent| (agent["agent"].as_str().unwrap().to_owned(), agent["lost"].is_null())).collect()
    };
    assert_eq!(agents(&summary), [("far".to_owned(), false), ("near".to_owned(), true)]);
    let line = format!("run oltp_read_only --connections 4 --events 40 --json --agents 2 --fleet {fleet}");
    assert_eq!(agents(&lab.does(&line).json()), [("far".to_owned(), true), ("near".to_owned(), true)]);
    run(plimsoll(lab.home(), "fleet down")).exits(0);
    for agent in [near, far] {
        agent.end().exits(0);
    }
}

#[test]
fn agents_on_other_machines_load_the_private_servers_of_a_lab_on_mariadb() {
    load_private_servers_from_elsewhere(Lab::mariadb());
}

#[test]
#[ignore = "the same on the other server: `make test-all`"]
fn agents_on_other_machines_load_the_private_servers_of_a_lab_on_mysql() {
    load_private_servers_from_elsewhere(Lab::mysql());
}

fn load_private_servers_from_elsewhere(lab: Option<Lab>) {
    let Some(lab) = lab else { return };
    let (Some(one), Some(two), Some(_)) = (Apart::new(), Apart::new(), servers::nats_server()) else { return };
    // What reaches a machine, and what Plimsoll is called there: with a home of its own.
    let elsewhere = servers::home();
    let script = |name: &str, text: String| {
        let path = elsewhere.path().join(name);
        write_script(&path, &format!("#!/bin/sh\n{text}\n"));
        path.display().to_string()
    };
    let places = format!("case $2 in one) n={};; *) n={};; esac", one.namespace(), two.namespace());
    let ssh = script("ssh", format!("{places}; exec nsenter $n sh -c \"$3\""));
    let (home, binary) = (elsewhere.path().join("home").display().to_string(), env!("CARGO_BIN_EXE_plimsoll"));
    let program = script("plimsoll", format!("PLIMSOLL_HOME={home} exec {binary} \"$@\""));
    let mut up = plimsoll(lab.home(), &format!("fleet up --hosts one,two --listen {}", free_at(&one.here)));
    up.args(["--ssh", &ssh, "--remote-plimsoll", &program]);
    let fleet = run(up).exits(0).out.trim().to_owned();
    let plan = |broker: &str| {
        let text = format!(
            "[workload]\nkind = \"oltp_read_write\"\ntables = 1\ntable_size = 1000\n[load]\nconnections = [4]\n\
             [fleet]\nbroker = \"{broker}\"\nagents = 2\nlisten = \"{}\"\n[trials]\nwarmup = \"0s\"\nmeasure = {{ events = 40 }}\n\
             rounds = 2\nnoisy_host = true\n",
            free_at(&one.here)
        );
        lab.plan("listening", &text)
    };
    lab.ends(&format!("lab {}", plan("nats://127.0.0.1:1").display()))
        .refuses(2, &["[fleet] listen", "plimsoll fleet up --hosts"]);
    lab.ends(&format!("lab {}", plan(&fleet).display())).exits(0);
    let recording = lab.recordings().pop().expect("a recording");
    let outcomes = outcomes(&recording);
    assert_eq!(outcomes.len(), 2, "all have ended");
    for outcome in outcomes {
        let agents = outcome["point"]["agents"].as_array().expect("a list");
        let carried = |agent: &Value| agent["transactions"].as_u64().expect("a number") > 0 && agent["lost"].is_null();
        assert!(agents.len() == 2 && agents.iter().all(carried), "{outcome}");
    }
    let secret = fs::read_to_string(lab.home().join("fleet/broker/lab.cnf")).expect("a login was made");
    let (_, password) = secret.trim().rsplit_once(' ').expect("it has a password");
    let notes = ["own.json", "broker/nats.conf", "broker/log"].map(|name| lab.home().join("fleet").join(name));
    let notes = notes.map(|path| fs::read_to_string(path).expect("it is there")).concat();
    assert!(!texts(&recording).contains(password) && !notes.contains(password), "no password is written elsewhere");
    run(plimsoll(lab.home(), "fleet down")).exits(0);
}

#[test]
fn the_manifest_for_kubernetes_is_a_job_and_has_nothing_that_is_none() {
    let text = shown("yaml");
    let written: Value = serde_saphyr::from_str(&text).expect("it is YAML");
    let job: Job = serde_json::from_value(written.clone()).expect("it is a Job");
    assert_eq!(serde_json::to_value(&job).expect("it is JSON"), written, "nothing in it is unknown to Kubernetes");
    let spec = job.spec.expect("a job has one");
    assert_eq!((spec.completion_mode.as_deref(), spec.completions), (Some("Indexed"), spec.parallelism));
    let pod = spec.template.spec.expect("a pod has one");
    let agent = &pod.containers[0];
    assert_eq!(agent.command.as_deref(), Some(&["plimsoll".to_owned(), "agent".to_owned()][..]));
    // Its words are those of our command line.
    let words: Vec<String> =
        agent.args.iter().flatten().map(|word| word.replace("$(JOB_COMPLETION_INDEX)", "0")).collect();
    let directory = servers::home();
    fs::write(directory.path().join("bench.cnf"), "[client]\n").expect("it can be written");
    let words = words.iter().map(|word| word.replace("/keys/", &format!("{}/", directory.path().display())));
    let mut command = plimsoll(directory.path(), "agent");
    command.args(words);
    run(command).refuses(2, &["the key", "load0.nk", "No such file"]);
}

#[test]
fn names_of_agents_that_something_else_starts_are_checked() {
    let home = servers::home();
    let refuses = |line: &str, words: &[&str]| drop(run(plimsoll(home.path(), line)).refuses(2, words));
    refuses("fleet up --names load[4-1] --listen localhost:1", &["load[4-1]", "names none"]);
    refuses("fleet up --names a.b --listen localhost:1", &["a.b", "letters, digits"]);
    refuses("fleet up --names load[1-4]", &["--listen"]);
    refuses("fleet up --listen localhost:1", &["--local"]);
    refuses("fleet up --names a --local 1 --listen localhost:1", &["--local"]);
}
