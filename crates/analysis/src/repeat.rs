//! The command line that does the same again.

use plimsoll_model::number::tick;
use plimsoll_model::text::{each_once, shell_word};
use plimsoll_plan::lab::file::draft::{OF_CRASH, OF_TUNE};
use plimsoll_plan::lab::space::build::AskedSettings;
use plimsoll_plan::lab::tune::TuneSampler;
use plimsoll_plan::lab::{CrashRules, Storage, TuneRules, Variant, WarmUp};
use plimsoll_plan::plan::{ArrivalSpread, FleetPlan, Measure, script_of};
use plimsoll_plan::{LabPlan, RunPlan, StoragePlan};
use std::collections::BTreeSet;

/// What `--outage-limit` is where it is not given.
const OUTAGE_LIMIT_SECONDS: f64 = 30.0;

/// What a workload of this name lets one choose; nothing if there is none.
pub type ParametersOf = fn(&str) -> Vec<&'static str>;

/// Of a run, as `plimsoll run` or as `plimsoll quickstart`.
pub fn run(plan: &RunPlan, is_quickstart: bool, parameters_of: ParametersOf) -> String {
    let known = parameters_of(&plan.workload);
    let mut words = vec!["plimsoll".to_owned()];
    let mut option = |name: &str, value: String| words.push(option(name, &value));
    let connections = listed(plan.points.iter().map(|point| point.connections));
    let rates = listed(plan.points.iter().filter_map(|point| Some(point.rate?.to_string())));
    if is_quickstart {
        option("server", plan.target.strip_prefix("private:").unwrap_or("auto").to_owned());
    } else {
        option("target", plan.target.clone());
        plan.database.iter().for_each(|database| option("database", database.clone()));
    }
    option("connections", connections);
    if !rates.is_empty() {
        option("rate", rates);
    }
    if plan.points.iter().any(|point| point.rate.is_some()) && plan.arrivals == ArrivalSpread::Constant {
        option("arrivals", "constant".to_owned());
    }
    if plan.warmup_seconds > 0.0 && !is_quickstart {
        option("warmup", format!("{}s", plan.warmup_seconds));
    }
    match plan.measure {
        Measure::Seconds(seconds) => option("time", format!("{seconds}s")),
        Measure::Events(events) => option("events", events.to_string()),
        Measure::EventsPerConnection(events) => option("events-per-connection", events.to_string()),
    }
    if is_quickstart || plan.rounds != 1 {
        option("rounds", plan.rounds.to_string());
    }
    (plan.loops != 1).then(|| option("loops", plan.loops.to_string()));
    plan.fleet.iter().flat_map(of_fleet).for_each(|(name, value)| option(name, value));
    if is_quickstart {
        // The number of tables is its own.
        params(plan, &known)
            .filter(|(name, _)| name != "tables")
            .for_each(|(name, value)| option(&name, value.clone()));
    } else {
        option("protocol", plan.protocol.clone());
        if plan.outage_limit_seconds != OUTAGE_LIMIT_SECONDS {
            option("outage-limit", format!("{}s", plan.outage_limit_seconds));
        }
        if !plan.ignore_errors.is_empty() {
            option("ignore-errors", listed(plan.ignore_errors.iter()));
        }
        option("seed", plan.seed.to_string());
        if script_of(&plan.workload).is_some() {
            script_params(plan, parameters_of).for_each(|(name, value)| option(&name, value));
        } else {
            params(plan, &known).for_each(|(name, value)| option(&name, value.clone()));
        }
    }
    if plan.check {
        words.push("--check".to_owned());
    }
    let command =
        if is_quickstart { vec!["quickstart".to_owned()] } else { vec!["run".to_owned(), operand(&plan.workload)] };
    words.splice(1..1, command);
    words.join(" ")
}

/// Who makes the load.
fn of_fleet(fleet: &FleetPlan) -> Vec<(&'static str, String)> {
    // Where servers listen, the plan of a lab says.
    let FleetPlan { broker, agents, tolerate_lost, listen: _ } = fleet;
    let mut options = vec![("fleet", broker.to_string())];
    options.extend(agents.map(|agents| ("agents", agents.to_string())));
    options.extend((*tolerate_lost > 0).then(|| ("tolerate-lost", tolerate_lost.to_string())));
    options
}

/// Of a run as sysbench takes it. A password that was typed is not recorded.
pub fn sysbench(plan: &RunPlan) -> String {
    let typed = plan.params.iter().map(|(name, value)| (name.replace('_', "-"), value.clone()));
    let mut options: Vec<(String, String)> = typed.filter(|(name, _)| name != "rand-seed").collect();
    options.push(("rand-seed".to_owned(), plan.seed.to_string()));
    let mut words = vec!["plimsoll sysbench".to_owned(), operand(&plan.workload)];
    words.extend(options.iter().map(|(name, value)| shell_word(&format!("--{name}={value}"))));
    words.push("run".to_owned());
    words.join(" ")
}

