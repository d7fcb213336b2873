//! What the options of the MySQL driver say.

use crate::halt::Halt;
use crate::options::OptionSet;
use plimsoll_engine::endpoint::Password;
use plimsoll_engine::tls::{Mode, Tls};
use plimsoll_engine::{Address, Protocol};
use plimsoll_script::dialect::{IgnoredErrors, ServerList};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

/// Where a client looks for a server of this machine: Debian's place, then the servers' own.
const SOCKETS: [&str; 4] =
    ["/run/mysqld/mysqld.sock", "/var/run/mysqld/mysqld.sock", "/var/lib/mysql/mysql.sock", "/tmp/mysql.sock"];

/// The servers that connections are made to in turn.
///
/// # Errors
/// A port that is none, TLS that is none.
pub fn servers(options: &OptionSet, password: Option<String>) -> Result<ServerList, Halt> {
    let password = Some(options.text("mysql_password")).filter(|text| !text.is_empty()).map(str::to_owned).or(password);
    let (addresses, shown) = addresses(options)?.into_iter().unzip();
    Ok(ServerList {
        addresses,
        shown,
        user: options.text("mysql_user").to_owned(),
        password: Password(password.unwrap_or_default()),
        database: options.text("mysql_db").to_owned(),
        tls: Arc::new(tls(options)?),
        made: AtomicUsize::new(0),
    })
}

/// One for each socket, else for each port of each host. `localhost` is the socket of this machine's server, as it is for
/// every client of MySQL.
fn addresses(options: &OptionSet) -> Result<Vec<(Address, String)>, Halt> {
    let sockets = options.list("mysql_socket");
    if !sockets.is_empty() {
        let each = sockets.iter().map(|path| (Address::Unix(PathBuf::from(path)), format!("socket '{path}'")));
        return Ok(each.collect());
    }
    let mut addresses = Vec::new();
    for host in options.list("mysql_host") {
        for port in options.list("mysql_port") {
            let port = port.parse::<u16>().map_err(|_| Halt::Fatal(format!("Invalid value for mysql-port: {port}")))?;
            let address = match host.as_str() {
                "localhost" => Address::Unix(PathBuf::from(socket())),
                host => Address::Tcp { host: host.to_owned(), port },
            };
            addresses.push((address, format!("host '{host}', port {port}")));
        }
    }
    Ok(addresses)
}

fn socket() -> &'static str {
    SOCKETS.into_iter().find(|path| Path::new(path).exists()).unwrap_or(SOCKETS[0])
}

fn tls(options: &OptionSet) -> Result<Tls, Halt> {
    let authority = Some(options.text("mysql_ssl_ca")).filter(|path| !path.is_empty()).map(Path::new);
    let asked = options.text("mysql_ssl");
    let mode = match asked.to_ascii_lowercase().as_str() {
        "off" | "false" | "0" => Mode::Disabled,
        "on" | "true" | "1" | "" => Mode::Required,
        _ => Mode::parse(asked).ok_or_else(|| Halt::Fatal(format!("Invalid value for --mysql-ssl: '{asked}'")))?,
    };
    Tls::new(mode, authority).map_err(|failure| Halt::Fatal(failure.to_string()))
}

/// How statements are sent that a script prepares.
///
/// # Errors
/// A mode that is none.
pub fn protocol(options: &OptionSet) -> Result<Protocol, Halt> {
    match options.text("db_ps_mode") {
        "auto" => Ok(Protocol::Prepared),
        "disable" => Ok(Protocol::Text),
        other => Err(Halt::Fatal(format!("Invalid value for db-ps-mode: {other}"))),
    }
}

/// The errors after which events begin again.
///
/// # Errors
/// A number that is none.
pub fn ignored(options: &OptionSet) -> Result<IgnoredErrors, Halt> {
    let asked = options.list("mysql_ignore_errors");
    if asked.iter().any(|code| code == "all") {
        return Ok(IgnoredErrors::All);
    }
    let code = |text: &String| {
        text.parse().map_err(|_| Halt::Fatal(format!("Invalid value for --mysql-ignore-errors: '{text}'")))
    };
    asked.iter().map(code).collect::<Result<Vec<u16>, Halt>>().map(IgnoredErrors::These)
}
