//! Targets: a private server, or the URL of an external one.

use crate::broker::written;
use crate::error::PlanError;
use percent_encoding::percent_decode_str;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::PathBuf;

const TARGET: &str = "private, private:mariadb, private:mysql, private:PATH, \
                      mysql://user@host:3306/database?ssl-mode=required or mysql://user@localhost/database?socket=/path";
const OPTIONS: &str = "the options socket=PATH, ssl-mode=MODE, ssl-ca=FILE, server-public-key-path=FILE and \
                       get-server-public-key=true";
const SSL_MODES: &str = "disabled, preferred, required, verify-ca or verify-identity";

/// A server to load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// The private server of this flavour: `auto`, `mariadb`, `mysql` or a path.
    Private(String),
    External(Url),
}

/// An external server. It contains no password.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Url {
    pub user: Option<String>,
    pub host: String,
    pub port: u16,
    pub socket: Option<PathBuf>,
    pub database: Option<String>,
    pub ssl_mode: Option<String>,
    pub ssl_ca: Option<PathBuf>,
    /// The server's RSA key, with which a password is encrypted if there is no TLS.
    pub server_public_key_path: Option<PathBuf>,
    /// Whether the key that the server itself sends is good enough for that.
    pub get_server_public_key: Option<bool>,
}

impl Default for Url {
    fn default() -> Url {
        Url {
            user: None,
            host: "localhost".to_owned(),
            port: 3306,
            socket: None,
            database: None,
            ssl_mode: None,
            ssl_ca: None,
            server_public_key_path: None,
            get_server_public_key: None,
        }
    }
}

impl Target {
    pub fn parse(text: &str) -> Result<Target, PlanError> {
        match text.split_once(':') {
            None if text == "private" => Ok(Target::Private("auto".to_owned())),
            Some(("private", choice)) if !choice.is_empty() => Ok(Target::Private(choice.to_owned())),
            Some(("mysql" | "mariadb", rest)) if rest.starts_with("//") => parse_url(text).map(Target::External),
            // It may be a mistyped URL with a password, so it is not echoed.
            _ if text.contains('@') => Err(PlanError::value("target", "(not shown)", TARGET)),
            _ => Err(PlanError::value("target", text, TARGET)),
        }
    }

    /// As it may be shown and recorded.
    pub fn describe(&self) -> String {
        match self {
            Target::Private(choice) if choice == "auto" => "private".to_owned(),
            Target::Private(choice) => format!("private:{choice}"),
            Target::External(url) => url.describe(),
        }
    }
}

/// Where a server listens: the server that a password is meant for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ListeningPlace {
    Tcp { host: String, port: u16 },
    Socket(PathBuf),
}

impl ListeningPlace {
    /// Reads `HOST`, `HOST:PORT`, `[ADDRESS]:PORT` or the path of a socket.
    ///
    /// # Errors
    /// [`PlanError::Value`].
    pub fn parse(text: &str) -> Result<ListeningPlace, PlanError> {
        if text.starts_with('/') {
            return Ok(ListeningPlace::Socket(PathBuf::from(text)));
        }
        // It is read as in a target, so that both name the same server.
        match Target::parse(&format!("mysql://{text}/")) {
            Ok(Target::External(url)) if url.user.is_none() && !text.is_empty() && !text.contains(['/', '?', '#']) => {
                Ok(url.place())
            }
            _ => Err(PlanError::value("server", text, "HOST, HOST:PORT or the path of a socket")),
        }
    }
}

impl fmt::Display for ListeningPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ListeningPlace::Tcp { host, port } if host.contains(':') => write!(f, "[{host}]:{port}"),
            ListeningPlace::Tcp { host, port } => write!(f, "{host}:{port}"),
            ListeningPlace::Socket(path) => path.display().fmt(f),
        }
    }
}

impl Url {
    /// Where its server listens; if there is a socket, that is what is connected to.
    pub fn place(&self) -> ListeningPlace {
        match &self.socket {
            Some(socket) => ListeningPlace::Socket(socket.clone()),
            None => ListeningPlace::Tcp { host: self.host.to_ascii_lowercase(), port: self.port },
        }
    }

    /// The ssl-mode that was chosen: whoever names an authority, and no mode, wants its certificates, as with MySQL's
    /// clients.
    pub fn chosen_ssl_mode(&self) -> Option<&str> {
        let of_authority = self.ssl_ca.as_ref().map(|_| "verify-ca");
        self.ssl_mode.as_deref().or(of_authority)
    }

    /// What it leaves open is taken from `other`, except the server's address.
    pub fn or(self, other: &Url) -> Url {
        let other = other.clone();
        Url {
            user: self.user.or(other.user),
            database: self.database.or(other.database),
            ssl_mode: self.ssl_mode.or(other.ssl_mode),
            ssl_ca: self.ssl_ca.or(other.ssl_ca),
            server_public_key_path: self.server_public_key_path.or(other.server_public_key_path),
            get_server_public_key: self.get_server_public_key.or(other.get_server_public_key),
            ..self
        }
    }

