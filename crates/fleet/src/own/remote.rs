//! Agents on other machines, started and tidied up over ssh(1).

use super::broker::{self, AgentSecrets};
use super::lab_access;
use crate::error::FleetError;
use plimsoll_host::random;
use plimsoll_model::text::shell_word;
use plimsoll_plan::broker::BrokerAddress;
use plimsoll_plan::listen::ListenAddress;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// What the directory of an agent begins with; nothing else is ever removed on another machine.
const DIRECTORY: &str = "plimsoll-agent.";

/// How other machines are reached.
#[derive(Clone, Debug)]
pub struct RemoteAccess {
    /// The command and its options: `ssh -o BatchMode=yes`.
    pub ssh: Vec<String>,
    /// What Plimsoll is called there.
    pub program: String,
    pub listen: ListenAddress,
}

impl RemoteAccess {
    /// Starts an agent on `host` in a directory there that nobody else has made. Its key and its login go there on standard
    /// input, never on a command line.
    ///
    /// # Errors
    /// The machine cannot be reached, or does not begin; then nothing is left there.
    pub fn start(
        &self,
        host: &str,
        name: &str,
        directory: &str,
        broker: &Path,
        words: &[String],
    ) -> Result<(), FleetError> {
        let failed = |why: String| FleetError::Environment(format!("{host}: {why}"));
        check_host(host)?;
        let secrets = broker::of_agent(broker, name).map_err(|error| failed(error.to_string()))?;
        let AgentSecrets { seed, password, authority } = secrets;
        let own = |file: &str| PathBuf::from(format!("{directory}/{file}"));
        let address = BrokerAddress::secured(&self.listen, &own("agent.nk"), &own("ca.pem")).to_string();
        let words: Vec<String> = words.iter().map(|word| shell_word(word)).collect();
        let script = format!(
            "set -e; umask 077; d={d}; command -v {program} > /dev/null || {{ echo 'there is no '{program} >&2; exit 127; }}; \
             mkdir \"$d\"; trap 'rm -rf \"$d\"' EXIT; IFS= read -r seed; IFS= read -r password; \
             printf '%s\\n' \"$seed\" > \"$d/agent.nk\"; cat > \"$d/ca.pem\"; \
             printf '[client]\\nuser = {user}\\npassword = %s\\n' \"$password\" > \"$d/{login}\"; \
             setsid {program} agent --fleet {address} --name {name} --lab-login \"$d/{login}\" {words} < /dev/null \
             > \"$d/log\" 2>&1 & echo $! > \"$d/pid\"; trap - EXIT",
            d = shell_word(directory),
            program = shell_word(&self.program),
            user = lab_access::USER,
            login = lab_access::FILE,
            address = shell_word(&address),
            words = words.join(" "),
        );
        let said = ask(&self.ssh, host, &script, &format!("{}\n{password}\n{authority}", seed.trim()))
            .map_err(|error| failed(error.to_string()))?;
        if said.status.success() { Ok(()) } else { Err(failed(last_line(&said))) }
    }
}

/// A directory for an agent on another machine, of a name that nobody has used.
///
/// # Errors
/// The operating system's.
pub fn new_directory() -> io::Result<String> {
    Ok(format!("/tmp/{DIRECTORY}{}", random::hex(8)?))
}

/// The last that an agent there said.
pub fn last_of(ssh: &[String], host: &str, directory: &str) -> Option<String> {
    let script = format!("tail -n 1 {}", shell_word(&format!("{directory}/log")));
    let said = ask(ssh, host, &script, "").ok().filter(|_| is_ours(directory))?;
    Some(String::from_utf8_lossy(&said.stdout).trim().to_owned()).filter(|line| !line.is_empty())
}

/// Ends the agent of a directory, if it has not ended, and removes the directory.
///
/// # Errors
/// The machine cannot be reached.
pub fn remove(ssh: &[String], host: &str, directory: &str) -> Result<(), FleetError> {
    if !is_ours(directory) {
        return Ok(());
    }
    // Its command line names the directory: nobody else's number is taken for its.
    let script = format!(
        "d={}; p=$(cat \"$d/pid\" 2> /dev/null); \
         if [ -n \"$p\" ] && tr '\\0' ' ' < \"/proc/$p/cmdline\" 2> /dev/null | grep -qF \"$d/\"; then kill \"$p\"; sleep 1; \
         kill -9 \"$p\" 2> /dev/null; fi; rm -rf -- \"$d\"",
        shell_word(directory)
    );
    let said = ask(ssh, host, &script, "");
    match said {
        Ok(said) if said.status.success() => Ok(()),
        Ok(said) => Err(FleetError::Environment(format!("{host}: {}", last_line(&said)))),
        Err(error) => Err(FleetError::Environment(format!("{host}: {error}"))),
    }
}

fn ask(ssh: &[String], host: &str, script: &str, input: &str) -> io::Result<Output> {
    let [program, options @ ..] = ssh else { return Err(io::Error::other("no ssh is named")) };
    let mut command = Command::new(program);
    command.args(options).arg("--").arg(host).arg(format!("sh -c {}", shell_word(script)));
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        // One that is gone already says why.
        let _ = stdin.write_all(input.as_bytes());
    }
    child.wait_with_output()
}

/// What an agent on this host is called: as the host, without what no name has.
pub fn name_of(host: &str) -> String {
    let host = host.rsplit('@').next().unwrap_or_default();
    host.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect()
}

/// A host is a word that no program takes for an option.
fn check_host(host: &str) -> Result<(), FleetError> {
    let is_plain = host.chars().all(|c| c.is_ascii_alphanumeric() || "._-@:[]".contains(c));
    match is_plain && host.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '[') {
        true => Ok(()),
        false => Err(FleetError::Refused(format!("{host:?} is no host that ssh reaches"))),
    }
}

fn is_ours(directory: &str) -> bool {
    let name = Path::new(directory).file_name().and_then(|name| name.to_str());
    directory.starts_with('/') && !directory.contains("..") && name.is_some_and(|name| name.starts_with(DIRECTORY))
}

fn last_line(said: &Output) -> String {
    let text = String::from_utf8_lossy(&said.stderr).into_owned();
    text.lines().last().map_or_else(|| format!("ssh ended with {}", said.status), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_words_and_directories_are_ours() {
        for host in ["db1", "bench@db1.example", "10.0.0.7"] {
            assert_eq!(check_host(host), Ok(()));
        }
        for host in ["", "-oProxyCommand=x", "a b", "a;b", "$(x)"] {
            assert!(check_host(host).is_err(), "{host}");
        }
        assert_eq!(name_of("bench@db1.example"), "db1-example");
        for directory in ["", "/", "/tmp", "plimsoll-agent.x", "/tmp/../plimsoll-agent.x", "/tmp/x\n/plimsoll-agent."] {
            assert_eq!(is_ours(directory), directory.ends_with("\n/plimsoll-agent."), "{directory}");
        }
        assert!(is_ours("/tmp/plimsoll-agent.Ab3"));
        let new = new_directory().unwrap();
        assert!(is_ours(&new) && new != new_directory().unwrap(), "{new}");
    }
}
