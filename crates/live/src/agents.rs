//! The agents of a fleet that make the load under way: what each carries, and who is lost.

use crate::follow::Follower;
use plimsoll_model::layout::escape;
use plimsoll_model::number::{NOTHING, counted, number, short};
use plimsoll_model::samples::AgentSample;

/// A row for each agent; nothing where the load is made by one process.
pub fn table(follower: &Follower) -> String {
    let agents: Vec<&AgentSample> = follower.agents().collect();
    if agents.is_empty() {
        return String::new();
    }
    let lost = agents.iter().filter(|agent| agent.lost.is_some()).count();
    let found = match lost {
        0 => "none is lost".to_owned(),
        lost => format!("<span class=\"broken\">{lost} lost</span>"),
    };
    let rows: String = agents.iter().copied().map(row).collect();
    let head: String = [("load", "per second"), ("busy", "% of machine"), ("clock", "± µs")]
        .iter()
        .map(|(name, unit)| format!("<th scope=\"col\" class=\"n\">{name}<span class=\"unit\">{unit}</span></th>"))
        .collect();
    format!(
        "<h2>Load agents</h2>\n<div class=\"wide\" tabindex=\"0\" role=\"region\" \
         aria-label=\"Load agents\"><table>\n<thead><tr><th scope=\"col\">agent</th>{head}</tr></thead>\n\
         <tbody>\n{rows}</tbody>\n</table></div>\n<p class=\"remark\">{}, {found}. Transactions of the last second; how busy its \
         machine was then, whoever works there; how well its clock was known at the start.</p>\n",
        counted(agents.len() as f64, "agent")
    )
}

fn row(agent: &AgentSample) -> String {
    let busy = agent.host.as_ref().map(|host| 100.0 * (1.0 - host.idle - host.iowait));
    let (rate, state) = match &agent.lost {
        Some(why) => (NOTHING.to_owned(), format!("<span class=\"on broken\">lost: {}</span>", escape(why))),
        None => (number(agent.transactions as f64, 0), String::new()),
    };
    let busy = busy.map_or(NOTHING.to_owned(), |share| number(share, 0));
    let numbers: String =
        [rate, busy, short(agent.clock_bound_us)].iter().map(|cell| format!("<td class=\"n\">{cell}</td>")).collect();
    format!("<tr><td>{}{state}</td>{numbers}</tr>\n", escape(&agent.agent))
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::Timestamp;
    use plimsoll_host::facts::HostFacts;
    use plimsoll_model::LoadPoint;
    use plimsoll_plan::Plan;
    use plimsoll_record::read::Entry;
    use plimsoll_record::{LoadParameters, Parameters, TrialFacts};
    use plimsoll_record::{Manifest, Recording};
    use plimsoll_testkit::simulated::run_plan;

    fn facts() -> TrialFacts {
        TrialFacts {
            index: 1,
            variant: "run".to_owned(),
            point: "c4".to_owned(),
            round: 1,
            started: Timestamp::now(),
            parameters: Parameters::Load(Box::new(LoadParameters {
                point: LoadPoint::closed(4),
                ..LoadParameters::default()
            })),
        }
    }

    #[test]
    fn each_agent_has_a_row_and_a_hostile_name_does_nothing() {
        let home = tempfile::tempdir().unwrap();
        let manifest =
            Manifest::new("fleet", "0.1.0", Timestamp::now(), Plan::Run(run_plan(&[])), HostFacts::default());
        let recording = Recording::create(home.path(), manifest).unwrap();
        let entry = Entry {
            directory: recording.directory().to_owned(),
            manifest: recording.manifest().clone(),
            being_written: true,
        };
        let mut follower = Follower::new(entry);
        let mut trial = recording.trial(&facts()).unwrap();
        follower.look();
        assert_eq!(table(&follower), "", "a load of one process");
        let sample = |agent: &str, lost: Option<&str>| AgentSample {
            agent: agent.to_owned(),
            transactions: 1234,
            clock_bound_us: 141.0,
            lost: lost.map(str::to_owned),
            ..AgentSample::default()
        };
        trial.agent(&sample("a1", None)).unwrap();
        trial.agent(&sample("<b>a2", None)).unwrap();
        trial.agent(&sample("<b>a2", Some("<i>gone"))).unwrap();
        follower.look();
        let markup = table(&follower);
        assert!(markup.contains("1,234") && markup.contains("<td class=\"n\">141</td></tr>"), "{markup}");
        assert!(markup.contains("2 agents, <span class=\"broken\">1 lost</span>"), "{markup}");
        assert!(markup.contains("&lt;b&gt;a2") && markup.contains("lost: &lt;i&gt;gone") && !markup.contains("<b>"));
    }
}