/// Those of its parameters that the workload has, as options are called: the recording may be of anybody.
fn params<'a>(plan: &'a RunPlan, known: &'a [&'static str]) -> impl Iterator<Item = (String, &'a String)> {
    let named = plan.params.iter().map(|(name, value)| (name.replace('_', "-"), value));
    named.filter(move |(name, _)| known.contains(&name.as_str()))
}

/// Those of a script: what sysbench's workloads have too is an option, the others are set by their names.
fn script_params(plan: &RunPlan, parameters_of: ParametersOf) -> impl Iterator<Item = (String, String)> {
    let known = parameters_of("oltp_read_write");
    plan.params.iter().map(move |(name, value)| match known.contains(&name.as_str()) {
        true => (name.clone(), value.clone()),
        false => ("set".to_owned(), format!("{name}={value}")),
    })
}

/// An option with its value; in one word, if the value could be taken for another option.
fn option(name: &str, value: &str) -> String {
    match value.starts_with('-') {
        true => shell_word(&format!("--{name}={value}")),
        false => format!("--{name} {}", shell_word(value)),
    }
}

/// A word that is no option, whatever it begins with. Of what this leaves, only paths mean the same.
fn operand(text: &str) -> String {
    if text.starts_with('-') { shell_word(&format!("./{text}")) } else { shell_word(text) }
}

/// Of `plimsoll crash`.
fn crash(plan: &LabPlan, rules: &CrashRules, variant: &Variant) -> String {
    let mut own = vec![
        ("faults", listed(rules.faults.iter().map(|fault| fault.name()))),
        ("trials", rules.trials.to_string()),
        ("load", format!("{}s", rules.load_seconds)),
    ];
    own.extend(measured_seconds(plan).map(|seconds| ("time", seconds)));
    let keep = rules.keep.then(|| "--keep".to_owned());
    drafted("plimsoll crash", own, plan, variant).into_iter().chain(keep).collect::<Vec<_>>().join(" ")
}

/// Of `plimsoll tune`.
fn tune(plan: &LabPlan, rules: &TuneRules, variant: &Variant) -> String {
    let asked = (rules.seconds + rules.looked_seconds).round();
    let mut own = vec![("time", format!("{asked}s")), ("objective", rules.objective.name().to_owned())];
    own.extend(rules.keep.iter().map(|keep| ("keep", keep.text.clone())));
    own.extend(rules.recovery_seconds.map(|seconds| ("recovery", format!("{seconds}s"))));
    own.push(("decide", format!("{}%", tick(100.0 * rules.decide))));
    own.push(match &rules.settings {
        AskedSettings::Named(names) => ("settings", listed(names.iter())),
        AskedSettings::Top(most) => ("top", most.to_string()),
    });
    own.extend((rules.sampler == TuneSampler::Random).then(|| ("sampler", "random".to_owned())));
    own.extend(measured_seconds(plan).map(|seconds| ("measure", seconds)));
    if let WarmUp::Seconds(seconds) = plan.trials.warmup {
        own.push(("warmup", format!("{seconds}s")));
    }
    let switches = [("--in-memory", rules.in_memory), ("--noisy-host", plan.trials.noisy_host)];
    let given = switches.into_iter().filter(|(_, is_given)| *is_given).map(|(name, _)| name.to_owned());
    drafted("plimsoll tune", own, plan, variant).into_iter().chain(given).collect::<Vec<_>>().join(" ")
}

fn measured_seconds(plan: &LabPlan) -> Option<String> {
    match plan.trials.measure {
        Measure::Seconds(seconds) => Some(format!("{seconds}s")),
        Measure::Events(_) | Measure::EventsPerConnection(_) => None,
    }
}

