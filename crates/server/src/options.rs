//! The options that a build knows, from its own help screen, so that a misspelt one is refused before anything starts.
//!
//! Servers accept other names too: MariaDB accepts unambiguous beginnings of names, and ignores obsolete names with a
//! line in its error log. Neither are in the help screen, and neither are accepted here.

use crate::ServerError;
use crate::ask::{Bounds, ProgramOutput, ask};
use plimsoll_model::Build;
use std::collections::BTreeSet;
use std::time::Duration;

/// A program that takes longer for its help screen, or prints more, is not a server: theirs have 200 KiB.
const OF_HELP: Bounds = Bounds { time: Duration::from_secs(30), bytes: 4 << 20 };
/// How similar a name must be to be suggested, as a share of letters that agree (Damerau and Levenshtein).
const ALIKE: f64 = 0.7;
/// No option has a longer name, and the time of a comparison is the product of both lengths.
const LONGEST_NAME: usize = 128;
/// The most names that are suggested.
const OFFERED: usize = 3;
/// Prefixes of an option that is a switch.
const SWITCHES: [&str; 3] = ["skip_", "disable_", "enable_"];

/// The options of a build, named like variables: lower case, underscores.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BuildOptions {
    names: BTreeSet<String>,
}

/// Asks `build` for its help screen, which takes about 0.1 s. `plugins` are values of `plugin_load_add`; their options
/// are then known too.
///
/// # Errors
/// [`ServerError::NotAServer`] if it cannot be run, prints no options, or never stops printing.
pub fn known(build: &Build, plugins: &[&str]) -> Result<BuildOptions, ServerError> {
    let refuse = |found: String| ServerError::NotAServer { path: build.binary.clone(), found };
    let arguments = ["--no-defaults", "--user=root"].map(str::to_owned).into_iter();
    let arguments = arguments.chain(plugins.iter().map(|plugin| format!("--plugin-load-add={plugin}")));
    let arguments: Vec<String> = arguments.chain(["--verbose", "--help"].map(str::to_owned)).collect();
    let asked = ask(&build.binary, &arguments, OF_HELP);
    let ProgramOutput { text, status } =
        asked.map_err(|problem| refuse(format!("asked for `--verbose --help`, {problem}")))?;
    let options = BuildOptions::of_help(&text);
    match options.names.is_empty() {
        true => Err(refuse(format!("`--verbose --help` ended with {status} and listed no options"))),
        false => Ok(options),
    }
}

impl BuildOptions {
    /// Reads a help screen: first what each option does, then a table of their values.
    fn of_help(text: &str) -> BuildOptions {
        let mut described = text.lines();
        let options: Vec<&str> = described.by_ref().take_while(|line| !line.starts_with("----")).collect();
        let described = options.into_iter().filter_map(described_name);
        let table = text.lines().skip_while(|line| !line.starts_with("----")).skip(1);
        let valued = table.take_while(|line| !line.is_empty()).filter_map(|line| line.split_whitespace().next());
        BuildOptions { names: described.chain(valued).map(normal).collect() }
    }

    /// Whether an option file may have this name, `loose_` or not.
    pub fn accepts(&self, name: &str) -> bool {
        let name = normal(name);
        let name = name.strip_prefix("loose_").unwrap_or(&name);
        let switched =
            || SWITCHES.iter().any(|switch| name.strip_prefix(switch).is_some_and(|n| self.names.contains(n)));
        self.names.contains(name) || switched()
    }

    /// Names that may have been meant, the most likely first.
    pub fn nearest(&self, name: &str) -> Vec<&str> {
        let name = normal(name);
        if name.len() > LONGEST_NAME {
            return Vec::new();
        }
        let likeness = |known: &str| strsim::normalized_damerau_levenshtein(&name, known);
        let mut near: Vec<(f64, &str)> = self.names.iter().map(|known| (likeness(known), known.as_str())).collect();
        near.retain(|(likeness, _)| *likeness >= ALIKE);
        near.sort_by(|a, b| b.0.total_cmp(&a.0));
        near.into_iter().take(OFFERED).map(|(_, known)| known).collect()
    }

    /// All names, in order.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(String::as_str)
    }
}

/// The name in a line such as `  -a, --ansi` or `  --aria-log-file-size=#`.
fn described_name(line: &str) -> Option<&str> {
    let (before, after) = line.strip_prefix("  ")?.split_once("--")?;
    let option = before.is_empty() || before.len() == 4 && before.starts_with('-');
    let name = after.split(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '-' | '_' | '.')).next()?;
    (option && !name.is_empty()).then_some(name)
}

fn normal(name: &str) -> String {
    name.trim().to_ascii_lowercase().replace('-', "_")
}

#[cfg(test)]
mod tests {
    use super::*;

    const HELP: &str = "\
mysqld  Ver 9.7.4 for Linux
--no-defaults           Don't read default options from any option file,

  -a, --ansi          Use ANSI SQL syntax instead of MySQL syntax. This mode
                      will also set transaction isolation level --something.
  --innodb-doublewrite[=name] 
  --innodb-buffer-pool-size=# 
                      The size
  --log-bin[=name]    Configures the name prefix

Variables (--variable-name=value)
and boolean options {FALSE|TRUE}          Value (after reading options)
----------------------------------------- -------------
innodb-buffer-pool-size                   134217728
mysqlx                                    ON

To see what values a running MySQL server is using, type
";

    #[test]
    fn names_stand_in_both_parts_of_the_help_screen() {
        let options = BuildOptions::of_help(HELP);
        let names: Vec<&str> = options.iter().collect();
        assert_eq!(names, ["ansi", "innodb_buffer_pool_size", "innodb_doublewrite", "log_bin", "mysqlx"]);
        for name in ["Innodb-Doublewrite", "skip_innodb_doublewrite", "loose_mysqlx", "loose-skip-log-bin"] {
            assert!(options.accepts(name), "{name}");
        }
        for name in ["innodb_doublewrit", "loose_innodb_dblwr", "skip_", "something", ""] {
            assert!(!options.accepts(name), "{name}");
        }
    }

    #[test]
    fn what_was_meant_is_offered() {
        let options = BuildOptions::of_help(HELP);
        assert_eq!(options.nearest("innodb-bufer-pool_size"), ["innodb_buffer_pool_size"]);
        assert_eq!(options.nearest("zzz"), [""; 0]);
    }
}
