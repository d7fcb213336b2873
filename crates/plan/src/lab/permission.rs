//! What a plan may do by itself, and what needs permission.
//!
//! A plan comes from a document, a colleague, a stranger. What it may make this machine do by itself is an allowlist:
//! servers that discovery finds or that the command line names, settings of [`crate::knowledge::allowed`], a few
//! environment variables. Everything else that it names needs permission, line by line.

use super::{Action, LabPlan, PlannedWorkload, Restore, Setting, Where};
use crate::broker::BrokerAddress;
use crate::knowledge::is_allowed;
use crate::target::Target;
use plimsoll_model::secrets::is_secret;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Servers that are searched for in `PATH` and the usual places.
const DISCOVERED: [&str; 3] = ["auto", "mariadb", "mysql"];

/// Environment variables that any plan may give its servers: how memory is allocated (mallopt(3), jemalloc(3), the
/// glibc manual on tunables), and language and time. None of them loads code; with [`names_no_path`] none names a file.
const VARIABLES: [&str; 13] = [
    "GLIBC_TUNABLES",
    "LANG",
    "LC_ALL",
    "MALLOC_ARENA_MAX",
    "MALLOC_ARENA_TEST",
    "MALLOC_CONF",
    "MALLOC_MMAP_MAX_",
    "MALLOC_MMAP_THRESHOLD_",
    "MALLOC_PERTURB_",
    "MALLOC_TOP_PAD_",
    "MALLOC_TRIM_THRESHOLD_",
    "TCMALLOC_MAX_TOTAL_THREAD_CACHE_BYTES",
    "TZ",
];

/// The parameter whose text goes into CREATE TABLE as it is.
const TABLE_OPTIONS: &str = "create-table-options";

/// What the command line says and a plan cannot say itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Given {
    /// `--server`.
    pub server: Option<String>,
    /// The broker of `--fleet`, or of the fleet that was begun here.
    pub broker: Option<BrokerAddress>,
}

impl Given {
    /// Whether this build may be run: discovery finds it, or the command line names it.
    pub fn may_run(&self, build: &str) -> bool {
        DISCOVERED.contains(&build) || self.server.as_deref() == Some(build)
    }
}

/// Something that is not done without permission, or not without a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    pub at: Where,
    /// What it belongs to: the `before` of a variant, say.
    pub of: String,
    pub what: Ask,
}

/// What the plan asks for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Ask {
    /// To run this with `sh -c`.
    Command(String),
    /// To ask a person, who says when it is done.
    Prompt(String),
    /// To run this script.
    Script(String),
    /// To run this program as a server.
    Program(String),
    /// To give this, `NAME=value`, to a server's environment.
    Variable(String),
    /// To start a server with this, `name = value`.
    Setting(String),
    /// To have the load made by agents at this broker, to whom we prove who we are.
    Broker(String),
}

impl Ask {
    /// Whether it needs `--allow-commands`; for a prompt, a person is enough.
    pub fn needs_permission(&self) -> bool {
        !matches!(self, Ask::Prompt(_))
    }
}

impl LabPlan {
    /// Everything that needs permission or a person: in `restore` and collectors, then in variants and rungs.
    /// It depends only on the plan's values, whether they were read from a file or from a recording.
    pub fn asks(&self, given: &Given) -> Vec<Asked> {
        let mut asking = Asking { given, all: Vec::new(), shared: BTreeSet::new() };
        if let Restore::Commands(commands) = &self.trials.restore {
            let at = self.variants.first().map(|variant| variant.at("trials.restore")).unwrap_or_default();
            commands.iter().for_each(|text| asking.add(&at, "`restore`", Ask::Command(text.clone())));
        }
        for collector in &self.collectors {
            let of = format!("collector `{}`", collector.name);
            asking.add(&collector.at, &of, Ask::Command(collector.command.clone()));
        }
        if let Some(fleet) = self.fleet.as_ref().filter(|fleet| given.broker.as_ref() != Some(&fleet.broker)) {
            // One without a key is on this machine, and learns nothing of us.
            let at = Where { file: self.file.clone(), line: 1 };
            let key = fleet.broker.key().map(|_| Ask::Broker(fleet.broker.to_string()));
            key.into_iter().for_each(|ask| asking.add(&at, "`[fleet]`", ask));
        }
        for variant in &self.variants {
            let name = &variant.name;
            asking.of(&Part {
                of: format!("`{name}`"),
                at: &|key| variant.at(key),
                build: Some(&variant.build),
                target: variant.target.as_deref(),
                env: &variant.env,
                config: &variant.config,
                actions: [("before", &variant.before), ("after", &variant.after)],
                workload: Some(&variant.workload),
            });
        }
        for rung in &self.rungs {
            let change = &rung.change;
            asking.of(&Part {
                of: format!("rung `{}`", rung.name),
                at: &|key| change.lines.get(key).unwrap_or(&rung.at).clone(),
                build: change.build.as_deref(),
                target: change.target.as_deref(),
                env: &change.env,
                config: &change.config,
                actions: [
                    ("before", change.before.as_deref().unwrap_or_default()),
                    ("after", change.after.as_deref().unwrap_or_default()),
                ],
                workload: change.workload.as_ref(),
            });
        }
        asking.all
    }
}

