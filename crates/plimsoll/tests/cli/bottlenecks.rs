//! Known bottlenecks of CPU, memory, threads and network, planted on real servers. Those of storage and locks are in
//! [`bottlenecks_storage`](crate::bottlenecks_storage).

use crate::harness::{Lab, run};
use plimsoll_advice::window::seen::SeenContext;
use plimsoll_model::Class;
use plimsoll_model::diagnosis::{Bottleneck, BottleneckVerdict, Diagnosis};
use plimsoll_testkit::groups::CpuGroup;
use plimsoll_testkit::proxy::DelayingProxy;
use plimsoll_testkit::servers::{skip, timed_run};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// Whatever else the machine is at may hide a bottleneck; it must never make another of it.
const TRIES: u32 = 3;
/// Of a shorter run rules say nothing, seconds.
const ADVISED: u32 = 6;
/// The proxy delays by so much each way.
const FAR: Duration = Duration::from_millis(40);
/// One table of ten thousand rows, which fits everywhere.
const SELECTS: &str = "oltp_point_select --tables 1 --table-size 10000";

/// What a report says of the first trial of a recording.
#[track_caller]
pub fn diagnosed(recording: &Path) -> Diagnosis {
    let view = plimsoll_record::read::open(recording).expect("the recording can be read");
    let recorded = plimsoll_analysis::recorded(&view, "", |_| Vec::new()).expect("the recording can be shown");
    let trial = recorded.trials.into_iter().next().expect("there is a trial");
    let found = trial.diagnosis.expect("it was measured");
    let shares: Vec<String> = found.candidates.iter().map(|c| format!("{:?} {:.2}", c.bottleneck, c.share)).collect();
    println!("{} {shares:?}", found.sentence);
    found
}

/// A planted bottleneck is named in one of a few tries, and none of them names another one; these rules of `plimsoll advise`
/// speak of it. Where others keep the machine busy all the time, those that look like a lack of CPU are not to be known, and
/// none where the machine does not let Plimsoll run.
#[track_caller]
pub fn names(lab: &Lab, planted: Bottleneck, rules: &[&str], mut tried: impl FnMut() -> Diagnosis) {
    let _alone = timed_run();
    let mut sentences = Vec::new();
    for _ in 0..TRIES {
        let found = tried();
        match found.verdict {
            BottleneckVerdict::Limited(named) if named == planted => return lab.calls_for(rules),
            BottleneckVerdict::NotClear => sentences.push(found.sentence),
            _ if did_not_run(&found.sentence) => sentences.push(found.sentence),
            _ => panic!("{planted:?} was planted: {found:#?}"),
        }
    }
    let looks_like_others = matches!(planted, Bottleneck::Client | Bottleneck::Cpu | Bottleneck::Threads);
    let is_disturbed = |sentence: &String| {
        did_not_run(sentence) || looks_like_others && sentence.contains("while other processes used")
    };
    match sentences.iter().all(is_disturbed) {
        true => skip(&format!("others keep this machine busy: {}", sentences[0])),
        false => panic!("{planted:?} was planted and not found: {sentences:#?}"),
    }
}

/// The load generator was stopped for most of the time: nothing was tried.
fn did_not_run(sentence: &str) -> bool {
    sentence.contains("did not run for")
}

impl Lab {
    /// What limited the last recording.
    #[track_caller]
    pub fn last_diagnosis(&self) -> Diagnosis {
        diagnosed(&self.recordings().pop().expect("there is a recording"))
    }

    /// The last recording calls for what these rules advise, where a crash may cost the last second and torn pages.
    #[track_caller]
    fn calls_for(&self, rules: &[&str]) {
        let view = plimsoll_record::read::open(&self.recordings().pop().expect("there is a recording"));
        let asked_for = SeenContext { allowed: [Class::D1, Class::D2].into(), ..SeenContext::default() };
        let advice = plimsoll_analysis::advice::advice(&view.expect("it can be read"), &asked_for)
            .expect("something was measured");
        let found = |rule: &&str| advice.findings.iter().any(|finding| finding.rule == *rule);
        assert!(rules.iter().all(found), "of {rules:?} all should speak: {advice:#?}");
    }

    /// A server that is up with these options, and its data.
    #[track_caller]
    fn serves(&self, options: &str) {
        self.up(options);
        self.does(&format!("load {SELECTS}"));
    }

    /// What limits the server that is up, with these words on the command line.
    #[track_caller]
    fn runs(&self, seconds: u32, words: &str) -> Diagnosis {
        self.runs_for(seconds, words, |command| command)
    }

    #[track_caller]
    fn runs_for(&self, seconds: u32, words: &str, how: impl FnOnce(Command) -> Command) -> Diagnosis {
        run(how(self.command(&format!("run {words} --warmup 500ms --time {seconds}s --json")))).exits(0);
        self.last_diagnosis()
    }

