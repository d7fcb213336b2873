//! Names of agents that somebody else starts, as a list of hosts is written for Slurm: `load[1-4]`.

use crate::error::FleetError;
use crate::subject;

/// More agents than a fleet has.
const MOST: usize = 4096;

/// Names of agents, as somebody has written them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentNames(pub Vec<String>);

impl AgentNames {
    /// Reads `NAME`, or `NAME[FIRST-LAST]` for several.
    ///
    /// # Errors
    /// [`FleetError::Refused`] with what is accepted.
    pub fn parse(text: &str) -> Result<AgentNames, FleetError> {
        let names = match text.split_once('[') {
            None => vec![text.to_owned()],
            Some((before, range)) => {
                let refuse = || FleetError::Refused(format!("{text:?} is neither NAME nor NAME[FIRST-LAST]"));
                let (first, last) =
                    range.strip_suffix(']').and_then(|range| range.split_once('-')).ok_or_else(refuse)?;
                let (first, last): (usize, usize) = first.parse().ok().zip(last.parse().ok()).ok_or_else(refuse)?;
                if last < first || last - first >= MOST {
                    return Err(FleetError::Refused(format!("{text:?} names none, or more than {MOST} agents")));
                }
                (first..=last).map(|number| format!("{before}{number}")).collect()
            }
        };
        names.iter().try_for_each(|name| subject::check_name(name))?;
        Ok(AgentNames(names))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_all_names_in_it() {
        let names = |text: &str| AgentNames::parse(text).unwrap().0;
        assert_eq!(names("load[9-11]"), ["load9", "load10", "load11"]);
        assert_eq!((names("a-1"), names("a[0-0]")), (vec!["a-1".to_owned()], vec!["a0".to_owned()]));
        for none in ["", "a[", "a[1]", "a[2-1]", "a[1-99999]", "a[1-2", "a[1-2]b", "a.b", "[x-2]", "a[-1-2]"] {
            assert!(AgentNames::parse(none).is_err(), "{none}");
        }
    }
}
