//! One round: two reads, or a read and an update, each of a row drawn independently.

use super::SmackKind;
use super::keys::{KeySource, key_query};
use super::parameters::SmackParameters;
use super::statements::{SmackRole, round, statements};
use crate::error::Error;
use plimsoll_engine::workload::Input;
use plimsoll_engine::{DeclaredWorkload, Failure, Session, Statement};
use plimsoll_load::recorder::End;
use plimsoll_load::seed::Rng;
use plimsoll_wire::Value;

/// A workload of the family with its parameters.
#[derive(Clone, Debug)]
pub struct Smack {
    kind: SmackKind,
    keys: KeySource,
}

/// The words of a connection.
#[derive(Debug, Default)]
pub struct SmackState {
    username: Vec<u8>,
    pass: Vec<u8>,
}

impl Smack {
    /// For data that were loaded with this seed, whose keys are therefore known.
    pub fn new(kind: SmackKind, parameters: &SmackParameters, seed: u64) -> Smack {
        Smack { kind, keys: KeySource::new(parameters, seed) }
    }

    /// The query for the keys of a table that super-smack loaded; its answer is for [`Smack::with_keys`].
    pub fn key_query(parameters: &SmackParameters) -> String {
        key_query(parameters.keys)
    }

    /// For data of unknown origin: `keys` is the one column of the answer to [`Smack::key_query`].
    ///
    /// # Errors
    /// There are no keys.
    pub fn with_keys(kind: SmackKind, keys: Vec<Vec<u8>>) -> Result<Smack, Error> {
        if keys.is_empty() {
            let (found, remedy) = ("a table http_auth without rows", "load it again, with at least one row");
            return Err(Error::Combination { workload: kind.name(), found: found.into(), remedy: remedy.into() });
        }
        Ok(Smack { kind, keys: KeySource::Listed(keys) })
    }

    /// How many rows can be requested.
    pub fn key_count(&self) -> u64 {
        self.keys.count()
    }

    /// Draws what a statement of `role` needs, in the order of its text.
    fn draw(&self, role: SmackRole, state: &mut SmackState, rng: &mut Rng) {
        if role == SmackRole::Update {
            self.keys.draw(rng, &mut state.pass);
        }
        self.keys.draw(rng, &mut state.username);
    }
}

impl DeclaredWorkload for Smack {
    type State = SmackState;

    fn statements(&self) -> Vec<Statement> {
        statements(self.kind)
    }

    fn state(&self, _connection: usize, _connections: usize) -> SmackState {
        SmackState::default()
    }

    async fn transaction(
        &self,
        state: &mut SmackState,
        session: &mut Session,
        input: &mut Input,
    ) -> Result<End, Failure> {
        let round = round(self.kind);
        for role in round {
            self.draw(*role, state, &mut input.rng);
            let username = Value::Bytes(&state.username);
            match role {
                SmackRole::Select => session.execute(*role as usize, &[username]).await?,
                SmackRole::Update => session.execute(*role as usize, &[Value::Bytes(&state.pass), username]).await?,
            };
        }
        Ok(End::Autocommit(round.len() as u64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn input(number: u64) -> Rng {
        Rng::new(1, 0, number)
    }

    #[test]
    fn the_two_words_of_an_update_are_independent() {
        let smack = Smack::new(SmackKind::UpdateSelect, &SmackParameters::default(), 1);
        let mut state = SmackState::default();
        let draws = 75_000u32;
        let mut same = 0;
        for number in 0..u64::from(draws) {
            smack.draw(SmackRole::Update, &mut state, &mut input(number));
            same += u32::from(state.pass == state.username);
        }
        // One in 750 is expected: 100, with a standard deviation of 10.
        assert!((55..145).contains(&same), "{same}");
    }

    #[test]
    fn equal_inputs_draw_equal_words() {
        let smack = Smack::new(SmackKind::UpdateSelect, &SmackParameters::default(), 1);
        let drawn = |number| {
            let mut state = SmackState::default();
            smack.draw(SmackRole::Update, &mut state, &mut input(number));
            (state.pass, state.username)
        };
        assert_eq!(drawn(3), drawn(3));
        assert_ne!(drawn(3), drawn(4));
    }

    #[test]
    fn keys_that_were_read_are_drawn_and_must_be_there() {
        let smack = Smack::with_keys(SmackKind::SelectKey, vec![b"abc1".to_vec(), b"def2".to_vec()]).expect("keys");
        assert_eq!(smack.key_count(), 2);
        let mut state = SmackState::default();
        smack.draw(SmackRole::Select, &mut state, &mut input(1));
        assert!([&b"abc1"[..], b"def2"].contains(&state.username.as_slice()));
        let error = Smack::with_keys(SmackKind::SelectKey, Vec::new()).expect_err("no keys");
        assert!(error.to_string().contains("smack_select_key cannot have a table http_auth without rows"), "{error}");
    }
}
