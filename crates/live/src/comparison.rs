//! `/compare`: compares two recordings, or two variants, and the form to pick them; more are shown side by side.

use crate::api;
use crate::catalogue::{RecordingCatalogue, RecordingTopic, moment};
use crate::documents::{Documents, generated};
use crate::page::{Page, Refused};
use axum::http::StatusCode;
use axum::response::Response;
use plimsoll_analysis::compare::{Compared, compare};
use plimsoll_model::layout::escape;
use plimsoll_record::manifest::is_name;
use plimsoll_record::read::Entry;
use plimsoll_render::fragment;
use plimsoll_report::document::Document;
use plimsoll_report::{comparison, io};

/// The most recordings on one page: more lines cannot be told apart.
const BESIDE_EACH_OTHER: usize = 8;

/// One side: a recording and, of a lab, perhaps a variant.
struct Side {
    entry: Entry,
    variant: Option<String>,
}

/// The page for `a=ID[:VARIANT]&b=ID[:VARIANT]`, or for `pick=ID` twice or more as the list of recordings sends it.
///
/// # Errors
/// If there are not two, or they are unknown. If they cannot be compared, the page says so and has the form to choose
/// again.
pub fn page(
    catalogue: &RecordingCatalogue,
    documents: &Documents,
    asked: &[(String, String)],
) -> Result<Page, Refused> {
    let picked: Vec<&String> = asked.iter().filter(|(name, _)| name == "pick").map(|(_, id)| id).collect();
    if picked.len() > 2 {
        return side_by_side(catalogue, documents, &picked);
    }
    let (a, b) = sides(catalogue, asked)?;
    let body = match compare(catalogue.directory(), &a.text(), &b.text(), None) {
        Ok(compared) => format!("{}{}", form(&a, &b), fragment(&document(&compared))),
        Err(error) => format!(
            "<main>\n<h1>These cannot be compared</h1>\n<p class=\"refused\">{}</p>\n{}</main>\n",
            escape(&error.to_string()),
            form(&a, &b)
        ),
    };
    Ok(Page { title: "Comparison".to_owned(), body, ..Page::default() })
}

/// More than two, each as a system: what is paired, two have alone.
fn side_by_side(catalogue: &RecordingCatalogue, documents: &Documents, picked: &[&String]) -> Result<Page, Refused> {
    if picked.len() > BESIDE_EACH_OTHER {
        let why = format!("{} were picked; {BESIDE_EACH_OTHER} can be shown side by side.", picked.len());
        return Err(Refused::new(StatusCode::BAD_REQUEST, &why));
    }
    let entries = picked.iter().map(|id| catalogue.entry(id)).collect::<Result<Vec<Entry>, Refused>>()?;
    let document = documents.side_by_side(&entries)?;
    Ok(Page { title: document.title.clone(), body: fragment(&document), ..Page::default() })
}

/// The same as `compare --json` prints it.
///
/// # Errors
/// As [`page`]; what cannot be compared is refused.
pub fn data(catalogue: &RecordingCatalogue, asked: &[(String, String)]) -> Result<Response, Refused> {
    let (a, b) = sides(catalogue, asked)?;
    match compare(catalogue.directory(), &a.text(), &b.text(), None) {
        Ok(Compared::Runs(found)) => api::json(&found),
        Ok(Compared::Storage(found)) => api::json(&found),
        Err(error) => Err(Refused::new(StatusCode::UNPROCESSABLE_ENTITY, &error.to_string())),
    }
}

fn document(compared: &Compared) -> Document {
    match compared {
        Compared::Runs(found) => comparison::document(found, &generated()),
        Compared::Storage(found) => io::comparison::document(found, &generated()),
    }
}

fn sides(catalogue: &RecordingCatalogue, asked: &[(String, String)]) -> Result<(Side, Side), Refused> {
    let of = |wanted: &str| -> Vec<&str> {
        asked
            .iter()
            .filter(|(name, value)| name == wanted && !value.is_empty())
            .map(|(_, value)| value.as_str())
            .collect()
    };
    match (&of("a")[..], &of("b")[..], &of("pick")[..]) {
        ([a], [b], _) => Ok((Side::of(catalogue, a)?, Side::of(catalogue, b)?)),
        // The list has the latest first; the earlier one is the base of the comparison.
        (_, _, [later, earlier]) => Ok((Side::of(catalogue, earlier)?, Side::of(catalogue, later)?)),
        (_, _, picked) => {
            let why = format!(
                "Pick two recordings to compare; {} picked.",
                match picked.len() {
                    0 => "none was".to_owned(),
                    1 => "one was".to_owned(),
                    many => format!("{many} were"),
                }
            );
            Err(Refused::new(StatusCode::BAD_REQUEST, &why))
        }
    }
}

impl Side {
    fn of(catalogue: &RecordingCatalogue, text: &str) -> Result<Side, Refused> {
        let (id, variant) = text.split_once(':').map_or((text, None), |(id, variant)| (id, Some(variant)));
        if variant.is_some_and(|variant| !is_name(variant)) {
            return Err(Refused::new(StatusCode::BAD_REQUEST, &format!("`{text}` does not name a variant.")));
        }
        Ok(Side { entry: catalogue.entry(id)?, variant: variant.map(str::to_owned) })
    }

    /// In the form of `plimsoll compare`. By now, the id is known to be a recording's and the variant to be a name:
    /// neither is a path or a list.
    fn text(&self) -> String {
        let variant = self.variant.as_ref().map_or(String::new(), |variant| format!(":{variant}"));
        self.entry.id() + &variant
    }

    /// The choices for this side: the variants of its recording, or only the recording if it does not have several.
    fn choices(&self) -> Vec<(String, String)> {
        let (id, what) = (self.entry.id(), RecordingTopic::of(&self.entry.manifest));
        let variants = self.entry.manifest.plan.lab().map_or(&[][..], |plan| &plan.variants);
        let names: Vec<&str> = variants.iter().map(|variant| variant.name.as_str()).collect();
        let when = moment(self.entry.manifest.started);
        match names.as_slice() {
            [] | [_] => vec![(id, format!("{}, {when}", what.title))],
            names => {
                names.iter().map(|name| (format!("{id}:{name}"), format!("{name}: {}, {when}", what.title))).collect()
            }
        }
    }
}

/// Two lists to choose the sides from. If no variants are chosen yet, the first ones are preselected.
fn form(a: &Side, b: &Side) -> String {
    let (of_a, of_b) = (a.choices(), b.choices());
    let same = of_a == of_b;
    let all: Vec<&(String, String)> = of_a.iter().chain(of_b.iter().filter(|_| !same)).collect();
    let list = |name: &str, label: &str, side: &Side, proposed: Option<&(String, String)>| {
        let chosen = all.iter().map(|(value, _)| value).find(|value| **value == side.text());
        let chosen = chosen.or(proposed.map(|(value, _)| value));
        let option = |(value, words): &&(String, String)| {
            let selected = if Some(value) == chosen { " selected" } else { "" };
            format!("<option value=\"{}\"{selected}>{}</option>\n", escape(value), escape(words))
        };
        let options: String = all.iter().map(option).collect();
        format!("<label>{label} <select id=\"{name}\" name=\"{name}\">\n{options}</select></label>\n")
    };
    format!(
        "<form class=\"sides\" action=\"/compare\">\n{}{}<button>Compare</button>\n</form>\n",
        list("b", "Is", b, of_b.get(usize::from(same))),
        list("a", "faster than", a, of_a.first())
    )
}