/// A variant or a rung.
struct Part<'p> {
    of: String,
    at: &'p dyn Fn(&str) -> Where,
    build: Option<&'p str>,
    target: Option<&'p str>,
    env: &'p BTreeMap<String, String>,
    config: &'p [Setting],
    actions: [(&'p str, &'p [Action]); 2],
    workload: Option<&'p PlannedWorkload>,
}

struct Asking<'g> {
    given: &'g Given,
    all: Vec<Asked>,
    /// What `[server]` says applies to all variants and is asked for once.
    shared: BTreeSet<(Where, Ask)>,
}

impl Asking<'_> {
    fn of(&mut self, part: &Part<'_>) {
        let Part { of, at, build, target, env, config, actions, workload } = part;
        if let Some(build) = build.filter(|build| !self.given.may_run(build)) {
            self.add(&at("build"), &format!("`build` of {of}"), Ask::Program(build.to_owned()));
        }
        // A file cannot have these, but a recording might.
        if let Some(Ok(Target::Private(build))) = target.map(Target::parse) {
            self.add(&at("target"), &format!("`target` of {of}"), Ask::Program(build));
        }
        for (name, value) in env.iter().filter(|(name, value)| !is_harmless(name, value)) {
            self.add(&at(&format!("env.{name}")), &format!("`env` of {of}"), Ask::Variable(format!("{name}={value}")));
        }
        for Setting { name, value, at, from_file } in *config {
            // A secret in an option file is left out.
            let reaches = !(*from_file && is_secret(name));
            if reaches && !is_allowed(name, value) {
                self.add(at, "the server", Ask::Setting(format!("{name} = {value}")));
            }
        }
        for (name, text) in workload.iter().flat_map(|workload| &workload.params) {
            if name.replace('_', "-") == TABLE_OPTIONS && !names_no_file(text) {
                let what = Ask::Setting(format!("{name} = {text}"));
                self.add(&at(&format!("workload.{name}")), &format!("`workload` of {of}"), what);
            }
        }
        if let Some(script) = workload.and_then(|workload| workload.script.as_ref()) {
            let path = script.path.display().to_string();
            self.add(&at("workload.script"), &format!("`workload` of {of}"), Ask::Script(path));
        }
        for (key, actions) in actions {
            for action in *actions {
                let what = match action {
                    Action::Command(text) => Ask::Command(text.clone()),
                    Action::Prompt(text) => Ask::Prompt(text.clone()),
                };
                self.add(&at(key), &format!("`{key}` of {of}"), what);
            }
        }
    }

    fn add(&mut self, at: &Where, of: &str, what: Ask) {
        let is_shared = !matches!(what, Ask::Command(_) | Ask::Prompt(_));
        if !is_shared || self.shared.insert((at.clone(), what.clone())) {
            self.all.push(Asked { at: at.clone(), of: of.to_owned(), what });
        }
    }
}

/// Whether options of CREATE TABLE put nothing into a file that they name. A server takes whole paths alone; without a
/// slash there is neither one nor a comment that hides a word.
fn names_no_file(options: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || " _=,.()'\"".contains(c);
    options.chars().all(plain) && !options.to_ascii_lowercase().contains("directory")
}

fn is_harmless(name: &str, value: &str) -> bool {
    VARIABLES.contains(&name) && names_no_path(name, value)
}