    /// What limits the variant of a plan.
    #[track_caller]
    fn plans(&self, text: &str) -> Diagnosis {
        let plan = self.plan("planted", text);
        self.does(&format!("lab {} --json", plan.display()));
        self.last_diagnosis()
    }

    fn server_pid(&self) -> u32 {
        let listed = self.does("server list --json").json();
        let state = listed[0]["state"].as_str().expect("a server is up").to_owned();
        state.rsplit(' ').next().and_then(|pid| pid.parse().ok()).unwrap_or_else(|| panic!("no pid in `{state}`"))
    }
}

/// What only helps where CPUs limit.
const OF_CPU: [&str; 2] = ["cpu.bound", "cpu.ahi"];
const OF_CPU_ON_MYSQL: [&str; 3] = ["cpu.bound", "cpu.ahi", "redo.writer-threads"];

/// The load generator has the other core.
fn a_server_on_one_core_is_limited_by_it(lab: &Lab, config: &str, rules: &[&str]) {
    let plan = format!(
        "cpus = [1]\nclient_cpus = [0]\n{config}\
         [workload]\nkind = \"oltp_point_select\"\ntables = 1\ntable_size = 10000\n\
         [load]\nconnections = [16]\n\
         [trials]\nwarmup = \"500ms\"\nmeasure = \"6s\"\nrounds = 1"
    );
    names(lab, Bottleneck::Cpu, rules, || lab.plans(&plan));
}

#[test]
#[ignore = "takes half a minute; make test-all"]
fn a_server_on_one_core_is_limited_by_it_on_mariadb() {
    let Some(lab) = Lab::mariadb_alone() else { return };
    a_server_on_one_core_is_limited_by_it(&lab, "", &OF_CPU);
}

#[test]
#[ignore = "takes half a minute; make test-all"]
fn a_server_on_one_core_is_limited_by_it_on_mysql() {
    let Some(lab) = Lab::mysql_alone() else { return };
    // By itself MySQL has them where there are many CPUs.
    let config = "config = { innodb_log_writer_threads = \"ON\" }\n";
    a_server_on_one_core_is_limited_by_it(&lab, config, &OF_CPU_ON_MYSQL);
}

/// The server is up before, and so outside of the group.
fn a_load_generator_with_a_quota_is_the_limit(lab: &Lab) {
    let Some(group) = CpuGroup::of(0.15) else { return };
    lab.serves("");
    names(lab, Bottleneck::Client, &["client.bound"], || {
        lab.runs_for(ADVISED, &format!("{SELECTS} --connections 16"), |command| group.within(&command))
    });
}

#[test]
#[ignore = "takes half a minute; make test-all"]
fn a_load_generator_with_a_quota_is_the_limit_on_mariadb() {
    let Some(lab) = Lab::mariadb_alone() else { return };
    a_load_generator_with_a_quota_is_the_limit(&lab);
}

#[test]
#[ignore = "takes half a minute; make test-all"]
fn a_load_generator_with_a_quota_is_the_limit_on_mysql() {
    let Some(lab) = Lab::mysql_alone() else { return };
    a_load_generator_with_a_quota_is_the_limit(&lab);
}

fn a_server_with_a_quota_is_throttled(lab: &Lab) {
    let Some(group) = CpuGroup::of(0.2) else { return };
    lab.serves("");
    group.takes(lab.server_pid());
    names(lab, Bottleneck::Throttled, &["host.throttle"], || lab.runs(ADVISED, &format!("{SELECTS} --connections 16")));
}

#[test]
#[ignore = "takes half a minute; make test-all"]
fn a_server_with_a_quota_is_throttled_on_mariadb() {
    let Some(lab) = Lab::mariadb_alone() else { return };
    a_server_with_a_quota_is_throttled(&lab);
}

#[test]
#[ignore = "the same on the other server; make test-all"]
fn a_server_with_a_quota_is_throttled_on_mysql() {
    let Some(lab) = Lab::mysql_alone() else { return };
    a_server_with_a_quota_is_throttled(&lab);
}

/// The data almost fit into the file system's cache, but for a limit on what it and the server may use together: pages
/// are thrown out that are soon wanted again, from storage that is slow.
const SHORT_OF_MEMORY: &str = r#"
memory = "160M"
lane = "ext4,iops=800"
[server.config]
innodb_flush_method = "fsync"
innodb_buffer_pool_size = "16M"
innodb_log_buffer_size = "2M"
key_buffer_size = "8K"
aria_pagecache_buffer_size = "1M"
[workload]
kind = "oltp_point_select"
tables = 1
table_size = 600000
rand_type = "uniform"
[load]
connections = [16]
[trials]
warmup = "12s"
measure = "8s"
rounds = 1
"#;

