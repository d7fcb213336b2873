//! The host's CPU time by kind, a bar for each variant (NetApp TR-3693, Figure 2).

use super::label::{Swatch, key};
use super::rows::Rows;
use crate::document::Figure;
use crate::scale::Scale;
use crate::svg::{Anchor, Svg};
use crate::table::{Column, Table};
use plimsoll_model::number::in_percent;
use plimsoll_model::summary::HostShares;

/// Name, class and share.
type Kind = (&'static str, &'static str, fn(&HostShares) -> f64);

/// From the bar's foot on; neighbours differ in lightness.
const KINDS: [Kind; 5] = [
    ("user", "bar stacked s1", |host| host.user),
    ("system", "bar stacked s5", |host| host.system),
    ("I/O wait", "bar stacked s3", |host| host.iowait),
    ("stolen", "bar stacked s4", |host| host.steal),
    ("idle", "outline", idle),
];

/// A smaller share would not be visible.
const LEAST: f64 = 0.004;

/// What none of the other kinds took. Interrupts count as busy but are not a kind of their own.
fn idle(host: &HostShares) -> f64 {
    (1.0 - host.busy.max(host.user + host.system + host.steal) - host.iowait).max(0.0)
}

/// Bars from top to bottom; one without shares is drawn as empty. `None` if all are.
pub fn draw(id: &str, bars: &[(String, Option<HostShares>)], caption: &str) -> Option<Figure> {
    let any = bars.iter().any(|(_, host)| host.is_some());
    any.then(|| Figure::drawn(id, caption, table(bars), |width| drawing(bars, width)))
}

/// The numbers behind the figure, which may include more bars.
pub fn table(bars: &[(String, Option<HostShares>)]) -> Table {
    let mut columns = vec![Column::words("", bars.iter().map(|(name, _)| name.clone()).collect())];
    for (name, _, share) in KINDS {
        let cell = |host: &Option<HostShares>| host.map_or("–".to_owned(), |host| in_percent(share(&host)));
        columns.push(Column::numbers(name, "%", bars.iter().map(|(_, host)| cell(host)).collect()));
    }
    Table::new(columns)
}

fn drawing(bars: &[(String, Option<HostShares>)], width: f64) -> String {
    let rows = Rows::new(width, bars.iter().map(|(name, _)| name.as_str()), 20.0, 50.0);
    let bottom = rows.bottom(bars.len() as f64);
    let mut svg = Svg::new(width, bottom + 26.0, "Where the host's CPU time went");
    let cpus = bars.iter().find_map(|(_, host)| *host).map_or(0, |host| host.cpus);
    let unit = if cpus > 1 { format!("% of {cpus} CPUs") } else { "% of its CPU".to_owned() };
    svg.panel_title((6.0, 14.0), "Host CPU", &unit);
    let is_visible = |kind: &Kind| bars.iter().filter_map(|bar| bar.1).any(|host| kind.2(&host) >= LEAST);
    let kinds = KINDS.into_iter().filter(is_visible);
    let entries: Vec<_> = kinds.map(|(name, class, _)| (Swatch::Area, class.to_owned(), name.to_owned())).collect();
    key(&mut svg, &entries, 6.0, width, 35.0);
    let x = Scale::linear((0.0, 100.0), rows.range());
    rows.axis(&mut svg, &x, bottom);
    for (row, (name, host)) in bars.iter().enumerate() {
        rows.name(&mut svg, row as f64, name);
        match host {
            Some(host) => bar(&mut svg, &rows, row as f64, &x, host),
            None => rows.empty(&mut svg, row as f64, x.at(0.0)),
        }
    }
    svg.finish()
}

fn bar(svg: &mut Svg, rows: &Rows, row: f64, x: &Scale, host: &HostShares) {
    let mut foot = 0.0;
    for (name, class, share) in KINDS {
        let share = share(host);
        let end = (foot + 100.0 * share).clamp(foot, 100.0);
        if end > foot {
            rows.bar(svg, row, x, (foot, end), class, &format!("{name}: {} %", in_percent(share)));
            if x.at(end) - x.at(foot) > 26.0 {
                let middle = 0.5 * (x.at(foot) + x.at(end));
                let class = class.replace("bar stacked", "on-bar").replace("outline", "tick");
                svg.text((middle, rows.middle(row) + 4.0), Anchor::Middle, &class, &in_percent(share));
            }
        }
        foot = end;
    }
}
