//! One value of a kind that is known only where it is used: of a parameter, or of a line of the sheet.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// Parameters by name, in snake_case.
pub type NamedScalars = BTreeMap<String, Scalar>;

/// True or false, a number or a word. A number is the same however it is written.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Scalar {
    Switch(bool),
    Count(u64),
    Number(f64),
    Text(String),
}

impl Scalar {
    /// The number, if it is a finite one.
    pub fn number(&self) -> Option<f64> {
        match self {
            Scalar::Count(count) => Some(*count as f64),
            Scalar::Number(number) => Some(*number).filter(|number| number.is_finite()),
            Scalar::Switch(_) | Scalar::Text(_) => None,
        }
    }

    /// The number, if it is a whole one without a sign.
    pub fn count(&self) -> Option<u64> {
        match self {
            Scalar::Count(count) => Some(*count),
            _ => None,
        }
    }

    /// The word, if it is one.
    pub fn text(&self) -> Option<&str> {
        match self {
            Scalar::Text(text) => Some(text),
            _ => None,
        }
    }

    pub fn switch(&self) -> Option<bool> {
        match self {
            Scalar::Switch(on) => Some(*on),
            _ => None,
        }
    }
}

impl PartialEq for Scalar {
    fn eq(&self, other: &Scalar) -> bool {
        match (self, other) {
            (Scalar::Switch(a), Scalar::Switch(b)) => a == b,
            (Scalar::Text(a), Scalar::Text(b)) => a == b,
            (Scalar::Count(a), Scalar::Count(b)) => a == b,
            _ => self.number().is_some() && self.number() == other.number(),
        }
    }
}

impl fmt::Display for Scalar {
    /// A word as it is, everything else as in JSON.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Scalar::Switch(on) => write!(f, "{on}"),
            Scalar::Count(count) => write!(f, "{count}"),
            // Debug writes `2.0` where Display writes `2`, as JSON does.
            Scalar::Number(number) => write!(f, "{number:?}"),
            Scalar::Text(text) => f.write_str(text),
        }
    }
}

impl From<bool> for Scalar {
    fn from(on: bool) -> Scalar {
        Scalar::Switch(on)
    }
}

impl From<u8> for Scalar {
    fn from(count: u8) -> Scalar {
        Scalar::Count(count.into())
    }
}

impl From<u32> for Scalar {
    fn from(count: u32) -> Scalar {
        Scalar::Count(count.into())
    }
}

impl From<u64> for Scalar {
    fn from(count: u64) -> Scalar {
        Scalar::Count(count)
    }
}

impl From<usize> for Scalar {
    fn from(count: usize) -> Scalar {
        Scalar::Count(count as u64)
    }
}

impl From<f64> for Scalar {
    fn from(number: f64) -> Scalar {
        Scalar::Number(number)
    }
}

impl From<&str> for Scalar {
    fn from(text: &str) -> Scalar {
        Scalar::Text(text.to_owned())
    }
}

impl From<String> for Scalar {
    fn from(text: String) -> Scalar {
        Scalar::Text(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_read_back_as_it_was_written() {
        for (value, json, shown) in [
            (Scalar::from(true), "true", "true"),
            (Scalar::from(u64::MAX), "18446744073709551615", "18446744073709551615"),
            (Scalar::from(2.0), "2.0", "2.0"),
            (Scalar::from(0.5), "0.5", "0.5"),
            (Scalar::from("a\"b"), "\"a\\\"b\"", "a\"b"),
        ] {
            assert_eq!(serde_json::to_string(&value).unwrap(), json);
            assert_eq!(serde_json::from_str::<Scalar>(json).unwrap(), value);
            assert_eq!(value.to_string(), shown);
        }
        for refused in ["null", "[1]", "{}"] {
            assert!(serde_json::from_str::<Scalar>(refused).is_err(), "{refused}");
        }
    }

    #[test]
    fn a_number_is_the_same_however_it_is_written() {
        assert_eq!(Scalar::from(2_u64), Scalar::from(2.0));
        assert_ne!(Scalar::from(2_u64), Scalar::from(2.5));
        assert_ne!(Scalar::from(1_u64), Scalar::from(true));
        assert_ne!(Scalar::from("1"), Scalar::from(1_u64));
        assert_ne!(Scalar::from(f64::NAN), Scalar::from(f64::NAN));
        // As floating-point numbers these are the same.
        assert_ne!(Scalar::from(u64::MAX), Scalar::from(u64::MAX - 1));
    }
}
