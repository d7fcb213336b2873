//! One transaction: its input is drawn, then the file of its kind sends it. Each of those files has the transaction up
//! to three times, by call style; all three do the same to the database.

mod delivery;
mod new_order;
mod order_status;
mod payment;
mod purge;
mod statement_sender;
mod stock_level;

use super::choices::{CallStyle, DeliveryMode, Fidelity, Pacing};
use super::counters::{Counter, TpccCounts};
use super::input::{Customer, HomeDistrict, Inputs};
use super::pacing::Pauses;
use super::parameters::TpccParameters;
use super::random::{Constants, Hotness, NAME_BYTES, append_last_name};
use super::statements::{TpccStatements, TransactionKind};
use super::texts::session_setup;
use plimsoll_engine::workload::Input;
use plimsoll_engine::{DeclaredWorkload, Failure, Session, Statement};
use plimsoll_load::recorder::End;
use plimsoll_load::seed::Rng;
use statement_sender::StatementSender;

/// Order entry with its parameters, on data of one seed, in a run of another.
#[derive(Clone, Debug)]
pub struct Tpcc {
    parameters: TpccParameters,
    constants: Constants,
    catalogue: TpccStatements,
    inputs: Inputs,
    pauses: Pauses,
    hot_items: Hotness,
    hot_customers: Hotness,
    hot_names: Hotness,
}

/// What a connection keeps.
#[derive(Debug, Default)]
pub struct TpccState {
    counts: TpccCounts,
    /// The last name under way.
    name: Vec<u8>,
    /// What a payment writes into `c_data`, or into `h_data`.
    data: Vec<u8>,
}

impl Tpcc {
    /// `load_seed` is that of the data, `None` if another tool loaded them; `run_seed` is that of the run.
    pub fn new(parameters: &TpccParameters, load_seed: Option<u64>, run_seed: u64) -> Tpcc {
        let constants = Constants::of_run(load_seed.unwrap_or_default(), run_seed);
        Tpcc {
            parameters: parameters.clone(),
            constants,
            catalogue: TpccStatements::new(parameters),
            inputs: Inputs::new(parameters, &constants),
            pauses: Pauses { scale: 1.0 },
            hot_items: constants.items().hotness(),
            hot_customers: constants.customers().hotness(),
            hot_names: constants.last_names().hotness(),
        }
    }

    /// Multiplies all pauses of terminals, for tests.
    pub fn with_time_scale(mut self, scale: f64) -> Tpcc {
        self.pauses.scale = scale;
        self
    }

    /// The constants of NURand in this run (clause 2.1.6).
    pub fn constants(&self) -> Constants {
        self.constants
    }

    pub fn parameters(&self) -> &TpccParameters {
        &self.parameters
    }

    fn is_compat(&self) -> bool {
        self.parameters.fidelity == Fidelity::Compat
    }

    fn style(&self) -> CallStyle {
        self.parameters.call_style
    }

    fn sender<'a>(&'a self, session: &'a mut Session, home: HomeDistrict) -> StatementSender<'a> {
        StatementSender::new(session, &self.catalogue, home.set)
    }

    /// Writes the last name of a customer who is given by it into the buffer, and counts how hot it, or the number, is.
    fn identify(&self, customer: Customer, state: &mut TpccState) {
        state.name.clear();
        match customer {
            Customer::Number(number) => {
                state.counts.access(Counter::CustomersHottest1, &self.hot_customers, number as u64);
            }
            Customer::Name(number) => {
                append_last_name(number, &mut state.name);
                state.counts.access(Counter::NamesHottest1, &self.hot_names, number);
            }
        }
    }

    /// The place, from 0, of the customer who is meant among `count` of one last name, ordered by first name: the
    /// middle one, rounded up (clause 2.5.2.2). The original takes one further where the number is even.
    fn middle(&self, count: usize) -> Option<usize> {
        let last = count.checked_sub(1)?;
        Some(if self.is_compat() { count / 2 } else { last / 2 })
    }

    async fn execute(
        &self,
        kind: TransactionKind,
        state: &mut TpccState,
        session: &mut Session,
        input: &mut Input,
    ) -> Result<End, Failure> {
        let home = self.inputs.home(kind, input);
        let (inputs, rng) = (&self.inputs, &mut input.rng);
        let mut sender = self.sender(session, home);
        match kind {
            TransactionKind::NewOrder => self.new_order(state, &mut sender, &inputs.new_order(home, rng)).await,
            TransactionKind::Payment => self.payment(state, &mut sender, &inputs.payment(home, rng)).await,
            TransactionKind::OrderStatus => {
                self.order_status(state, &mut sender, &inputs.order_status(home, rng)).await
            }
            // Accepted; its work comes as a transaction of its own (clause 2.7.2.1).
            TransactionKind::Delivery if self.parameters.delivery == DeliveryMode::Deferred => Ok(End::Queued),
            TransactionKind::Delivery | TransactionKind::DeferredDelivery => {
                self.delivery(state, &mut sender, &inputs.delivery(home, rng)).await
            }
            TransactionKind::StockLevel => self.stock_level(state, &mut sender, &inputs.stock_level(home, rng)).await,
            TransactionKind::Purge => self.purge(state, &mut sender, home).await,
        }
    }
}

impl DeclaredWorkload for Tpcc {
    type State = TpccState;

    fn statements(&self) -> Vec<Statement> {
        self.catalogue.statements().to_vec()
    }

    fn transactions(&self) -> &'static [&'static str] {
        &TransactionKind::NAMES
    }

    fn counters(&self) -> &'static [&'static str] {
        Counter::NAMES
    }

    fn session_setup(&self) -> Vec<String> {
        session_setup(&self.parameters)
    }

    fn terminals(&self) -> Option<u64> {
        let TpccParameters { pacing, warehouses, tables, .. } = self.parameters;
        (pacing == Pacing::Spec).then_some(warehouses * tables * super::input::TERMINALS)
    }

    fn pause_ns(&self, done: Option<Rng>, mut next: Rng, rng: &mut Rng) -> u64 {
        let next = self.inputs.kind(&mut next);
        match done {
            Some(mut done) => self.pauses.between(self.inputs.kind(&mut done), next, rng),
            None => self.pauses.first(next, |rng| self.inputs.kind(rng), rng),
        }
    }

    fn state(&self, _connection: usize, _connections: usize) -> TpccState {
        TpccState { counts: TpccCounts::default(), name: Vec::with_capacity(NAME_BYTES), data: Vec::with_capacity(512) }
    }

    async fn transaction(
        &self,
        state: &mut TpccState,
        session: &mut Session,
        input: &mut Input,
    ) -> Result<End, Failure> {
        let kind = if input.queued { TransactionKind::DeferredDelivery } else { self.inputs.kind(&mut input.rng) };
        input.transaction = kind as usize;
        state.counts.clear();
        let end = self.execute(kind, state, session, input).await?;
        state.counts.flush(session);
        Ok(end)
    }
}
