//! Which servers get the user's password: of the targets that a plan names, those that the user names as well.
//!
//! A plan may come from anybody, and so may the host in it. A password in `MYSQL_PWD` or an option file is for the
//! servers that the user means.

use crate::error::LabError;
use crate::error::refused;
use plimsoll_engine::endpoint::Password;
use plimsoll_plan::lab::Where;
use plimsoll_plan::target::{ListeningPlace, Target, Url};
use plimsoll_plan::{LabPlan, PlanError};

/// The user's password, and the servers that it is for.
#[derive(Clone, Debug, Default)]
pub struct Login {
    /// `None` if the user gave none.
    pub password: Option<Password>,
    /// Named on the command line or in the option file.
    pub places: Vec<ListeningPlace>,
    /// What the option file says about the server that it names: user, TLS.
    pub file: Option<Url>,
}

impl Login {
    /// Refuses targets that the password, if there is one, is not for.
    ///
    /// # Errors
    /// [`LabError::Plan`] with the line of the first; also for what is not a target.
    pub fn check(&self, plan: &LabPlan) -> Result<(), LabError> {
        let of_variants = plan.variants.iter().map(|variant| (variant.at("target"), variant.target.as_deref()));
        let of_rungs = plan.rungs.iter().map(|rung| {
            let at = rung.change.lines.get("target").unwrap_or(&rung.at);
            (at.clone(), rung.change.target.as_deref())
        });
        let targets = of_variants.chain(of_rungs).filter_map(|(at, target)| Some((at, target?)));
        targets.into_iter().try_for_each(|(at, target)| self.may_have(at, target).map(|_| ()))
    }

    /// The server of this target and the password that it gets: none if the user has none.
    ///
    /// # Errors
    /// As [`Login::check`].
    pub fn of(&self, target: &str) -> Result<(Url, Password), LabError> {
        self.may_have(Where::default(), target)
    }

    fn may_have(&self, at: Where, target: &str) -> Result<(Url, Password), LabError> {
        let Target::External(url) = Target::parse(target)? else {
            return Err(refused(at, PlanError::value("target", target, "the URL of a server").to_string()));
        };
        let place = url.place();
        match &self.password {
            None => Ok((self.completed(url), Password::default())),
            Some(password) if self.places.contains(&place) => Ok((self.completed(url), password.clone())),
            Some(_) => {
                let problem = format!(
                    "target: your password would go to {place}, which only the plan names; if it is meant for that \
                     server, add --password-for {place}, otherwise run without MYSQL_PWD, --defaults-file and --ask-password"
                );
                Err(refused(at, problem))
            }
        }
    }

    /// What the URL leaves open is taken from the option file, if that is about this server. For how the connection is
    /// protected, the file takes precedence over the plan.
    pub(crate) fn completed(&self, url: Url) -> Url {
        match &self.file {
            Some(file) if file.place() == url.place() => {
                let protected = Url { user: url.user.clone(), database: url.database.clone(), ..file.clone() };
                protected.or(&url).or(file)
            }
            _ => url,
        }
    }
}