    /// As [`Target::parse`] reads it, without what protects the connection.
    pub fn describe(&self) -> String {
        let user = self.user.as_ref().map_or(String::new(), |user| format!("{user}@"));
        let host = if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() };
        let database = self.database.as_deref().unwrap_or_default();
        match &self.socket {
            Some(socket) => {
                format!("mysql://{user}{host}/{database}?socket={}", written(&socket.display().to_string()))
            }
            None => format!("mysql://{user}{host}:{}/{database}", self.port),
        }
    }

    /// Takes an option that protects the connection, its name with hyphens; false for any other. URLs and option files
    /// have the same ones, with the names of MySQL's clients. `None` is a switch without a value.
    ///
    /// # Errors
    /// A value that is not one of the accepted ones.
    pub(crate) fn protect(&mut self, option: &str, value: Option<&str>) -> Result<bool, PlanError> {
        let text = value.unwrap_or_default();
        match option {
            "ssl-mode" => self.ssl_mode = Some(ssl_mode(text)?),
            "ssl-ca" => self.ssl_ca = Some(PathBuf::from(text)),
            "server-public-key-path" => self.server_public_key_path = Some(PathBuf::from(text)),
            "get-server-public-key" => self.get_server_public_key = Some(switch("get-server-public-key", value)?),
            _ => return Ok(false),
        }
        Ok(true)
    }
}

fn parse_url(text: &str) -> Result<Url, PlanError> {
    let wrong = || PlanError::value("target", "(not shown)", TARGET);
    let parsed = url::Url::parse(text).map_err(|_| wrong())?;
    if parsed.password().is_some() {
        return Err(PlanError::PasswordInUrl);
    }
    let decoded =
        |text: &str| percent_decode_str(text).decode_utf8().map(|text| text.into_owned()).map_err(|_| wrong());
    let mut url = Url::default();
    if !parsed.username().is_empty() {
        url.user = Some(decoded(parsed.username())?);
    }
    if let Some(host) = parsed.host_str().filter(|host| !host.is_empty()) {
        url.host = decoded(host.trim_start_matches('[').trim_end_matches(']'))?;
    }
    url.port = parsed.port().unwrap_or(url.port);
    let database = decoded(parsed.path().trim_start_matches('/'))?;
    if !database.is_empty() {
        url.database = Some(database_name(&database)?);
    }
    for (name, value) in parsed.query_pairs() {
        match name.replace('_', "-").as_str() {
            "socket" => url.socket = Some(PathBuf::from(&*value)),
            "password" | "pwd" => return Err(PlanError::PasswordInUrl),
            option if url.protect(option, Some(&*value))? => {}
            _ => return Err(PlanError::value("option of the target", &name, OPTIONS)),
        }
    }
    Ok(url)
}

/// Checks the name of an ssl-mode; returns it in lower case with hyphens.
pub fn ssl_mode(text: &str) -> Result<String, PlanError> {
    let mode = text.to_ascii_lowercase().replace('_', "-");
    match mode.as_str() {
        "disabled" | "preferred" | "required" | "verify-ca" | "verify-identity" => Ok(mode),
        _ => Err(PlanError::value("ssl-mode", text, SSL_MODES)),
    }
}

/// A switch that MySQL's clients have: on if it has no value.
fn switch(name: &'static str, value: Option<&str>) -> Result<bool, PlanError> {
    match value.map(str::to_ascii_lowercase).as_deref() {
        None | Some("true" | "on" | "1") => Ok(true),
        Some("false" | "off" | "0") => Ok(false),
        Some(other) => Err(PlanError::value(name, other, "true or false")),
    }
}

