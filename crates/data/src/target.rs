//! Opens a target: a private server is started if it is down, an external one is only connected to.

use crate::DataError;
use plimsoll_engine::control::Control;
use plimsoll_engine::endpoint::{Password, Resolved};
use plimsoll_engine::password_key::PasswordKey;
use plimsoll_engine::tls::{Mode, Tls};
use plimsoll_engine::{Address, Endpoint, Failure};
use plimsoll_host::{Home, facts};
use plimsoll_lanes::{Lane, LaneProcess, LaneSide};
use plimsoll_model::Build;
use plimsoll_model::Flavour;
use plimsoll_plan::listen::ListenAddress;
use plimsoll_plan::{Target, Url};
use plimsoll_server::Opening;
use plimsoll_server::find::{self, Selector};
use plimsoll_server::instance::PrivateServer;
use plimsoll_server::settings::baseline;
use plimsoll_server::{ServerError, Settings};
use plimsoll_watch::{Event, Watcher};
use plimsoll_wire::text::identifier;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

/// The database that is used if none is named.
pub const DATABASE: &str = "sbtest";

/// A target, with what is needed to log in.
#[derive(Clone, Debug)]
pub struct TargetSpec {
    pub target: Target,
    pub password: Password,
    /// Used if the URL names no user.
    pub default_user: String,
    /// Overrides the target's database.
    pub database: Option<String>,
    /// How another Plimsoll that finds the server in use is told who uses it.
    pub holder: String,
}

/// A target that answers.
pub struct OpenTarget {
    pub endpoint: Endpoint,
    pub control: Control,
    pub database: String,
    pub flavour: Flavour,
    pub version: String,
    /// Requested settings of a private server.
    pub settings: Settings,
    pub server: Option<PrivateServer>,
    /// Where agents on other machines reach a private server, if they do.
    pub listens: Option<ListenAddress>,
    /// The lane that its data are on, if that is known.
    pub lane: Option<Lane>,
    /// Of an external server: how it is reached and what protects that, which no description has.
    pub url: Option<Url>,
    described: String,
    /// Whether its database has been entered.
    entered: bool,
}

/// The private server that `choice` (`auto`, `mariadb`, `mysql`, a path) means: its build and its name.
pub fn private_server(choice: &str) -> Result<(Build, String), DataError> {
    let build = find::find(&choice.parse::<Selector>()?)?;
    let name = format!("default-{}", build.flavour);
    Ok((build, name))
}

impl OpenTarget {
    pub fn open(spec: &TargetSpec, home: &Home, watcher: &mut dyn Watcher) -> Result<OpenTarget, DataError> {
        OpenTarget::open_with(spec, home, |_| Ok(()), watcher)
    }

    /// The same, where `change` modifies the baseline of a private server.
    pub fn open_with(
        spec: &TargetSpec,
        home: &Home,
        change: impl FnOnce(&mut Settings) -> Result<(), ServerError>,
        watcher: &mut dyn Watcher,
    ) -> Result<OpenTarget, DataError> {
        match &spec.target {
            Target::Private(choice) => {
                let (build, name) = private_server(choice)?;
                let mut settings = baseline(&build, facts::memory_bytes());
                change(&mut settings)?;
                let server = open_private(home, &name, &build, &settings, &spec.holder, watcher)?;
                let endpoint = private_endpoint(server.socket());
                OpenTarget::connect(spec, endpoint, Some(server), settings)
            }
            Target::External(url) => {
                let endpoint = external_endpoint(url, &spec.default_user, spec.password.clone())?;
                OpenTarget::connect(spec, endpoint, None, Settings::default())
            }
        }
    }

    fn connect(
        spec: &TargetSpec,
        endpoint: Endpoint,
        server: Option<PrivateServer>,
        settings: Settings,
    ) -> Result<OpenTarget, DataError> {
        let control = Control::open(&endpoint).map_err(|failure| refused(&endpoint, &failure))?;
        let url = match &spec.target {
            Target::External(url) => Some(url.clone()),
            Target::Private(_) => None,
        };
        let named = url.as_ref().and_then(|url| url.database.clone());
        let database = spec.database.clone().or(named).unwrap_or_else(|| DATABASE.to_owned());
        Ok(OpenTarget {
            flavour: control.flavour(),
            version: control.version().to_owned(),
            endpoint,
            control,
            database,
            settings,
            server,
            listens: None,
            lane: None,
            url,
            described: spec.target.describe(),
            entered: false,
        })
    }

    /// The target for a private server that runs with these settings.
    ///
    /// # Errors
    /// If the login fails.
    pub fn of_server(server: PrivateServer, settings: Settings, database: &str) -> Result<OpenTarget, DataError> {
        let endpoint = private_endpoint(server.socket());
        let control = Control::open(&endpoint).map_err(|failure| refused(&endpoint, &failure))?;
        Ok(OpenTarget {
            flavour: control.flavour(),
            version: control.version().to_owned(),
            endpoint,
            control,
            database: database.to_owned(),
            settings,
            described: Target::Private(server.build().binary.display().to_string()).describe(),
            server: Some(server),
            listens: None,
            lane: None,
            url: None,
            entered: false,
        })
    }

    pub fn is_private(&self) -> bool {
        self.server.is_some()
    }

    /// In a form that may be shown.
    pub fn describe(&self) -> &str {
        &self.described
    }

    /// The endpoint with the database that load connections use.
    pub fn load_endpoint(&self) -> Endpoint {
        Endpoint { database: Some(self.database.clone()), ..self.endpoint.clone() }
    }

