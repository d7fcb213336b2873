//! A client's option file, named by `--defaults-file`: its `[client]` section.

use crate::error::PlanError;
use crate::target::{Url, database_name};
use std::path::PathBuf;

/// What the `[client]` section says. Options of other programs are ignored: the file is shared.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct ClientSection {
    pub url: Url,
    pub password: Option<String>,
    /// Whether the file names its server: a `host` or a `socket`.
    pub names_server: bool,
}

/// Reads the text of an option file; `file` names it in errors.
pub fn parse(text: &str, file: &str) -> Result<ClientSection, PlanError> {
    let mut client = ClientSection::default();
    let mut ours = false;
    for (number, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with(['#', ';', '!']) {
            continue;
        }
        if let Some(section) = line.strip_prefix('[') {
            ours = section.trim_end_matches(']').trim() == "client";
            continue;
        }
        if ours {
            let problem =
                |problem: String| PlanError::DefaultsFile { file: file.to_owned(), line: number + 1, problem };
            option(&mut client, line).map_err(problem)?;
        }
    }
    Ok(client)
}

fn option(client: &mut ClientSection, line: &str) -> Result<(), String> {
    let (name, given) = match line.split_once('=') {
        Some((name, value)) => (name.trim(), Some(unquoted(value.trim()))),
        None => (line, None),
    };
    let value = given.clone().unwrap_or_default();
    client.names_server |= ["host", "socket"].contains(&name);
    let url = &mut client.url;
    match name.replace('_', "-").as_str() {
        "user" => url.user = Some(value),
        "password" => client.password = Some(value),
        "host" => url.host = value,
        "port" => url.port = value.parse().map_err(|_| format!("port `{value}` is not a number from 1 to 65535"))?,
        "socket" => url.socket = Some(PathBuf::from(value)),
        "database" => url.database = Some(database_name(&value).map_err(|error| error.to_string())?),
        option => drop(url.protect(option, given.as_deref()).map_err(|error| error.to_string())?),
    }
    Ok(())
}

fn unquoted(value: &str) -> String {
    let quoted = |quote| value.strip_prefix(quote).and_then(|value: &str| value.strip_suffix(quote));
    quoted('"').or_else(|| quoted('\'')).unwrap_or(value).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_client_section_counts() {
        let text = "[mysqld]\nport=1\n[client]\n# comment\nuser = bench\npassword=\"p#1\"\nhost=db\nport=3307\nskip-foo\n[mysql]\nuser=x\n";
        let client = parse(text, "my.cnf").unwrap();
        assert_eq!(client.url.user.as_deref(), Some("bench"));
        assert_eq!(client.password.as_deref(), Some("p#1"));
        assert_eq!((client.url.host.as_str(), client.url.port), ("db", 3307));
    }

    #[test]
    fn what_protects_the_connection_is_read() {
        let text = "[client]\nssl_mode = VERIFY_CA\nssl-ca=/ca.pem\nget-server-public-key\nserver_public_key_path='/key.pem'\n";
        let url = parse(text, "my.cnf").unwrap().url;
        assert_eq!((url.ssl_mode.as_deref(), url.ssl_ca), (Some("verify-ca"), Some(PathBuf::from("/ca.pem"))));
        assert_eq!(url.server_public_key_path, Some(PathBuf::from("/key.pem")));
        assert_eq!(url.get_server_public_key, Some(true), "it stands alone");
        for (value, on) in [("1", true), ("TRUE", true), ("off", false), ("0", false)] {
            let url = parse(&format!("[client]\nget-server-public-key={value}\n"), "my.cnf").unwrap().url;
            assert_eq!(url.get_server_public_key, Some(on), "{value}");
        }
        let error = parse("[client]\nget-server-public-key=perhaps\n", "my.cnf").err().unwrap().to_string();
        assert!(error.starts_with("my.cnf, line 2: ") && error.contains("true or false"), "{error}");
    }

    #[test]
    fn an_error_names_file_and_line() {
        let error = parse("[client]\nport=many\n", "my.cnf").err().unwrap().to_string();
        assert_eq!(error, "my.cnf, line 2: port `many` is not a number from 1 to 65535");
    }
}
