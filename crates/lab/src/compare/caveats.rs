//! Reasons not to trust a comparison fully.

use super::Group;
use plimsoll_model::Caveat;
use plimsoll_model::comparison::Design;
use plimsoll_plan::points::LoadPoint;
use plimsoll_record::RecordError;

/// Where they hold for all recordings, they say nothing of a difference; unlike durability has a caveat of its own.
const HOLD_ALIKE: [&str; 2] = ["shared_cores", "not_durable"];

/// Everything, the comparison's own first.
pub fn all(a: &Group, b: &Group, design: Design, left_out: &[LoadPoint], unreadable: &[RecordError]) -> Vec<Caveat> {
    let mut caveats = Vec::new();
    if design == Design::Unpaired {
        caveats.push(Caveat::new(
            "unpaired",
            "rounds that follow each other resemble each other where a machine drifts, and the interval takes them for \
             independent, so it may be too narrow: measure both sides in turn on one machine where that is possible",
        ));
    }
    let unlike = a.facts.unlike_durability(&b.facts);
    if !unlike.is_empty() {
        let message = format!(
            "{} is not the same on both sides: what one saves by risking commits is no gain in speed; compare at equal \
             durability",
            unlike.join(", ")
        );
        caveats.push(Caveat::new("unlike_durability", message));
    }
    if !left_out.is_empty() {
        let labels: Vec<String> = left_out.iter().map(LoadPoint::label).collect();
        let message = format!("{} is not in all rounds and is left out: measure the same loads", labels.join(", "));
        caveats.push(Caveat::new("load_points_left_out", message));
    }
    for group in [a, b] {
        caveats.extend(of_side(group));
    }
    if let Some(first) = unreadable.first() {
        let message = format!("{} of the recordings cannot be read and are left out: {first}", unreadable.len());
        caveats.push(Caveat::new("unreadable", message));
    }
    caveats.extend(repeated([a, b]));
    caveats
}

fn of_side(group: &Group) -> Vec<Caveat> {
    let name = &group.chosen.name;
    let mut caveats = Vec::new();
    if !group.chosen.left_out.is_empty() {
        let message = format!("not used for {name}: {}", group.chosen.left_out.join("; "));
        caveats.push(Caveat::new("left_out", message));
    }
    let mixed = group.facts.mixed();
    if !mixed.is_empty() {
        let message = format!("the rounds of {name} are not alike: {}; compare rounds of one kind", mixed.join("; "));
        caveats.push(Caveat::new("mixed_rounds", message));
    }
    caveats
}

/// What the recordings' own summaries have to say, once for each code.
fn repeated(groups: [&Group; 2]) -> Vec<Caveat> {
    let mut recordings: Vec<_> = groups.iter().flat_map(|group| &group.chosen.recordings).collect();
    // Two variants may be of one recording.
    recordings.sort_by_key(|view| &view.directory);
    recordings.dedup_by_key(|view| &view.directory);
    let caveats_of = |place: usize| {
        let of_lab = recordings[place].lab.iter().flat_map(|summary| &summary.caveats);
        recordings[place].summary.iter().flat_map(|summary| &summary.caveats).chain(of_lab)
    };
    let mut found: Vec<(Caveat, usize)> = Vec::new();
    for place in 0..recordings.len() {
        let mut here: Vec<&str> = Vec::new();
        for caveat in caveats_of(place) {
            if here.contains(&caveat.code.as_str()) {
                continue;
            }
            here.push(&caveat.code);
            match found.iter_mut().find(|(known, _)| known.code == caveat.code) {
                Some((_, count)) => *count += 1,
                None => found.push((caveat.clone(), 1)),
            }
        }
    }
    let of = recordings.len();
    found.retain(|(caveat, count)| *count < of || !HOLD_ALIKE.contains(&caveat.code.as_str()));
    let told = |(caveat, count): (Caveat, usize)| {
        Caveat::new(&caveat.code, format!("in {count} of {of} recordings: {}", caveat.message))
    };
    found.into_iter().map(told).collect()
}