    /// Enters the database; false if there is none of that name.
    pub fn enter_database(&mut self) -> Result<bool, DataError> {
        match self.control.run(&format!("USE {}", identifier(&self.database))) {
            Ok(_) => {
                self.entered = true;
                Ok(true)
            }
            // Unknown database.
            Err(Failure::Server(message)) if message.code == 1049 => Ok(false),
            Err(failure) => Err(DataError::sql("choosing the database", &failure)),
        }
    }

    /// Opens the control connection again if it is gone: a proxy, `wait_timeout` or somebody's KILL may have closed it
    /// while it was idle. If that fails, whoever uses it next is told why it is gone.
    pub fn keep_control(&mut self) {
        if self.control.ping().is_ok() {
            return;
        }
        let endpoint = if self.entered { self.load_endpoint() } else { self.endpoint.clone() };
        if let Ok(control) = Control::open(&endpoint) {
            self.control = control.limited_as(&self.control);
        }
    }

    /// The server's last words, if it is ours and gone: its first complaint, or else its last lines.
    pub fn epitaph(&self) -> Option<String> {
        let server = self.server.as_ref()?;
        (!server.is_alive()).then(|| match self.complaint() {
            Some(words) => words,
            None => match server.error_log_tail(12) {
                tail if tail.is_empty() => "its error log is empty, or cannot be read".to_owned(),
                tail => format!("its error log has no error and ends with:\n{tail}"),
            },
        })
    }

    /// The first error that a private server has written to its log since it was ready, in words.
    pub fn complaint(&self) -> Option<String> {
        let line = self.server.as_ref()?.first_complaint()?;
        Some(format!("the first error in its error log: {line}"))
    }

    /// Whether its data lie on a network lane.
    pub fn is_on_a_network(&self) -> bool {
        self.lane.as_ref().is_some_and(Lane::is_on_a_network)
    }

    /// Which parts of the data's lane have died, in words; none if all are alive.
    pub fn broken_lane(&self) -> Option<String> {
        let lane = self.lane.as_ref()?;
        let part = |part: &&LaneProcess| {
            let side = match part.side {
                LaneSide::Server => "the storage server",
                LaneSide::Link => "the link",
                LaneSide::Client => "the client",
            };
            format!("{side} ({}, pid {})", part.program, part.pid)
        };
        let dead: Vec<String> = lane.dead_parts().iter().map(part).collect();
        (!dead.is_empty()).then(|| format!("{} of the lane {} died", dead.join(" and "), lane.name))
    }
}

fn open_private(
    home: &Home,
    name: &str,
    build: &Build,
    settings: &Settings,
    holder: &str,
    watcher: &mut dyn Watcher,
) -> Result<PrivateServer, DataError> {
    let opening = Opening::new(holder).watched_by(|step, since| {
        watcher.tell(Event::Server { step, since });
        if watcher.interrupted() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    Ok(PrivateServer::open(home, name, build, settings, opening)?)
}

/// How to log in to a private server: as root, over its socket, without a password.
pub fn private_endpoint(socket: &Path) -> Endpoint {
    Endpoint {
        address: Address::Unix(socket.to_owned()),
        resolved: Resolved::Unix(socket.to_owned()),
        user: "root".to_owned(),
        password: Password::default(),
        database: None,
        tls: Arc::new(Tls::disabled()),
        local_files: true,
    }
}

/// How to log in to an external server; `default_user` where its URL names none.
///
/// # Errors
/// [`DataError::Environment`] for a name that cannot be resolved, certificates and keys that cannot be read.
pub fn external_endpoint(url: &Url, default_user: &str, password: Password) -> Result<Endpoint, DataError> {
    let address = match &url.socket {
        Some(socket) => Address::Unix(socket.clone()),
        None => Address::Tcp { host: url.host.clone(), port: url.port },
    };
    let mode = url.chosen_ssl_mode().map_or(Some(Mode::default()), Mode::parse).unwrap_or_default();
    let setup = |failure: Failure| DataError::Environment(failure.to_string());
    Ok(Endpoint {
        resolved: address.resolve().map_err(setup)?,
        address,
        user: url.user.clone().unwrap_or_else(|| default_user.to_owned()),
        password,
        database: None,
        tls: Arc::new(
            Tls::new(mode, url.ssl_ca.as_deref()).map_err(setup)?.with_key(password_key(url).map_err(setup)?),
        ),
        local_files: true,
    })
}

/// The key in the file takes precedence over the one that the server sends, as in MySQL's clients.
fn password_key(url: &Url) -> Result<PasswordKey, Failure> {
    match (&url.server_public_key_path, url.get_server_public_key) {
        (Some(path), _) => PasswordKey::read(path),
        (None, Some(true)) => Ok(PasswordKey::Servers),
        (None, _) => Ok(PasswordKey::None),
    }
}

fn refused(endpoint: &Endpoint, failure: &Failure) -> DataError {
    let hint = match failure {
        Failure::Server(message) if message.code == 1045 => {
            "; the password comes from --defaults-file, MYSQL_PWD or --ask-password"
        }
        _ => "",
    };
    DataError::Environment(format!("cannot log in as `{}` at {}: {failure}{hint}", endpoint.user, endpoint.address))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_authority_that_is_named_is_asked() {
        let mode = |ssl_mode: Option<&str>| {
            let url = Url {
                host: "127.0.0.1".to_owned(),
                ssl_mode: ssl_mode.map(str::to_owned),
                ssl_ca: Some("/no/such/ca.pem".into()),
                ..Url::default()
            };
            external_endpoint(&url, "bench", Password::default()).map(|endpoint| endpoint.tls.mode)
        };
        assert!(matches!(mode(None), Err(DataError::Environment(why)) if why.contains("/no/such/ca.pem")));
        assert!(matches!(mode(Some("required")), Ok(Mode::Required)), "it was said that nobody is to be asked");
    }
}
