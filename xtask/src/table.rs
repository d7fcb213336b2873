//! The table of crates in ARCHITECTURE.md has every crate, in the layer that it is in, and none that is not there.

use crate::Finding;
use crate::items::short;
use crate::layers::{LAYERS, Layer, SIDEWAYS};

pub const DOCUMENT: &str = "ARCHITECTURE.md";

/// `text` is that of the document. A row of the table is `| layer | `name` · `name` | …`; a name that ends in `/` may also
/// be a folder without a crate.
pub fn check(text: &str) -> Vec<Finding> {
    let rows: Vec<(String, String)> = text.lines().flat_map(row).collect();
    let mut findings = Vec::new();
    for (package, layer) in LAYERS {
        let (name, layer) = (short(package), shown(*layer));
        match rows.iter().find(|(_, row)| row.trim_end_matches('/') == name) {
            None => findings.push(Finding::new(DOCUMENT, format!("has no row for the crate {name}"))),
            Some((row, _)) if *row != layer => {
                let message = format!("has {name} in layer {row}; xtask/src/layers.rs has it in {layer}");
                findings.push(Finding::new(DOCUMENT, message));
            }
            Some(_) => {}
        }
    }
    let is_crate = |name: &str| LAYERS.iter().any(|(package, _)| short(package) == name);
    let unknown = rows.iter().filter(|(_, name)| !name.ends_with('/') && !is_crate(name));
    findings
        .extend(unknown.map(|(_, name)| Finding::new(DOCUMENT, format!("has a row for {name}, which is no crate"))));
    let edges = SIDEWAYS.iter().map(|(from, to)| format!("{}→{}", short(from), short(to)));
    let untold = edges.filter(|edge| !text.contains(edge));
    findings.extend(untold.map(|edge| Finding::new(DOCUMENT, format!("does not name the exception {edge}"))));
    findings
}

/// The names of one row of the table, each with the layer of the row.
fn row(line: &str) -> Vec<(String, String)> {
    let cells: Vec<&str> = line.split('|').map(str::trim).collect();
    let [_, layer, names, _, _, _] = cells.as_slice() else { return Vec::new() };
    names.split('`').skip(1).step_by(2).map(|name| ((*layer).to_owned(), name.to_owned())).collect()
}

fn shown(layer: Layer) -> String {
    match layer {
        Layer::Ships(number) => number.to_string(),
        Layer::Dev => "–".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A document with all that belongs there.
    fn whole() -> String {
        let edges = SIDEWAYS.iter().map(|(from, to)| format!("{}→{}\n", short(from), short(to)));
        let rows =
            LAYERS.iter().map(|(name, layer)| format!("| {} | `{}` | what | never |\n", shown(*layer), short(name)));
        edges.chain(["| – | `web/` | what | never |\n".to_owned()]).chain(rows).collect()
    }

    fn findings(text: &str) -> Vec<String> {
        check(text).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn the_whole_table_passes_and_each_fault_is_found() {
        assert!(findings(&whole()).is_empty(), "{:?}", findings(&whole()));
        for (from, to, found) in [
            ("| 3 | `engine` |", "| 3 | engine |", "has no row for the crate engine"),
            ("| 3 | `engine` |", "| 4 | `engine` |", "has engine in layer 4; xtask/src/layers.rs has it in 3"),
            ("`web/`", "`web`", "has a row for web, which is no crate"),
            ("load→stats", "", "does not name the exception load→stats"),
        ] {
            assert_eq!(findings(&whole().replace(from, to)), [format!("ARCHITECTURE.md: {found}")], "{from}");
        }
    }

    #[test]
    fn rows_share_cells_and_other_tables_have_none() {
        assert_eq!(row("| – | `testkit`, `bench/` | a · b | ship |").len(), 2);
        assert!(row("| word | meaning |").is_empty());
    }
}