/// Whether the value consists of words and numbers only; those of a time zone have a slash between them.
fn names_no_path(name: &str, value: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '+' | '.' | ',' | ':' | '=' | '@');
    let words: Vec<&str> = if name == "TZ" { value.split('/').collect() } else { vec![value] };
    let is_word = |word: &&str| !word.is_empty() && word.chars().all(plain) && !word.contains("..");
    value.is_empty() || words.iter().all(is_word) && !(name == "TZ" && value.starts_with([':', '.']))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::file;

    const HEAD: &str = "name = \"a\"\nworkload.kind = \"oltp_read_only\"\n";

    /// `line: of: what` of everything that a plan asks for.
    fn asked(rest: &str, given: &Given) -> Vec<String> {
        let old = "[mysqld]\nplugin-load-add = evil.so\nport = 3306\nssl_key = /k\ninnodb_io_capacity = 5\n";
        let plan = file::read("p", &format!("{HEAD}{rest}"), file::PlanChoices::of_seed(1), &|_| Ok(old.to_owned()))
            .expect("a plan");
        let line = |Asked { at, of, what }: Asked| format!("{} {}: {of}: {what:?}", at.file, at.line);
        plan.asks(given).into_iter().map(line).collect()
    }

    #[test]
    fn builds_are_found_or_named_on_the_command_line() {
        let none = Given::default();
        for build in DISCOVERED {
            assert!(asked(&format!("server.build = \"{build}\""), &none).is_empty(), "{build}");
        }
        let evil = "server.build = \"./evil/mysqld\"";
        assert_eq!(asked(evil, &none), ["p 3: `build` of `base`: Program(\"./evil/mysqld\")"]);
        assert!(asked(evil, &Given { server: Some("./evil/mysqld".to_owned()), ..Given::default() }).is_empty());
        let rung = "[[rung]]\nname = \"r\"\nbuild = \"/x/mysqld\"\n";
        assert_eq!(asked(rung, &none), ["p 5: `build` of rung `r`: Program(\"/x/mysqld\")"]);
    }

    #[test]
    fn settings_are_asked_for_wherever_they_stand_and_once() {
        let none = Given::default();
        let found = asked(
            "[server]\nconfig = { plugin_dir = \"/tmp\" }\n[[variant]]\nname = \"a\"\nconfig_file = \"old.cnf\"\n\
             [[variant]]\nname = \"b\"\n[[rung]]\nname = \"r\"\nconfig = { init_file = \"x\", key_buffer_size = 8 }\n\
             [preset.small]\nserver.config.wsrep_provider = \"/x\"\n",
            &none,
        );
        let expected = [
            "p 4: the server: Setting(\"plugin_dir = /tmp\")",
            "old.cnf 2: the server: Setting(\"plugin_load_add = evil.so\")",
            "p 12: the server: Setting(\"init_file = x\")",
        ];
        assert_eq!(found, expected, "{found:#?}");
    }

    #[test]
    fn a_few_variables_are_allowed_where_they_name_no_path() {
        for (env, asks) in [
            ("MALLOC_ARENA_MAX = 2", false),
            ("MALLOC_CONF = \"narenas:2,dirty_decay_ms:0\"", false),
            ("MALLOC_CONF = \"prof:true,prof_prefix:/etc/x\"", true),
            ("TZ = \"Europe/Berlin\"", false),
            ("TZ = \":/etc/shadow\"", true),
            ("TZ = \"/etc/shadow\"", true),
            ("TZ = \"x/../../etc\"", true),
            ("LANG = \"../x\"", true),
            ("LD_PRELOAD = \"x.so\"", true),
            ("LD_LIBRARY_PATH = \"\"", true),
            ("PATH = \"x\"", true),
            ("malloc_conf = \"x\"", true),
        ] {
            assert_eq!(!asked(&format!("server.env = {{ {env} }}"), &Given::default()).is_empty(), asks, "{env}");
        }
    }

    #[test]
    fn options_of_tables_that_name_a_file_are_asked_for() {
        let none = Given::default();
        let of = |options: &str| asked(&format!("workload.create_table_options = \"{options}\""), &none);
        for plain in ["ROW_FORMAT=COMPRESSED KEY_BLOCK_SIZE=8", "COMPRESSION='zlib'", "PARTITION BY HASH(id)"] {
            assert!(of(plain).is_empty(), "{plain}");
        }
        let found = of("DATA DIRECTORY='/x'");
        let expected = "p 3: `workload` of `base`: Setting(\"create-table-options = DATA DIRECTORY='/x'\")";
        assert_eq!(found, [expected]);
        for text in ["data  Directory 'x'", "/*!50000 INDEX*/ x", "CONNECTION='mysql://h/d/t'", "ROW_FORMAT=FIXED; x"] {
            assert_eq!(of(text).len(), 1, "{text}");
        }
    }

    #[test]
    fn what_was_put_into_a_recording_is_asked_for_too() {
        let mut plan = file::read("p", HEAD, file::PlanChoices::of_seed(1), &|_| Err(String::new())).expect("a plan");
        plan.server = Some("/evil".to_owned());
        plan.variants[0].build = "/evil".to_owned();
        assert_eq!(plan.asks(&Given::default()).len(), 1, "a plan cannot say what the command line said");
        plan.variants[0].build = "evil".to_owned();
        assert_eq!(plan.asks(&Given::default()).len(), 1, "a file of the working directory");
        plan.variants[0].build = "auto".to_owned();
        plan.variants[0].target = Some("private:/evil".to_owned());
        assert_eq!(plan.asks(&Given::default()).len(), 1, "a target that is a program");
    }
}
