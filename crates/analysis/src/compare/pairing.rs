//! Whether the rounds of two sides belong together in pairs: the first of one with the first of the other, and so on.

use super::Group;
use super::rounds::Round;

/// Keeps those rounds of two variants of one recording that both have with the same load points, so that a trial that
/// failed takes its partner with it and the others stay pairs.
pub fn align(a: &mut Group, b: &mut Group) {
    let same = |one: &Group, other: &Group| match (one.chosen.recordings.as_slice(), other.chosen.recordings.as_slice())
    {
        ([one], [other]) => one.directory == other.directory && one.lab.is_some(),
        _ => false,
    };
    if same(a, b) {
        let of_b = std::mem::take(&mut b.rounds);
        b.rounds = with_partner(of_b.clone(), &a.rounds, &mut b.chosen.left_out);
        a.rounds = with_partner(std::mem::take(&mut a.rounds), &of_b, &mut a.chosen.left_out);
    }
}

/// The rounds that have a partner among `others`; what is left out is said.
fn with_partner(rounds: Vec<Round>, others: &[Round], left_out: &mut Vec<String>) -> Vec<Round> {
    let covers = |one: &Round, other: &Round| {
        one.points.iter().all(|(point, _)| other.points.iter().any(|(known, _)| known == point))
    };
    let partner = |round: &Round| {
        others.iter().any(|other| other.number == round.number && covers(round, other) && covers(other, round))
    };
    let (kept, alone): (Vec<Round>, Vec<Round>) = rounds.into_iter().partition(partner);
    // Variants that have no round in common are not compared in pairs, and both keep what they have.
    if kept.is_empty() {
        return alone;
    }
    left_out.extend(alone.iter().map(|round| format!("round {}, which the other side lacks in part", round.number)));
    kept
}

/// Why rounds cannot be compared pair by pair; `None` if they can. Pairs must follow each other in time, so that what
/// drifts slowly on the machine is the same for both halves of a pair; which of the two came first does not matter.
pub fn obstacle(a: &Group, b: &Group) -> Option<String> {
    if a.facts.machines() != b.facts.machines() || !a.facts.is_of_one_machine() {
        return Some("they were measured on different machines".to_owned());
    }
    let (of_a, of_b) = (a.rounds.as_slice(), b.rounds.as_slice());
    if of_a.len() != of_b.len() {
        let rounds = if of_a.len() == 1 { "round" } else { "rounds" };
        return Some(format!(
            "{} {rounds} of {} against {} of {}",
            of_a.len(),
            a.chosen.name,
            of_b.len(),
            b.chosen.name
        ));
    }
    let spans: Vec<_> = of_a.iter().zip(of_b).map(|(a, b)| (a.started.min(b.started), a.ended.max(b.ended))).collect();
    if spans.windows(2).all(|next| next[0].1 <= next[1].0) {
        return None;
    }
    let before = |first: &[Round], second: &[Round]| {
        first.iter().map(|round| round.ended).max() <= second.iter().map(|round| round.started).min()
    };
    let order = |first: &Group, second: &Group| {
        format!(
            "the rounds were not interleaved: all of {} were measured before {}, so a drift of the machine would look \
             like a difference",
            first.chosen.name, second.chosen.name
        )
    };
    Some(match (before(of_a, of_b), before(of_b, of_a)) {
        (true, _) => order(a, b),
        (_, true) => order(b, a),
        _ => {
            "the rounds were not interleaved: pairs of them overlap in time, so a drift of the machine would look like \
              a difference"
                .to_owned()
        }
    })
}