/// Of a command that writes its plan itself, with the options that it alone has.
fn drafted(command: &str, own: Vec<(&str, String)>, plan: &LabPlan, variant: &Variant) -> Vec<String> {
    let mut words = vec![command.to_owned()];
    let mut option = |name: &str, value: &str| words.push(option(name, value));
    let workload = &variant.workload;
    match &workload.script {
        None => option("workload", &workload.kind),
        Some(script) => {
            option("workload", &format!("lua:{}", script.path.display()));
            option("data", &workload.kind);
        }
    }
    own.iter().for_each(|(name, value)| option(name, value));
    option("connections", &listed(variant.load.points.iter().map(|point| point.connections)));
    if let Storage::Lane(lane) = &variant.storage {
        option("lane", lane);
    }
    let files: BTreeSet<&str> =
        variant.config.iter().filter(|setting| setting.from_file).map(|setting| setting.at.file.as_str()).collect();
    files.into_iter().for_each(|file| option("config-file", file));
    let typed = variant.config.iter().filter(|setting| !setting.from_file);
    typed.for_each(|setting| option("set", &format!("{}={}", setting.name, setting.value)));
    plan.server.iter().for_each(|server| option("server", server));
    option("seed", &plan.seed.to_string());
    if !plan.trials.allow.is_empty() {
        option("allow", &listed(plan.trials.allow.iter().map(|class| class.name())));
    }
    workload.params.iter().for_each(|(name, value)| option(name, value));
    words
}

/// Of a lab; its plan need not be where it was.
pub fn lab(plan: &LabPlan) -> String {
    if plan.crash.as_ref().is_some_and(|rules| rules.again.is_some()) {
        return "plimsoll crash --repeat RECORDING --trial 1    # with the name of this recording".to_owned();
    }
    if let (OF_CRASH, Some(rules), [variant, ..]) = (plan.file.as_str(), &plan.crash, &plan.variants[..]) {
        return crash(plan, rules, variant);
    }
    if let (OF_TUNE, Some(rules), [variant, ..]) = (plan.file.as_str(), &plan.tune, &plan.variants[..]) {
        return tune(plan, rules, variant);
    }
    let mut words = vec![format!("plimsoll lab {}", operand(&plan.file))];
    words.extend(plan.preset.as_ref().map(|preset| option("preset", preset)));
    words.extend(plan.server.as_ref().map(|server| option("server", server)));
    words.push(format!("--seed {}", plan.seed));
    let command = words.join(" ");
    format!("# manifest.json of the recording holds the plan as it was resolved\n{command}")
}

/// Of a storage evaluation, from the plan of its manifest. That of a single test is not all there.
pub fn storage(plan: &StoragePlan) -> String {
    // What is not UTF-8 is shown, and means another directory.
    let mut words = vec![format!("plimsoll io {}", operand(&plan.directory.to_string_lossy()))];
    if plan.suite == "test" {
        words.push("--test …".to_owned());
    } else {
        words.push(option("suite", &plan.suite));
    }
    let probes = listed(plan.probes.iter());
    words.extend((!probes.is_empty()).then(|| option("probes", &probes)));
    words.extend(plan.data_bytes.map(|bytes| format!("--size {bytes}")));
    words.extend(plan.window_seconds.map(|seconds| format!("--time {seconds}s")));
    words.push(format!("--seed {}", plan.seed));
    words.join(" ")
}

