//! The style of figures for programs that know no variables of CSS: drawing programs, and what makes pictures of ours.
//!
//! It reads our own sheet, [`plimsoll_report::svg::STYLE`], and nothing else: variables are set for the whole figure or by
//! a class for everything in it, and rules have no braces within. What depends on the screen or the printer is left out.

use std::collections::BTreeMap;
use std::fmt::Write;

/// The colour of a series, which a class sets.
const OF_SERIES: &str = "--c";

/// A rule: its selectors, and its declarations as pairs of property and value.
struct Rule<'a> {
    selectors: Vec<&'a str>,
    declarations: Vec<(&'a str, &'a str)>,
}

type Variables<'a> = BTreeMap<&'a str, &'a str>;

/// The style with every variable written out.
pub(super) fn plain(style: &str) -> String {
    let rules = rules(style);
    let global: Variables<'_> = named(&rules, ":root").collect();
    let series = rules.iter().filter(|rule| rule.declarations.iter().any(|(name, _)| *name == OF_SERIES));
    let series: Vec<(&str, Variables<'_>)> = series
        .flat_map(|rule| &rule.selectors)
        .map(|class| (*class, global.clone().into_iter().chain(named(&rules, class)).collect()))
        .collect();
    let mut plain = String::new();
    for rule in &rules {
        write_rule(&mut plain, &rule.selectors.join(", "), &rule.declarations, &global);
        let coloured =
            rule.declarations.iter().filter(|(_, value)| value.contains("var(--c)") || value.contains("var(--c,"));
        let coloured: Vec<(&str, &str)> = coloured.copied().collect();
        for (class, variables) in &series {
            let selectors: Vec<String> = rule.selectors.iter().map(|selector| of_series(selector, class)).collect();
            write_rule(&mut plain, &selectors.join(", "), &coloured, variables);
        }
    }
    plain
}

/// What a selector means in a series: the element that has its class, and those within such an element.
fn of_series(selector: &str, class: &str) -> String {
    let within = selector.rsplit_once(' ').map_or(selector, |(_, last)| last);
    format!("{selector}{class}, {class} {within}")
}

fn write_rule(to: &mut String, selectors: &str, declarations: &[(&str, &str)], variables: &Variables<'_>) {
    let known = declarations.iter().filter(|(name, _)| !name.starts_with("--"));
    let known = known.filter_map(|(name, value)| Some(format!("{name}: {};", mixed(&resolved(value, variables)?)?)));
    let known: Vec<String> = known.collect();
    if !known.is_empty() {
        let _ = writeln!(to, "{selectors} {{ {} }}", known.join(" "));
    }
}

/// The declarations of the rules for exactly this selector.
fn named<'a>(rules: &'a [Rule<'a>], selector: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> {
    let of_it = rules.iter().filter(move |rule| rule.selectors.contains(&selector));
    of_it.flat_map(|rule| rule.declarations.iter().copied())
}

/// A value without variables; none if it names one that is not set and gives nothing in its place.
fn resolved(value: &str, variables: &Variables<'_>) -> Option<String> {
    let Some((before, rest)) = value.split_once("var(") else { return Some(value.to_owned()) };
    let (inner, after) = rest.split_at(closing(rest)?);
    let (name, otherwise) =
        inner.split_once(',').map_or((inner, None), |(name, otherwise)| (name, Some(otherwise.trim())));
    let found = variables.get(name.trim()).copied().or(otherwise)?;
    resolved(&format!("{before}{found}{}", &after[1..]), variables)
}

/// Where the bracket closes that was opened before this text.
fn closing(text: &str) -> Option<usize> {
    let mut open = 1;
    text.char_indices().find_map(|(at, c)| {
        open += i32::from(c == '(') - i32::from(c == ')');
        (open == 0).then_some(at)
    })
}

/// `color-mix(in srgb, #a P%, #b)` as the colour that it is; none if it cannot be read.
fn mixed(value: &str) -> Option<String> {
    let Some(mix) = value.strip_prefix("color-mix(in srgb, ") else { return Some(value.to_owned()) };
    let (first, second) = mix.strip_suffix(')')?.split_once(", ")?;
    let (first, share) = first.strip_suffix('%')?.split_once(' ')?;
    let share = share.parse::<f64>().ok()? / 100.0;
    let part = |colour: &str, at: usize| u8::from_str_radix(colour.get(at..at + 2)?, 16).ok().map(f64::from);
    let parts = [1, 3, 5].map(|at| Some(share * part(first, at)? + (1.0 - share) * part(second, at)?));
    parts.into_iter().try_fold("#".to_owned(), |text, part| Some(format!("{text}{:02x}", part?.round() as u8)))
}

fn rules(style: &str) -> Vec<Rule<'_>> {
    let mut rules = Vec::new();
    let mut rest = style;
    while let Some((head, body)) = rest.split_once('{') {
        let head = head.trim();
        if head.starts_with('@') {
            rest = after_block(body);
            continue;
        }
        let Some((inner, after)) = body.split_once('}') else { break };
        let declarations = inner.split(';').filter_map(|one| one.split_once(':'));
        rules.push(Rule {
            selectors: head.split(',').map(str::trim).collect(),
            declarations: declarations.map(|(name, value)| (name.trim(), value.trim())).collect(),
        });
        rest = after;
    }
    rules
}

/// What follows a block that holds rules.
fn after_block(body: &str) -> &str {
    let mut open = 1;
    let end = body.char_indices().find(|(_, c)| {
        open += i32::from(*c == '{') - i32::from(*c == '}');
        open == 0
    });
    end.map_or("", |(at, _)| &body[at + 1..])
}

#[cfg(test)]
mod tests {
    use super::plain;
    use plimsoll_report::svg::STYLE;

    #[test]
    fn nothing_variable_is_left_of_our_own_style() {
        let plain = plain(STYLE);
        for left in ["var(", "--", "color-mix", "@media", ":root"] {
            assert!(!plain.contains(left), "{left}: {plain}");
        }
        assert!(plain.contains("svg .paper { fill: #fdfcf9; }"), "{plain}");
    }

    #[test]
    fn a_series_has_its_colour_wherever_its_class_is() {
        let style = ":root { --ink: #000000; --c1: #ff0000; }\n@media print { :root { --c1: #000000; } }\n\
                     .s1 { --c: var(--c1); }\nsvg .line { fill: none; stroke: var(--c, var(--ink)); }\n\
                     svg .name { fill: color-mix(in srgb, var(--c) 50%, var(--ink)); }\n";
        assert_eq!(
            plain(style),
            "svg .line { fill: none; stroke: #000000; }\nsvg .line.s1, .s1 .line { stroke: #ff0000; }\n\
             svg .name.s1, .s1 .name { fill: #800000; }\n"
        );
    }
}
