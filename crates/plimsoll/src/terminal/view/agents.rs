//! The agents that make a load: what each carries now, and who is lost.

use super::super::line::{Style, TerminalLine};
use plimsoll_model::number::number;
use plimsoll_model::samples::AgentSample;
use std::collections::BTreeMap;

/// So many are named one by one.
const NAMED: usize = 4;

#[derive(Clone, Debug, Default)]
pub struct Agents {
    /// Transactions of its last second, and when that was; of one that is lost, why.
    last: BTreeMap<String, Result<(u64, u64), String>>,
}

impl Agents {
    pub fn add(&mut self, sample: &AgentSample) {
        let told = match &sample.lost {
            Some(why) => Err(why.clone()),
            None => Ok((sample.transactions, sample.t_ns)),
        };
        self.last.insert(sample.agent.clone(), told);
    }

    /// `None` where a load is made by this process.
    pub fn line(&self) -> Option<TerminalLine> {
        let carried: Vec<(&str, u64)> =
            self.last.iter().filter_map(|(agent, told)| Some((agent.as_str(), told.as_ref().ok()?.0))).collect();
        let lost: Vec<String> =
            self.last.iter().filter_map(|(agent, told)| Some(format!("{agent}: {}", told.as_ref().err()?))).collect();
        if self.last.is_empty() {
            return None;
        }
        let each: Vec<String> = match carried.len() {
            ..=NAMED => carried.iter().map(|(agent, rate)| format!("{agent} {}/s", number(*rate as f64, 0))).collect(),
            _ => {
                let rates = || carried.iter().map(|(_, rate)| *rate);
                let of = |rate: Option<u64>| number(rate.unwrap_or_default() as f64, 0);
                vec![format!("{} to {}/s each", of(rates().min()), of(rates().max()))]
            }
        };
        let unit = if carried.len() == 1 { "agent  " } else { "agents  " };
        let line = TerminalLine::quantity("load", &carried.len().to_string(), unit).with(Style::Dim, &each.join(" · "));
        Some(match lost.is_empty() {
            true => line,
            false => line.with(Style::Red, &format!("  lost: {}", lost.join("; "))),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::tty::Room;
    use super::*;

    fn agents(count: usize) -> Agents {
        let mut agents = Agents::default();
        for number in 1..=count {
            agents.add(&AgentSample {
                agent: format!("a{number}"),
                transactions: number as u64,
                ..AgentSample::default()
            });
        }
        agents
    }

    fn text(agents: &Agents) -> Option<String> {
        let room = Room { columns: 200, rows: 50, unicode: true };
        let words = |line: TerminalLine| line.rendered(room, false).split_whitespace().collect::<Vec<_>>().join(" ");
        agents.line().map(words)
    }

    #[test]
    fn few_are_named_and_many_are_a_range() {
        assert_eq!(text(&agents(0)), None);
        assert_eq!(text(&agents(2)).as_deref(), Some("load 2 agents a1 1/s · a2 2/s"));
        assert_eq!(text(&agents(64)).as_deref(), Some("load 64 agents 1 to 64/s each"));
    }

    #[test]
    fn one_that_is_lost_is_named_with_the_reason() {
        let mut agents = agents(2);
        agents.add(&AgentSample {
            agent: "a2".to_owned(),
            lost: Some("gone\u{1b}[2J".to_owned()),
            ..AgentSample::default()
        });
        let told = text(&agents).unwrap();
        assert!(told.starts_with("load 1 agent a1 1/s lost: a2: gone") && !told.contains('\u{1b}'), "{told:?}");
    }
}
