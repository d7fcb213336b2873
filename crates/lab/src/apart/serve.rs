//! The other side: makes the load that it is given, and tells what comes of it.

use super::told::{lines_of, tell};
use super::{Assignment, Question, ScriptText};
use crate::error::LabError;
use crate::load_spec::{drawn_from, spec_of};
use plimsoll_data::target::{external_endpoint, private_endpoint};
use plimsoll_engine::endpoint::Password;
use plimsoll_engine::{Endpoint, Run, RunSpec};
use plimsoll_load::source::LoadSource;
use plimsoll_script::last_event::LastEvent;
use plimsoll_script::vm::look_at;
use plimsoll_script::{Script, Scripted};
use plimsoll_workloads::distribution::Distribution;
use rustix::process::{Resource, Rlimit, setrlimit};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::os::fd::{AsFd, FromRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Serves the load that is asked for on the socket that is standard input, until it is told to finish.
///
/// # Errors
/// Nothing that can be served is asked for.
pub fn serve() -> Result<(), LabError> {
    let refused = |error: io::Error| LabError::Refused(format!("this command is for Plimsoll itself: {error}"));
    let mut outside = UnixStream::from(io::stdin().as_fd().try_clone_to_owned().map_err(refused)?);
    // A script that reads its standard input is not to read our orders.
    let nothing = File::open("/dev/null").map_err(refused)?;
    rustix::stdio::dup2_stdin(&nothing).map_err(|error| refused(error.into()))?;
    let mut orders = BufReader::new(outside.try_clone().map_err(refused)?);
    let mut line = String::new();
    orders.read_line(&mut line).map_err(refused)?;
    let assignment = match serde_json::from_str(&line).map_err(|error| refused(error.into()))? {
        Question::Load(assignment) => *assignment,
        Question::Look(text) => return look(text, &mut outside).map_err(refused),
    };
    let Served { mut run, page, drawn } = begin(assignment)?;
    let orders = lines_of(orders);
    tell(&mut run, &orders, &mut outside, |_| page.has_drawn(drawn.load(Ordering::Relaxed))).map_err(refused)?;
    LoadSource::finish(run);
    Ok(())
}

/// A load, and where it counts what outlives it.
struct Served {
    run: Run,
    page: Arc<LastEvent>,
    drawn: Arc<AtomicU64>,
}

fn begin(assignment: Assignment) -> Result<Served, LabError> {
    limit_memory(assignment.script.memory);
    let page = LastEvent::of(inherited(assignment.last_event)?)
        .map_err(|error| LabError::Environment(format!("the page of the last event: {error}")))?;
    let endpoint = endpoint(&assignment)?;
    let page = Arc::new(page);
    let Assignment { script, drawn, plan, point, ask, socket, .. } = assignment;
    let script = read(script, drawn_from(plan.params.iter())?);
    let drawn = Arc::new(AtomicU64::new(drawn));
    let scripted = Scripted { last_event: Some(page.clone()), ..Scripted::of(Arc::new(script), drawn.clone()) };
    let spec = spec_of(endpoint, socket.is_some(), &plan, &point);
    // It lasts as long as this process, which has one load.
    let ask = ask.map(|ask| &*Box::leak(ask.into_boxed_str()));
    Ok(Served { run: Run::begin(RunSpec { ask, ..spec }, Arc::new(scripted)), page, drawn })
}

/// Answers what is wrong with a script.
fn look(text: ScriptText, outside: &mut UnixStream) -> io::Result<()> {
    limit_memory(text.memory);
    let told = look_at(&read(text, Distribution::Uniform));
    writeln!(outside, "{}", serde_json::to_string(&told)?)
}

fn read(text: ScriptText, distribution: Distribution) -> Script {
    let ScriptText { name, text, directory, options, .. } = text;
    Script { directory, options, ..Script::from_text(&name, text, distribution) }
}

fn limit_memory(bytes: u64) {
    // Without it a script has the machine's memory, as it would have elsewhere.
    let _ = setrlimit(Resource::Data, Rlimit { current: Some(bytes), maximum: Some(bytes) });
}

#[allow(unsafe_code)]
fn inherited(descriptor: i32) -> Result<OwnedFd, LabError> {
    if descriptor <= 2 {
        return Err(LabError::Refused("no descriptor of a page was given".to_owned()));
    }
    // SAFETY: whoever started this process left it open for us alone; if it is not open, using it fails.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}

fn endpoint(assignment: &Assignment) -> Result<Endpoint, LabError> {
    let reached = match (&assignment.socket, &assignment.url) {
        (Some(socket), _) => private_endpoint(socket),
        (None, Some(url)) => external_endpoint(url, &assignment.user, Password(assignment.password.clone()))?,
        (None, None) => return Err(LabError::Refused(format!("{} cannot be reached", assignment.plan.target))),
    };
    Ok(Endpoint { database: Some(assignment.database.clone()), ..reached })
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_engine::password_key::PasswordKey;
    use plimsoll_engine::tls::Mode;
    use plimsoll_model::LoadPoint;
    use plimsoll_plan::{RunPlan, Url};
    use plimsoll_testkit::simulated::run_plan;

    #[test]
    fn what_protects_the_connection_is_handed_over() {
        let point = LoadPoint::closed(1);
        let url = Url {
            user: Some("bench".to_owned()),
            host: "127.0.0.1".to_owned(),
            ssl_mode: Some("required".to_owned()),
            get_server_public_key: Some(true),
            ..Url::default()
        };
        let script = Script::from_text("s.lua", Vec::new(), Distribution::Uniform);
        let assignment = Assignment {
            script: ScriptText::of(&script),
            drawn: 0,
            plan: RunPlan { target: url.describe(), ..run_plan(&[point]) },
            point,
            ask: None,
            socket: None,
            url: Some(url),
            user: "nobody".to_owned(),
            password: "secret".to_owned(),
            database: "sbtest".to_owned(),
            last_event: -1,
        };
        let told = serde_json::to_string(&Question::Load(Box::new(assignment))).unwrap();
        let Question::Load(mut heard) = serde_json::from_str::<Question>(&told).unwrap() else { panic!("{told}") };
        let reached = endpoint(&heard).unwrap();
        assert_eq!((reached.tls.mode, &reached.tls.key), (Mode::Required, &PasswordKey::Servers));
        assert_eq!((reached.user.as_str(), reached.password.0.as_str()), ("bench", "secret"));
        assert_eq!(reached.database.as_deref(), Some("sbtest"));
        heard.url = None;
        assert!(endpoint(&heard).is_err(), "a description is not enough");
    }
}
