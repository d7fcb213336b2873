//! Reasons not to trust a comparison fully.

use super::Group;
use plimsoll_model::Caveat;
use plimsoll_model::LoadPoint;
use plimsoll_model::comparison::Design;
use plimsoll_record::RecordError;
use std::collections::BTreeSet;

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

/// So many messages of one code are told.
const MOST_MESSAGES: usize = 4;

/// What the recordings' own summaries have to say, together by code.
fn repeated(groups: [&Group; 2]) -> Vec<Caveat> {
    let mut recordings: Vec<_> = groups.iter().flat_map(|group| &group.chosen.recordings).collect();
    // Two variants may be of one recording.
    recordings.sort_by_key(|view| &view.directory);
    recordings.dedup_by_key(|view| &view.directory);
    let caveats_of = |place: usize| {
        let of_lab = recordings[place].lab.iter().flat_map(|summary| &summary.caveats);
        recordings[place].summary.iter().flat_map(|summary| &summary.caveats).chain(of_lab)
    };
    let mut found: Vec<Repeated> = Vec::new();
    for place in 0..recordings.len() {
        for caveat in caveats_of(place) {
            match found.iter_mut().find(|known| known.code == caveat.code) {
                Some(known) => known.add(place, &caveat.message),
                None => found.push(Repeated {
                    code: &caveat.code,
                    messages: vec![&caveat.message],
                    places: BTreeSet::from([place]),
                }),
            }
        }
    }
    let of = recordings.len();
    found.retain(|known| known.places.len() < of || !HOLD_ALIKE.contains(&known.code));
    found.iter().map(|known| known.told(of)).collect()
}

/// A caveat that several recordings may have.
struct Repeated<'a> {
    code: &'a str,
    /// Each once.
    messages: Vec<&'a str>,
    /// The recordings that have it.
    places: BTreeSet<usize>,
}

impl<'a> Repeated<'a> {
    fn add(&mut self, place: usize, message: &'a str) {
        self.places.insert(place);
        if !self.messages.contains(&message) {
            self.messages.push(message);
        }
    }

    fn told(&self, of: usize) -> Caveat {
        let mut messages = self.messages[..self.messages.len().min(MOST_MESSAGES)].join("; ");
        if self.messages.len() > MOST_MESSAGES {
            messages += &format!("; and {} more like it", self.messages.len() - MOST_MESSAGES);
        }
        Caveat::new(self.code, format!("in {} of {of} recordings: {messages}", self.places.len()))
    }
}