/// `1,8,64`, each once, in their order.
fn listed<T: ToString>(values: impl Iterator<Item = T>) -> String {
    each_once(values.map(|value| value.to_string())).join(",")
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_plan::broker::BrokerAddress;

    use plimsoll_model::LoadPoint;
    use std::process::Command;

    /// As if these were the parameters of a workload, and there were no others.
    fn of(plan: &RunPlan, is_quickstart: bool) -> String {
        run(plan, is_quickstart, |workload| match workload {
            "oltp_read_write" => vec!["tables", "table-size", "mysql-storage-engine"],
            _ => Vec::new(),
        })
    }

    fn plan(target: &str) -> RunPlan {
        RunPlan {
            workload: "oltp_read_write".to_owned(),
            params: [("tables", "4"), ("table_size", "100")]
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .into(),
            target: target.to_owned(),
            database: None,
            points: [1, 8].map(|connections| LoadPoint { connections, rate: None }).to_vec(),
            arrivals: ArrivalSpread::Poisson,
            warmup_seconds: 2.0,
            measure: Measure::Seconds(10.0),
            rounds: 1,
            seed: 7,
            loops: 1,
            protocol: "prepared".to_owned(),
            outage_limit_seconds: 30.0,
            ignore_errors: Vec::new(),
            report_interval_seconds: 1,
            check: false,
            repeat_disturbed: false,
            fleet: None,
        }
    }

    #[test]
    fn options_of_a_script_are_set_by_their_names() {
        let params = [("rows", "5"), ("tables", "4"), ("words", "a b")];
        let plan = RunPlan {
            workload: "lua:my script.lua".to_owned(),
            params: params.map(|(name, value)| (name.to_owned(), value.to_owned())).into(),
            ..plan("private")
        };
        let line = of(&plan, false);
        assert!(line.starts_with("plimsoll run 'lua:my script.lua' --target private"), "{line}");
        assert!(line.ends_with("--set rows=5 --tables 4 --set 'words=a b'"), "{line}");
    }

    #[test]
    fn a_run_is_repeated_with_what_was_asked() {
        let line = of(&plan("mysql://u@h/db?socket=/tmp/my sock"), false);
        assert_eq!(
            line,
            "plimsoll run oltp_read_write --target 'mysql://u@h/db?socket=/tmp/my sock' --connections 1,8 --warmup 2s \
             --time 10s --protocol prepared --seed 7 --table-size 100 --tables 4"
        );
        let odd = RunPlan {
            database: Some("orders".to_owned()),
            rounds: 3,
            outage_limit_seconds: 5.0,
            ignore_errors: vec![1062, 1213],
            ..plan("private:mysql")
        };
        let line = of(&odd, false);
        assert!(
            line.starts_with("plimsoll run oltp_read_write --target private:mysql --database orders ")
                && line.contains("--time 10s --rounds 3 ")
                && line.contains("--outage-limit 5s --ignore-errors 1062,1213"),
            "{line}"
        );
    }

    #[test]
    fn a_load_of_agents_is_theirs_again() {
        let broker = BrokerAddress::parse("tls://b.example:4222?key=/k&ca=/c").expect("an address");
        let fleet = Some(FleetPlan { broker, agents: Some(4), tolerate_lost: 1, listen: None });
        let line = of(&RunPlan { fleet, ..plan("private") }, false);
        assert!(line.contains(" --fleet 'tls://b.example:4222?key=/k&ca=/c' --agents 4 --tolerate-lost 1 "), "{line}");
    }

    #[test]
    fn a_quickstart_is_a_quickstart() {
        let line = of(&RunPlan { report_interval_seconds: 0, ..plan("private:mysql") }, true);
        assert_eq!(line, "plimsoll quickstart --server mysql --connections 1,8 --time 10s --rounds 1 --table-size 100");
    }

    /// The words that a shell makes of a line.
    fn words(line: &str) -> Vec<String> {
        let script = line.replacen("plimsoll", "printf '%s\\0'", 1);
        let out = Command::new("sh").args(["-c", &script]).current_dir("/").output().expect("a shell");
        assert!(out.status.success() && out.stderr.is_empty(), "{line}: {out:?}");
        let text = String::from_utf8(out.stdout).expect("text");
        text.split_terminator('\0').map(str::to_owned).collect()
    }

    const EVIL: [&str; 6] =
        ["a'; touch /tmp/x; '", "$(id)`id`", "--allow-commands", "", "two\nlines \u{1b}[2J\u{202e}", "*~!#&|<>\"\\"];

    #[test]
    fn a_shell_gives_every_recorded_word_back() {
        for evil in EVIL {
            let mut of_run = plan(evil);
            of_run.protocol = evil.to_owned();
            of_run.database = Some(evil.to_owned());
            of_run.params.insert("mysql_storage_engine".to_owned(), evil.to_owned());
            let expected = |name: &str| match evil.starts_with('-') {
                true => vec![format!("--{name}={evil}")],
                false => vec![format!("--{name}"), evil.to_owned()],
            };
            let found = words(&of(&of_run, false));
            for name in ["target", "database", "protocol", "mysql-storage-engine"] {
                assert!(found.windows(expected(name).len()).any(|words| words == expected(name)), "{name}: {found:?}");
            }
            let options = found.iter().filter(|word| word.starts_with("--")).count();
            assert_eq!(options, 10, "nothing else is an option: {found:?}");
            let of_io = StoragePlan {
                directory: evil.into(),
                suite: evil.to_owned(),
                probes: vec![3, 4],
                ..StoragePlan::default()
            };
            let found = words(&storage(&of_io));
            let operand = if evil.starts_with('-') { format!("./{evil}") } else { evil.to_owned() };
            assert_eq!(found[..2], ["io".to_owned(), operand], "{found:?}");
            assert!(found.windows(expected("suite").len()).any(|words| words == expected("suite")), "{found:?}");
            assert_eq!(found[found.len() - 4..], ["--probes", "3,4", "--seed", "0"]);
        }
    }

    #[test]
    fn only_parameters_of_the_workload_are_pasted() {
        for evil in ["x; touch /tmp/x", "$(id)", "allow-commands", "warehouses", "tables=1 --target x", ""] {
            let mut forged = plan("private");
            forged.params.insert(evil.to_owned(), "1".to_owned());
            assert_eq!(of(&forged, false), of(&plan("private"), false), "{evil}");
            let unknown = RunPlan { workload: evil.to_owned(), ..forged };
            let found = words(&of(&unknown, false));
            assert_eq!(found[..2], ["run", evil]);
            assert!(!found.iter().any(|word| word.starts_with("--table")), "{found:?}");
        }
    }
}
