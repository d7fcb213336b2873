//! The connections of a script's thread, by the numbers that the prelude knows them by.

use crate::held::Held;
use std::cell::RefCell;

enum Seat {
    Held(Box<Held>),
    /// It is in use, or the script has closed it.
    Empty,
    /// The server has gone away.
    Lost,
}

#[derive(Default)]
pub struct HeldConnections(RefCell<Vec<Seat>>);

impl HeldConnections {
    /// A further one: its number.
    pub fn add(&self, held: Box<Held>) -> usize {
        let mut seats = self.0.borrow_mut();
        seats.push(Seat::Held(held));
        seats.len() - 1
    }

    /// How many there have been.
    pub fn count(&self) -> usize {
        self.0.borrow().len()
    }

    /// Takes one to use it, or for good.
    pub fn take(&self, number: usize) -> Option<Box<Held>> {
        let mut seats = self.0.borrow_mut();
        let seat = seats.get_mut(number).filter(|seat| matches!(seat, Seat::Held(_)))?;
        match std::mem::replace(seat, Seat::Empty) {
            Seat::Held(held) => Some(held),
            _ => None,
        }
    }

    pub fn put(&self, number: usize, held: Box<Held>) {
        self.set(number, Seat::Held(held));
    }

    pub fn lose(&self, number: usize) {
        self.set(number, Seat::Lost);
    }

    fn set(&self, number: usize, now: Seat) {
        if let Some(seat) = self.0.borrow_mut().get_mut(number) {
            *seat = now;
        }
    }

    pub fn is_lost(&self, number: usize) -> bool {
        matches!(self.0.borrow().get(number), Some(Seat::Lost))
    }

    /// Does something with a connection that is at rest; `None` if it is closed.
    pub fn with<T>(&self, number: usize, task: impl FnOnce(&mut Held) -> T) -> Option<T> {
        match self.0.borrow_mut().get_mut(number)? {
            Seat::Held(held) => Some(task(held)),
            _ => None,
        }
    }

    /// Whether a transaction is open on one of them.
    pub fn in_transaction(&self) -> bool {
        self.0.borrow().iter().any(|seat| matches!(seat, Seat::Held(held) if held.in_transaction()))
    }
}
