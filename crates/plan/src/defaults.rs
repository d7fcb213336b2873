//! A client's option file, named by `--defaults-file`: its `[client]` section.

use crate::error::PlanError;
use crate::option_file::{self, LineContent};
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

/// Reads the text of an option file; `file` names it in errors. Files that it includes are not read.
///
/// # Errors
/// [`PlanError::DefaultsFile`] with file and line for a value of ours that is not accepted, and for a line of the
/// section that is no option.
pub fn parse(text: &str, file: &str) -> Result<ClientSection, PlanError> {
    let mut client = ClientSection::default();
    let mut ours = false;
    for (line, _, content) in option_file::lines(text) {
        let problem = |problem: String| PlanError::DefaultsFile { file: file.to_owned(), line, problem };
        match content {
            LineContent::Group(name) => ours = name == "client",
            LineContent::Setting(name, value) if ours => option(&mut client, name, value).map_err(problem)?,
            // It may hold a password, so it is not shown.
            LineContent::Unreadable if ours => {
                return Err(problem("this line is no option; accepted is name or name = value".to_owned()));
            }
            LineContent::Setting(..) | LineContent::Include | LineContent::Unreadable => {}
        }
    }
    Ok(client)
}

fn option(client: &mut ClientSection, name: &str, given: Option<String>) -> Result<(), String> {
    let value = given.clone().unwrap_or_default();
    client.names_server |= ["host", "socket"].contains(&name);
    let url = &mut client.url;
    match name.replace('_', "-").as_str() {
        "user" => url.user = Some(value),
        // Alone on its line it names no password, as for the servers' own clients.
        "password" => client.password = given,
        "host" => url.host = value,
        "port" => url.port = value.parse().map_err(|_| format!("port `{value}` is not a number from 1 to 65535"))?,
        "socket" => url.socket = Some(PathBuf::from(value)),
        "database" => url.database = Some(database_name(&value).map_err(|error| error.to_string())?),
        option => drop(url.protect(option, given.as_deref()).map_err(|error| error.to_string())?),
    }
    Ok(())
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
    fn values_are_read_as_the_servers_own_clients_read_them() {
        let text = "[client] # ours\npassword = \"a#b\\\"c\" # the password\nhost = db # its server\n!include /x\n";
        let client = parse(text, "my.cnf").unwrap();
        assert_eq!((client.password.as_deref(), client.url.host.as_str()), (Some("a#b\"c"), "db"));
        let error = parse("[client]\nsecret word\n", "my.cnf").err().unwrap().to_string();
        assert_eq!(error, "my.cnf, line 2: this line is no option; accepted is name or name = value");
        assert!(parse("[mysqldump]\nsecret word\n", "my.cnf").is_ok(), "not our section");
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
    fn a_password_without_a_value_hides_no_other() {
        let password = |line: &str| parse(&format!("[client]\n{line}\n"), "my.cnf").unwrap().password;
        assert_eq!((password("password"), password("password=")), (None, Some(String::new())));
    }

    #[test]
    fn an_error_names_file_and_line() {
        let error = parse("[client]\nport=many\n", "my.cnf").err().unwrap().to_string();
        assert_eq!(error, "my.cnf, line 2: port `many` is not a number from 1 to 65535");
    }
}
