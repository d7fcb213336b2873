//! What the agents of a load say against its numbers: those that were lost, those that were busy themselves.

use super::{CLIENT_BUSY, NEAR_CEILING, PointCaveat};
use plimsoll_model::summary::{AgentPoint, Point};
use plimsoll_model::text::each_once;

/// An agent that others keep busy by more than this many CPUs is not alone.
const FOREIGN: f64 = 0.5;

/// What they say against a load point.
pub fn of_agents(point: &Point) -> Vec<PointCaveat> {
    let mut caveats: Vec<PointCaveat> = lost(point).into_iter().collect();
    caveats.extend(busiest(
        point,
        "client_bound",
        |agent| agent.loops_busy.filter(|busy| *busy > CLIENT_BUSY),
        |agent, share| format!("the loops of the agent {agent} were busy {share} of the time"),
        "add agents, or --loops",
    ));
    caveats.extend(busiest(
        point,
        "near_ceiling",
        |agent| agent.of_ceiling.filter(|share| *share > NEAR_CEILING),
        |agent, share| format!("the agent {agent} ran at {share} of its own ceiling"),
        "add agents, or --loops",
    ));
    caveats.extend(neighbours(point));
    caveats
}

/// Agents that are gone; a load of which more are gone than may be has failed.
fn lost(point: &Point) -> Option<PointCaveat> {
    let lost: Vec<(&str, &str)> =
        point.agents.iter().filter_map(|agent| Some((agent.agent.as_str(), agent.lost.as_deref()?))).collect();
    let (first, why) = lost.first()?;
    let names = each_once(lost.iter().map(|(name, _)| (*name).to_owned())).join(", ");
    let of = point.agents.len();
    let what = match lost.len() {
        1 => format!("1 of {of} agents was lost ({first}: {why})"),
        several => format!("{several} of {of} agents were lost ({names}; the first: {why})"),
    };
    let again = format!("{} lost ({names})", lost.len());
    let advice = "nobody took over their load, and the seconds after that have less of it: repeat with all of them";
    Some(PointCaveat::new(point, "agents_lost", lost.len() as f64, what, again, advice))
}

/// The agent of which the most is true, if it is of any.
fn busiest(
    point: &Point,
    code: &'static str,
    share: impl Fn(&AgentPoint) -> Option<f64>,
    what: impl Fn(&str, &str) -> String,
    advice: &str,
) -> Option<PointCaveat> {
    let found = point.agents.iter().filter_map(|agent| Some((agent, share(agent)?)));
    let (agent, share) = found.max_by(|(_, a), (_, b)| a.total_cmp(b))?;
    let percent = format!("{:.0} %", 100.0 * share);
    let again = format!("{} of {}", percent, agent.agent);
    Some(PointCaveat::new(point, code, share, what(&agent.agent, &percent), again, advice))
}

/// Others on the machine of an agent. On that of the coordinator, the server may be one of them: others there are looked
/// for from the server.
fn neighbours(point: &Point) -> Option<PointCaveat> {
    let elsewhere = point.agents.iter().filter(|agent| !agent.is_here);
    let found = elsewhere.filter_map(|agent| Some((agent, agent.foreign_cpus.filter(|cpus| *cpus > FOREIGN)?)));
    let (agent, cpus) = found.max_by(|(_, a), (_, b)| a.total_cmp(b))?;
    let what =
        format!("other processes used {cpus:.1} CPUs of {}, the machine of the agent {}", agent.machine, agent.agent);
    let again = format!("{cpus:.1} on {}", agent.machine);
    Some(PointCaveat::new(point, "noisy_agent", cpus, what, again, "repeat when they are gone, or without this agent"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_model::Caveat;

    fn agent(name: &str) -> AgentPoint {
        AgentPoint { agent: name.to_owned(), machine: format!("{name}.example"), loops: 1, ..AgentPoint::default() }
    }

    fn told(agents: Vec<AgentPoint>) -> Vec<String> {
        let point = Point { agents, ..Point::default() };
        of_agents(&point).into_iter().map(|caveat| Caveat::from(caveat).message).collect()
    }

    #[test]
    fn agents_that_did_their_part_say_nothing() {
        let idle = AgentPoint { loops_busy: Some(0.5), of_ceiling: Some(0.2), foreign_cpus: Some(0.1), ..agent("a1") };
        assert_eq!(told(vec![idle, agent("a2")]), [""; 0]);
    }

    #[test]
    fn the_worst_of_each_kind_is_named() {
        let lost = AgentPoint { lost: Some("no heartbeat".to_owned()), ..agent("a1") };
        let busy = |name: &str, busy| AgentPoint { loops_busy: Some(busy), ..agent(name) };
        let noisy = AgentPoint { foreign_cpus: Some(1.25), ..agent("a4") };
        let here = AgentPoint { foreign_cpus: Some(9.0), is_here: true, ..agent("a5") };
        let told = told(vec![lost, busy("a2", 0.95), busy("a3", 0.99), noisy, here]);
        let has = |at: usize, text: &str| assert!(told[at].contains(text), "{told:?}");
        has(0, "1 of 5 agents was lost (a1: no heartbeat)");
        has(1, "the agent a3 were busy 99 % of the time");
        has(2, "1.2 CPUs of a4.example");
        assert_eq!(told.len(), 3);
    }
}
