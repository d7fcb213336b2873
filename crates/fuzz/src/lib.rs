//! Inputs that nobody would write: packets, plans, option files, recordings and loads, changed at random and given to what has
//! to read them.
//!
//! Whatever is in an input, it is read or refused: nothing panics, hangs or takes all memory, and each [`target`] says
//! what else has to hold. An input is a pure function of target, seed and number, so that what was found is found again.
//! Nothing tells here which code an input has reached, as a fuzzer with a compiler of its own would be told; instead inputs
//! begin as whole ones, a [`corpus`], and changes ([`change`]) leave most of one whole.
//!
//! For development only: nothing that ships may depend on it. Begin with [`hunt`].

pub mod change;
pub mod corpus;
pub mod hunt;
pub mod target;
