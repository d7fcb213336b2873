//! A load point that others took a part of the machine from is told apart wherever it is shown.

use crate::sample::{self, Report, terminal_table};
use crate::{answer, sample::html};
use plimsoll_report::document;
use plimsoll_report::document::PlaceKind;

/// Others kept so many CPUs busy at one of the load points.
fn disturbed(place: usize, cpus: f64) -> Report {
    let mut report = sample::report();
    for (at, point) in report.summary.points.iter_mut().enumerate() {
        let client = point.client.process_cpu_us_per_query.unwrap_or(0.0) * point.queries as f64 / 1e6 / point.seconds;
        let server = point.server.as_ref().and_then(|server| server.cpus_busy).unwrap_or(0.0);
        let mut host = point.host.expect("the host was sampled");
        (host.cpus, host.steal) = (8, 0.0);
        host.busy = (client + server + if at == place { cpus } else { 0.0 }) / 8.0;
        point.host = Some(host);
        point.client.process_cpu_us_per_query.get_or_insert(0.0);
        point.server.get_or_insert_default().cpus_busy.get_or_insert(0.0);
    }
    report
}

#[test]
fn a_disturbed_load_point_is_marked_in_table_and_chart_and_the_headline_is_hedged() {
    let report = disturbed(4, 1.29);
    assert!(
        answer(&report)
            .ends_with("but something else used the machine at 1 of 7 load points, so more may be possible.")
    );
    let shown = terminal_table(&report, false);
    let row = shown.lines().find(|line| line.contains("1.3 CPUs")).expect("a row");
    assert!(row.contains(" 16 ") && shown.contains("others"), "{row}");
    let page = html(&report);
    assert!(
        page.contains("class=\"cross\"") && page.contains("A crossed-out load point was disturbed"),
        "a mark, not a colour"
    );
    let figure = document(&report.recorded()).figures().next().expect("the sweep").clone();
    let marks = figure.chart.expect("for the script").marks;
    assert_eq!(
        marks.iter().filter(|mark| mark.kind == PlaceKind::Disturbed).map(|mark| mark.x).collect::<Vec<_>>(),
        [16.0]
    );
    let peak = answer(&disturbed(5, 1.0));
    assert!(peak.contains("at 1 of 7 load points, including this one, so this may not be what it carries"), "{peak}");
}

#[test]
fn nothing_is_marked_where_nothing_disturbed() {
    let report = disturbed(4, 0.0);
    let all = format!("{}{}{}", answer(&report), terminal_table(&report, false), html(&report));
    assert!(!terminal_table(&report, false).contains("others"), "{all}");
    assert!(!all.contains("class=\"cross\"") && !all.contains("something else used"));
}
