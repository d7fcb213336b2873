//! The `oltp_*` tests without Lua: the same statements as their scripts send, by the workload that they are elsewhere.

use super::PreparedTest;
use crate::options::OptionSet;
use plimsoll_engine::catalogue::Catalogue;
use plimsoll_engine::executor::Slot;
use plimsoll_engine::workload::{Input, Who};
use plimsoll_engine::{Connector, Endpoint, Failure, LoadClient, Workload};
use plimsoll_load::recorder::End;
use plimsoll_script::dialect::Dialect;
use plimsoll_script::refusal::{self, Exchange, RefusedExchange};
use plimsoll_workloads::oltp::parameters::parameters;
use plimsoll_workloads::oltp::{Oltp, OltpKind, OltpParameters};
use std::rc::Rc;
use std::sync::Arc;

/// Those whose statements do not depend on what other runs have left.
const KINDS: [OltpKind; 9] = [
    OltpKind::ReadWrite,
    OltpKind::ReadOnly,
    OltpKind::WriteOnly,
    OltpKind::PointSelect,
    OltpKind::Delete,
    OltpKind::UpdateIndex,
    OltpKind::UpdateNonIndex,
    OltpKind::SelectRandomPoints,
    OltpKind::SelectRandomRanges,
];
/// A connection that cannot be made again is tried again after so long, as sysbench does it.
const VAIN_NS: u64 = 1_000_000;

pub struct NativeOltp {
    oltp: Oltp,
    dialect: Arc<Dialect>,
}

pub struct NativeState {
    oltp: <Oltp as Workload>::State,
    /// What the connection was made by, once there is one.
    made_by: Option<(Rc<Connector>, Rc<Slot>)>,
}

/// The workload of a test that comes with Plimsoll, and how its one server is reached; `None` where only the script does
/// what its options say.
pub fn of(prepared: &PreparedTest, options: &OptionSet) -> Option<(NativeOltp, Endpoint)> {
    let dialect = prepared.script.dialect.clone()?;
    let kind = OltpKind::from_name(prepared.name.as_deref()?).filter(|kind| KINDS.contains(kind))?;
    let is_plain = !dialect.is_dry && dialect.servers.addresses.len() == 1 && options.count("reconnect") == 0;
    if !is_plain {
        return None;
    }
    let known = parameters(kind).map(|spec| spec.name);
    let pairs = known.filter_map(|name| Some((name, options.as_typed(&name.replace('-', "_"))?)));
    let parameters = OltpParameters::parse(kind, pairs).ok()?;
    let endpoint = dialect.servers.endpoint(0).ok()?;
    Some((NativeOltp { oltp: Oltp::new(kind, &parameters), dialect }, endpoint))
}

impl NativeOltp {
    /// What sysbench prints where a thread cannot begin.
    fn tell_why(&self, failure: &Failure) {
        let why = match failure {
            // A statement of the workload's own.
            Failure::Setup(text) => {
                self.dialect.fatal("mysql_stmt_prepare() failed");
                self.dialect.fatal(&format!("MySQL error: {text}"));
                "SQL API error"
            }
            other => {
                if let RefusedExchange::Error(message, _) =
                    refusal::of(other, Exchange::Connect(0), Some(&self.dialect))
                {
                    refusal::tell(&self.dialect, &message, Exchange::Connect(0), "");
                }
                "connection creation failed"
            }
        };
        self.dialect.fatal(&format!("`thread_init' function failed: {why}"));
    }

    /// What follows from a failed attempt: the event begins again, perhaps on a new connection, or all is over.
    async fn again(
        &self,
        state: &mut NativeState,
        client: &mut <Oltp as Workload>::Client,
        failure: Failure,
    ) -> Result<(), Failure> {
        match refusal::of(&failure, Exchange::Execute, Some(&self.dialect)) {
            RefusedExchange::Error(_, true) if matches!(failure, Failure::Server(_)) => Ok(()),
            RefusedExchange::Error(_, true) => self.connect_again(state, client).await,
            RefusedExchange::Error(message, false) => {
                refusal::tell(&self.dialect, &message, Exchange::Execute, &client.last_statement());
                let state = String::from_utf8_lossy(&message.state);
                let text = format!("SQL error, errno = {}, state = '{state}': {}", message.code, message.text);
                self.dialect.fatal(&format!("`thread_run' function failed: {text}"));
                Err(Failure::Script(text))
            }
            _ => Err(failure),
        }
    }

    async fn connect_again(
        &self,
        state: &mut NativeState,
        client: &mut <Oltp as Workload>::Client,
    ) -> Result<(), Failure> {
        let Some((connector, slot)) = state.made_by.clone() else { return Err(Failure::Cancelled) };
        loop {
            match Workload::connect(&self.oltp, &mut state.oltp, &connector, &slot).await {
                Ok(again) => {
                    *client = again;
                    connector.meter.at(connector.meter.now_ns()).reconnected();
                    return Ok(());
                }
                Err(Failure::Cancelled) => return Err(Failure::Cancelled),
                Err(_) => {}
            }
            let reactor = &connector.reactor;
            if !reactor.sleep_until(&slot, reactor.now_ns() + VAIN_NS).await {
                return Err(Failure::Cancelled);
            }
        }
    }

    fn has_more_events(&self, state: &NativeState) -> bool {
        let Some((connector, _)) = &state.made_by else { return false };
        let now_ns = connector.meter.now_ns();
        self.dialect.budget.take(now_ns, connector.meter.at(now_ns).window())
    }

    fn put_event_back(&self, state: &NativeState) {
        let Some((connector, _)) = &state.made_by else { return };
        let now_ns = connector.meter.now_ns();
        self.dialect.budget.put_back(now_ns, connector.meter.at(now_ns).window());
    }
}

impl Workload for NativeOltp {
    type Client = <Oltp as Workload>::Client;
    type Shared = <Oltp as Workload>::Shared;
    type State = NativeState;

    /// sysbench prepares BEGIN and COMMIT too.
    fn catalogue(&self) -> Catalogue {
        Workload::catalogue(&self.oltp).preparing_all()
    }

    fn shared(&self) -> Self::Shared {
        Workload::shared(&self.oltp)
    }

    fn state(&self, shared: &Self::Shared, who: Who) -> Result<NativeState, Failure> {
        Ok(NativeState { oltp: Workload::state(&self.oltp, shared, who)?, made_by: None })
    }

    async fn connect(
        &self,
        state: &mut NativeState,
        connector: &Rc<Connector>,
        slot: &Rc<Slot>,
    ) -> Result<Self::Client, Failure> {
        state.made_by = Some((connector.clone(), slot.clone()));
        let made = Workload::connect(&self.oltp, &mut state.oltp, connector, slot).await;
        made.inspect_err(|failure| {
            if self.dialect.is_compatible {
                self.tell_why(failure);
            }
        })
    }

    async fn transaction(
        &self,
        state: &mut NativeState,
        client: &mut Self::Client,
        input: &mut Input,
    ) -> Result<End, Failure> {
        if !self.has_more_events(state) {
            return Ok(End::Stopped);
        }
        loop {
            match Workload::transaction(&self.oltp, &mut state.oltp, client, input).await {
                Ok(end) => return Ok(end),
                Err(failure) if self.dialect.is_compatible => self.again(state, client, failure).await?,
                Err(failure) => {
                    self.put_event_back(state);
                    return Err(failure);
                }
            }
        }
    }
}