#[test]
#[ignore = "builds a lane and fills a cache; make test-all"]
fn a_server_short_of_memory_is_limited_by_it_on_mariadb() {
    let Some(lab) = Lab::mariadb_alone() else { return };
    if !rustix::process::geteuid().is_root() {
        return skip("limiting memory and building lanes need root");
    }
    if !Path::new("/proc/pressure/memory").exists() {
        return skip("this kernel does not tell who waits for memory");
    }
    names(&lab, Bottleneck::Memory, &["mem.too-much"], || lab.plans(SHORT_OF_MEMORY));
}

#[test]
#[ignore = "takes half a minute; make test-all"]
fn a_pool_of_one_thread_is_the_limit_on_mariadb() {
    let Some(lab) = Lab::mariadb_alone() else { return };
    lab.serves("--set thread_handling=pool-of-threads --set thread_pool_size=1");
    // Threads are looked at once a second, and few looks do not count.
    names(&lab, Bottleneck::Threads, &["conc.limit"], || lab.runs(8, &format!("{SELECTS} --connections 16")));
}

/// The server listens on a socket, the load comes over TCP.
fn a_server_far_away_is_limited_by_the_network(lab: &Lab, seconds: u32, rules: &[&str]) {
    lab.serves("");
    let proxy = DelayingProxy::to(&lab.socket(), FAR);
    let target = format!("--target mysql://root@{}/sbtest?ssl-mode=disabled", proxy.address);
    names(lab, Bottleneck::Network, rules, || lab.runs(seconds, &format!("{SELECTS} --connections 8 {target}")));
}

#[test]
#[ignore = "takes half a minute; make test-all"]
fn a_server_far_away_is_limited_by_the_network_on_mariadb() {
    let Some(lab) = Lab::mariadb_alone() else { return };
    a_server_far_away_is_limited_by_the_network(&lab, 8, &[]);
}

#[test]
#[ignore = "takes half a minute; make test-all"]
fn a_server_far_away_is_limited_by_the_network_on_mysql() {
    let Some(lab) = Lab::mysql_alone() else { return };
    a_server_far_away_is_limited_by_the_network(&lab, ADVISED, &["net.round-trips"]);
}

/// A rate far below what it can carry.
fn a_server_with_room_is_blamed_for_nothing(lab: &Lab) {
    lab.serves("");
    let _alone = timed_run();
    let mut sentences = Vec::new();
    for _ in 0..TRIES {
        let found = lab.runs(3, &format!("{SELECTS} --connections 16 --rate 200"));
        match found.verdict {
            BottleneckVerdict::NotLimited => return,
            // What others take now and then may look like a rate that was not kept.
            BottleneckVerdict::NotClear => sentences.push(found.sentence),
            BottleneckVerdict::Limited(_) if did_not_run(&found.sentence) => sentences.push(found.sentence),
            BottleneckVerdict::Limited(_) => panic!("{found:#?}"),
        }
    }
    panic!("a server with room was never found to have it: {sentences:#?}");
}

#[test]
#[ignore = "wants the machine for itself; make test-all"]
fn a_server_with_room_is_blamed_for_nothing_on_mariadb() {
    let Some(lab) = Lab::mariadb_alone() else { return };
    a_server_with_room_is_blamed_for_nothing(&lab);
}

#[test]
#[ignore = "takes half a minute; make test-all"]
fn a_server_with_room_is_blamed_for_nothing_on_mysql() {
    let Some(lab) = Lab::mysql_alone() else { return };
    a_server_with_room_is_blamed_for_nothing(&lab);
}

/// Both share all cores, and both are at work: one of the two is the limit, or it is said that it is not clear.
fn a_closed_loop_on_shared_cores_is_limited_by_cpu(lab: &Lab) {
    lab.serves("");
    let _alone = timed_run();
    let found = lab.runs(3, &format!("{SELECTS} --connections 16"));
    let is_cpu = |bottleneck| matches!(bottleneck, Bottleneck::Cpu | Bottleneck::Client);
    match found.verdict {
        BottleneckVerdict::Limited(named) => assert!(is_cpu(named), "{found:#?}"),
        BottleneckVerdict::NotClear => assert!(is_cpu(found.candidates[0].bottleneck), "{found:#?}"),
        BottleneckVerdict::NotLimited => panic!("{found:#?}"),
    }
}

#[test]
#[ignore = "takes half a minute; make test-all"]
fn a_closed_loop_on_shared_cores_is_limited_by_cpu_on_mariadb() {
    let Some(lab) = Lab::mariadb_alone() else { return };
    a_closed_loop_on_shared_cores_is_limited_by_cpu(&lab);
}

#[test]
#[ignore = "takes half a minute; make test-all"]
fn a_closed_loop_on_shared_cores_is_limited_by_cpu_on_mysql() {
    let Some(lab) = Lab::mysql_alone() else { return };
    a_closed_loop_on_shared_cores_is_limited_by_cpu(&lab);
}