/// Checks a database name: it is written into statements between backticks.
pub fn database_name(text: &str) -> Result<String, PlanError> {
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '$');
    if !text.is_empty() && text.len() <= 64 && text.chars().all(plain) {
        return Ok(text.to_owned());
    }
    Err(PlanError::value("database", text, "letters, digits, _, - and $, at most 64"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> Url {
        match Target::parse(text) {
            Ok(Target::External(url)) => url,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn private_targets() {
        assert_eq!(Target::parse("private"), Ok(Target::Private("auto".into())));
        assert_eq!(Target::parse("private:mysql"), Ok(Target::Private("mysql".into())));
        assert_eq!(Target::parse("private:/usr/sbin/mysqld"), Ok(Target::Private("/usr/sbin/mysqld".into())));
    }

    #[test]
    fn urls() {
        let full = url("mysql://bench%40x@db.example:3307/shop?ssl-mode=VERIFY_CA&ssl-ca=/ca.pem");
        assert_eq!(full.user.as_deref(), Some("bench@x"));
        assert_eq!((full.host.as_str(), full.port, full.database.as_deref()), ("db.example", 3307, Some("shop")));
        assert_eq!(full.ssl_mode.as_deref(), Some("verify-ca"));
        assert_eq!(full.ssl_ca, Some(PathBuf::from("/ca.pem")));
        let local = url("mysql://root@localhost/?socket=/run/my.sock");
        assert_eq!((local.socket, local.database), (Some(PathBuf::from("/run/my.sock")), None));
        assert_eq!(url("mysql://u@[::1]:3306/d").host, "::1");
    }

    #[test]
    fn one_that_is_described_is_the_same_again() {
        for (text, described) in [
            ("mysql://u@[fd00::5]/d", "mysql://u@[fd00::5]:3306/d"),
            ("mysql://[::1]:3307/", "mysql://[::1]:3307/"),
            ("mysql://u@db.example/d", "mysql://u@db.example:3306/d"),
            ("mysql://u@localhost/d?socket=/run/my.sock", "mysql://u@localhost/d?socket=/run/my.sock"),
            ("mysql://localhost/?socket=/a%20b/c%26d%25%2B%23", "mysql://localhost/?socket=/a%20b/c%26d%25%2B%23"),
        ] {
            assert_eq!(url(text).describe(), described);
            assert_eq!(url(described), url(text), "{described}");
        }
        assert_eq!(url("mysql://localhost/?socket=/a%2Bb").socket, Some(PathBuf::from("/a+b")));
    }

    #[test]
    fn what_protects_a_password_is_named_as_mysql_names_it() {
        let own = url("mysql://u@h/d?server-public-key-path=/key.pem&get-server-public-key=false");
        assert_eq!(own.server_public_key_path, Some(PathBuf::from("/key.pem")));
        assert_eq!(own.get_server_public_key, Some(false));
        assert_eq!(url("mysql://u@h/d?get_server_public_key=ON").get_server_public_key, Some(true));
        assert_eq!(url("mysql://u@h/d").get_server_public_key, None);
        let error = Target::parse("mysql://u@h/d?get-server-public-key=maybe").unwrap_err().to_string();
        assert!(error.contains("get-server-public-key") && error.contains("true or false"), "{error}");
        let both = own.or(&url("mysql://x@elsewhere/e?ssl-mode=required&get-server-public-key=true"));
        assert_eq!(
            (both.user.as_deref(), both.host.as_str(), both.get_server_public_key),
            (Some("u"), "h", Some(false))
        );
        assert_eq!(both.ssl_mode.as_deref(), Some("required"), "left open by the first");
    }

    #[test]
    fn an_authority_alone_asks_for_its_certificates() {
        let mode = |options: &str| url(&format!("mysql://u@h/d?{options}")).chosen_ssl_mode().map(str::to_owned);
        assert_eq!(mode("ssl-ca=/ca.pem").as_deref(), Some("verify-ca"));
        assert_eq!(mode("ssl-ca=/ca.pem&ssl-mode=verify-identity").as_deref(), Some("verify-identity"));
        assert_eq!(mode("ssl-mode=required&ssl-ca=/ca.pem").as_deref(), Some("required"));
        assert_eq!(mode("get-server-public-key=true"), None);
        let both = url("mysql://u@h/d?ssl-ca=/ca.pem").or(&url("mysql://u@h/d?ssl-mode=verify-identity"));
        assert_eq!(both.chosen_ssl_mode(), Some("verify-identity"), "a mode that is named anywhere counts");
    }

    #[test]
    fn one_that_is_handed_over_keeps_what_protects_it() {
        let whole = url("mysql://u@h/d?ssl-mode=verify-ca&ssl-ca=/ca.pem&get-server-public-key=false");
        let handed = serde_json::to_string(&whole).unwrap();
        assert_eq!(serde_json::from_str::<Url>(&handed).unwrap(), whole);
    }

    #[test]
    fn places_are_read_as_in_targets() {
        let of = |text: &str| url(text).place();
        for (place, target) in [
            ("db", "mysql://u@db/d"),
            ("DB.Example:3307", "mysql://db.example:3307/"),
            ("[::1]:3306", "mysql://[::1]/"),
            ("/run/my.sock", "mysql://localhost/?socket=/run/my.sock"),
        ] {
            assert_eq!(ListeningPlace::parse(place), Ok(of(target)), "{place}");
            assert_eq!(ListeningPlace::parse(&of(target).to_string()), Ok(of(target)));
        }
        assert_ne!(ListeningPlace::parse("localhost"), Ok(of("mysql://localhost/?socket=/run/my.sock")));
        assert_ne!(ListeningPlace::parse("db"), Ok(of("mysql://db:3307/")));
        for wrong in ["", "u@db", "db/x", "db:x", "db?socket=/x"] {
            assert!(ListeningPlace::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_password_is_refused_and_never_echoed() {
        for text in ["mysql://u:hunter2@h/d", "mysql://u@h/d?password=hunter2", "u:hunter2@h", "mysql://u:hunter2@h:x/"]
        {
            let error = Target::parse(text).unwrap_err().to_string();
            assert!(!error.contains("hunter2"), "{error}");
        }
        assert_eq!(Target::parse("mysql://u:hunter2@h/d"), Err(PlanError::PasswordInUrl));
    }

    #[test]
    fn wrong_targets_say_what_is_accepted() {
        for text in ["", "privat", "private:", "postgres://h/d", "mysql://h/d?colour=red", "mysql://h/a`b"] {
            let error = Target::parse(text).unwrap_err().to_string();
            assert!(error.contains("accepted is"), "{error}");
        }
    }
}
