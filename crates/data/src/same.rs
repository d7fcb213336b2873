//! Whether two databases are the same: what they have, how it is defined, and what is in it. It is asked by SQL alone, so that
//! a migrated database can be held against its source on another server, of another version or vendor.

use crate::DataError;
use crate::target::OpenTarget;
use plimsoll_model::Flavour;
use plimsoll_model::text::escaped;
use plimsoll_watch::{Event, Watcher};
use plimsoll_wire::text::identifier;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// A sum over a large table takes a while.
const SUMMED_WITHIN: Duration = Duration::from_secs(24 * 3600);
/// So that moments are written alike, whatever the server's time zone and SQL mode, and no list of columns is cut off.
const SESSION: &str = "SET SESSION time_zone = '+00:00', SESSION sql_mode = '', SESSION group_concat_max_len = 1048576";

/// What servers are asked of the current database: the object, the aspect of it, and what that is. MySQL says NO ACTION where
/// MariaDB says RESTRICT, and both mean the same.
const QUERIES: [&str; 12] = [
    "SELECT CONCAT('table ', table_name), 'engine', engine FROM information_schema.tables \
     WHERE table_schema = DATABASE() AND table_type = 'BASE TABLE'",
    "SELECT CONCAT('table ', c.table_name), CONCAT('column ', c.column_name), CONCAT_WS('\\t', c.ordinal_position, \
     c.column_type, c.is_nullable, COALESCE(c.collation_name, ''), c.extra, COALESCE(c.column_default, 'NULL')) \
     FROM information_schema.columns c JOIN information_schema.tables t USING (table_schema, table_name) \
     WHERE c.table_schema = DATABASE() AND t.table_type = 'BASE TABLE'",
    "SELECT CONCAT('table ', table_name), CONCAT('index ', index_name), CONCAT(IF(non_unique = 0, 'unique ', ''), \
     CASE index_type WHEN 'FULLTEXT' THEN 'fulltext ' WHEN 'SPATIAL' THEN 'spatial ' ELSE '' END, '(', \
     GROUP_CONCAT(CONCAT(COALESCE(column_name, '?'), COALESCE(CONCAT('(', sub_part, ')'), ''), \
     IF(s.collation = 'D', ' desc', '')) ORDER BY seq_in_index), ')') FROM information_schema.statistics s \
     WHERE table_schema = DATABASE() GROUP BY table_name, index_name, non_unique, index_type",
    "SELECT CONCAT('table ', k.table_name), CONCAT('foreign key ', k.constraint_name), CONCAT('(', \
     GROUP_CONCAT(k.column_name ORDER BY k.ordinal_position), ') of ', k.referenced_table_name, ' (', \
     GROUP_CONCAT(k.referenced_column_name ORDER BY k.ordinal_position), ') on delete ', \
     REPLACE(r.delete_rule, 'NO ACTION', 'RESTRICT'), ' on update ', REPLACE(r.update_rule, 'NO ACTION', 'RESTRICT')) \
     FROM information_schema.key_column_usage k JOIN information_schema.referential_constraints r \
     USING (constraint_schema, constraint_name, table_name) \
     WHERE k.table_schema = DATABASE() AND k.referenced_table_name IS NOT NULL \
     GROUP BY k.table_name, k.constraint_name, k.referenced_table_name, r.delete_rule, r.update_rule",
    "SELECT CONCAT('table ', table_name), CONCAT('generated column ', column_name), generation_expression \
     FROM information_schema.columns WHERE table_schema = DATABASE() AND generation_expression <> ''",
    "SELECT CONCAT('table ', table_name), CONCAT('partition ', CONCAT_WS('/', partition_name, subpartition_name)), \
     CONCAT_WS(' ', partition_method, partition_expression, partition_description, subpartition_method, \
     subpartition_expression) FROM information_schema.partitions \
     WHERE table_schema = DATABASE() AND partition_name IS NOT NULL",
    "SELECT CONCAT('view ', table_name), 'is there', '' FROM information_schema.views WHERE table_schema = DATABASE()",
    "SELECT CONCAT('trigger ', trigger_name), 'on', CONCAT_WS(' ', action_timing, event_manipulation, event_object_table) \
     FROM information_schema.triggers WHERE trigger_schema = DATABASE() UNION ALL \
     SELECT CONCAT(LOWER(routine_type), ' ', routine_name), 'is there', '' FROM information_schema.routines \
     WHERE routine_schema = DATABASE()",
    "SELECT CONCAT('trigger ', trigger_name), 'does', action_statement FROM information_schema.triggers \
     WHERE trigger_schema = DATABASE()",
    "SELECT CONCAT(LOWER(routine_type), ' ', routine_name), 'does', \
     COALESCE(routine_definition, 'what is hidden from this login') FROM information_schema.routines \
     WHERE routine_schema = DATABASE()",
    "SELECT CONCAT('event ', event_name), 'comes', CONCAT_WS(' ', CONVERT(event_type USING utf8mb4), \
     CONVERT(interval_value USING utf8mb4), CONVERT(interval_field USING utf8mb4), CONVERT(status USING utf8mb4)) \
     FROM information_schema.events WHERE event_schema = DATABASE()",
    "SELECT CONCAT('event ', event_name), 'does', event_definition FROM information_schema.events \
     WHERE event_schema = DATABASE()",
];

/// Whether a server can tell of checks: MySQL has them since 8.0.16.
const HAS_CHECKS: &str = "SELECT 1 FROM information_schema.tables WHERE table_schema = 'information_schema' \
                          AND table_name = 'CHECK_CONSTRAINTS'";
/// The checks of tables; in MariaDB, two tables may each have one of a name.
const CHECKS_OF_MARIADB: &str = "SELECT CONCAT('table ', table_name), CONCAT('check ', constraint_name), check_clause \
                                 FROM information_schema.check_constraints WHERE constraint_schema = DATABASE()";
const CHECKS_OF_MYSQL: &str = "SELECT CONCAT('table ', t.table_name), CONCAT('check ', c.constraint_name), \
                               CONCAT(c.check_clause, IF(t.enforced = 'NO', ' not enforced', '')) \
                               FROM information_schema.check_constraints c JOIN information_schema.table_constraints t \
                               USING (constraint_schema, constraint_name) \
                               WHERE c.constraint_schema = DATABASE() AND t.constraint_type = 'CHECK'";
/// Aspects that are expressions, by how their names begin.
const EXPRESSIONS: [&str; 3] = ["check ", "generated column ", "partition "];
/// Parts of what [`QUERIES`] says of a column; the last is its default.
const COLUMN_PARTS: usize = 6;

/// What a database has, by object and aspect: `table stock`, `column s_quantity`.
pub type DatabaseContents = BTreeMap<String, BTreeMap<String, String>>;

/// A column, in the order of its table.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct SummedColumn {
    place: usize,
    name: String,
    kind: String,
}

impl SummedColumn {
    /// From its name, and from what [`QUERIES`] says it is.
    fn of(name: &str, is: &str) -> SummedColumn {
        let mut parts = is.splitn(3, '\t');
        let place = parts.next().and_then(|place| place.parse().ok()).unwrap_or(0);
        SummedColumn { place, name: name.to_owned(), kind: parts.next().unwrap_or_default().to_owned() }
    }
}

/// A place where two databases are not the same.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Unlike {
    /// `table stock`.
    pub object: String,
    /// `column s_quantity`, `rows`, `checksum`; none if one of them lacks the whole object.
    pub aspect: Option<String>,
    /// What each has; none if it has no such thing.
    pub a: Option<String>,
    pub b: Option<String>,
}

/// Asks for everything that a database has, and for rows and checksums of its tables.
///
/// # Errors
/// [`DataError::Refused`] if there is no such database; [`DataError::Environment`] with the server's words;
/// [`DataError::Interrupted`].
pub fn contents(target: &mut OpenTarget, watcher: &mut dyn Watcher) -> Result<DatabaseContents, DataError> {
    if !target.enter_database()? {
        return Err(DataError::Refused(format!("{}: there is no database `{}`", target.describe(), target.database)));
    }
    let failed = |failure| DataError::sql("comparing databases", &failure);
    target.control.set_limit(SUMMED_WITHIN);
    target.control.run(SESSION).map_err(failed)?;
    let has_checks = !target.control.rows(HAS_CHECKS).map_err(failed)?.rows.is_empty();
    let checks = match target.flavour {
        Flavour::MariaDb => CHECKS_OF_MARIADB,
        Flavour::MySql => CHECKS_OF_MYSQL,
    };
    let mut all = DatabaseContents::new();
    let mut columns_of: BTreeMap<String, Vec<SummedColumn>> = BTreeMap::new();
    for query in QUERIES.into_iter().chain(has_checks.then_some(checks)) {
        for row in target.control.rows(query).map_err(failed)?.rows {
            let [object, aspect, is] = [0, 1, 2].map(|at| row.get(at).cloned().flatten().unwrap_or_default());
            if let Some(column) = aspect.strip_prefix("column ") {
                columns_of.entry(object.clone()).or_default().push(SummedColumn::of(column, &is));
            }
            let is = plain(&aspect, &is);
            all.entry(object).or_default().insert(aspect, is);
        }
    }
    for (object, mut columns) in columns_of {
        if watcher.interrupted() {
            return Err(DataError::Interrupted);
        }
        let table = object.strip_prefix("table ").unwrap_or(&object);
        watcher.tell(Event::Doing(&format!("adding up {table} of {}", target.describe())));
        columns.sort();
        let rows = target.control.rows(&sum_query(table, &columns)).map_err(failed)?;
        let cells: Vec<String> = rows.rows.into_iter().flatten().map(Option::unwrap_or_default).collect();
        let of_table = all.entry(object).or_default();
        if let [count, sums @ ..] = &cells[..] {
            of_table.insert("rows".to_owned(), count.clone());
            of_table.insert("checksum".to_owned(), sums.join(" "));
        }
    }
    Ok(all)
}

/// What to ask of a table for its rows and two sums over them that do not depend on their order: as servers write values,
/// text in one character set, each value a CRC32, and each row one of those. Values that are put together, or written as digits,
/// may be longer than max_allowed_packet; then they are NULL, and nothing of them counts.
fn sum_query(table: &str, columns: &[SummedColumn]) -> String {
    let value = |column: &SummedColumn| {
        let name = identifier(&column.name);
        match written(&column.kind) {
            Written::Bytes => format!("CRC32({name})"),
            Written::Digits => format!("CRC32(HEX({name}))"),
            Written::Text => format!("CRC32(CONVERT({name} USING utf8mb4))"),
        }
    };
    let values: Vec<String> = columns.iter().map(value).collect();
    let nulls: Vec<String> = columns.iter().map(|column| format!("ISNULL({})", identifier(&column.name))).collect();
    let row = format!("CRC32(CONCAT_WS('#', {}, CONCAT({})))", values.join(", "), nulls.join(", "));
    format!("SELECT COUNT(*), COALESCE(BIT_XOR({row}), 0), COALESCE(SUM({row}), 0) FROM {}", identifier(table))
}

/// How values of a type are taken.
enum Written {
    Text,
    Bytes,
    /// Not every server takes them for bytes. They are short.
    Digits,
}

fn written(kind: &str) -> Written {
    let kind = kind.split('(').next().unwrap_or_default().to_ascii_lowercase();
    let is = |words: &[&str]| words.iter().any(|word| kind.contains(word));
    match () {
        () if is(&["binary", "blob"]) => Written::Bytes,
        () if is(&["bit", "vector", "geom", "point", "polygon", "linestring"]) => Written::Digits,
        () => Written::Text,
    }
}

/// What an aspect is, as both vendors would write it.
fn plain(aspect: &str, is: &str) -> String {
    match () {
        () if aspect.starts_with("column ") => plain_column(is),
        // Both vendors keep it as it was written.
        () if aspect == "does" => is.split_whitespace().collect::<Vec<_>>().join(" "),
        () if EXPRESSIONS.iter().any(|kind| aspect.starts_with(kind)) => expression(is),
        () => outside_quotes(is, str::to_ascii_lowercase),
    }
}

/// The definition of a column: MariaDB shows widths of integers and quotes defaults, MySQL says where a default is an
/// expression, and the name of utf8mb3 has changed.
fn plain_column(text: &str) -> String {
    let mut parts: Vec<&str> = text.splitn(COLUMN_PARTS, '\t').collect();
    let default = if parts.len() == COLUMN_PARTS { parts.pop() } else { None };
    let is_expression = parts.last().is_some_and(|extra| extra.contains("DEFAULT_GENERATED"));
    let definition = parts.iter().map(|part| {
        let plain = outside_quotes(part, str::to_ascii_lowercase);
        let plain = plain.replace("default_generated", "").replace("utf8mb3", "utf8");
        without_width(plain.trim()).replace("current_timestamp()", "current_timestamp")
    });
    let words = definition.chain(default.map(|default| plain_default(default, is_expression)));
    words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

/// The default of a column: a text means what it says.
fn plain_default(text: &str, is_expression: bool) -> String {
    let is_name = |name: &str| name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let is_call = text.split_once('(').is_some_and(|(name, rest)| is_name(name) && rest.ends_with(')'));
    // MariaDB does not say so.
    let is_unmarked = is_call || text.contains('`') || text.eq_ignore_ascii_case("current_timestamp");
    match text.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\'')) {
        Some(quoted) => quoted.replace("\\'", "'").replace("''", "'"),
        None if is_expression || is_unmarked => expression(text),
        None => text.to_owned(),
    }
}

/// An expression without what vendors write differently: MySQL sets more parentheses, says which character set a text has, and
/// escapes its quotes.
fn expression(text: &str) -> String {
    let plain = |piece: &str| {
        let head = piece.trim_end_matches(|c: char| c.is_ascii_alphanumeric() || c == '_');
        let piece = if piece[head.len()..].starts_with('_') { head } else { piece };
        let bare = piece.to_ascii_lowercase().replace(['(', ')'], " ").replace('`', "");
        bare.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    outside_quotes(&text.replace("\\'", "'"), plain)
}

/// A text with what is outside of quotes changed.
fn outside_quotes(text: &str, change: impl Fn(&str) -> String) -> String {
    let pieces = text.split('\'').enumerate();
    let changed = pieces.map(|(at, piece)| if at % 2 == 0 { change(piece) } else { piece.to_owned() });
    changed.collect::<Vec<_>>().join("'")
}

/// `int unsigned` of `int(10) unsigned`.
fn without_width(kind: &str) -> String {
    let integers = ["tinyint(", "smallint(", "mediumint(", "bigint(", "int(", "year("];
    let Some((name, rest)) = integers.iter().find(|name| kind.starts_with(**name)).and_then(|_| kind.split_once('('))
    else {
        return kind.to_owned();
    };
    match rest.split_once(')') {
        Some((_, after)) => format!("{name}{after}"),
        None => kind.to_owned(),
    }
}

/// Where two databases differ, object by object.
pub fn unlike(a: &DatabaseContents, b: &DatabaseContents) -> Vec<Unlike> {
    let objects: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
    let mut all = Vec::new();
    for object in objects {
        match (a.get(object), b.get(object)) {
            (Some(of_a), Some(of_b)) => all.extend(aspects(object, of_a, of_b)),
            (of_a, of_b) => {
                let is = |there: Option<&_>| there.map(|_| "is there".to_owned());
                all.push(Unlike { object: object.clone(), aspect: None, a: is(of_a), b: is(of_b) });
            }
        }
    }
    all
}

fn aspects(object: &str, a: &BTreeMap<String, String>, b: &BTreeMap<String, String>) -> Vec<Unlike> {
    let names: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
    let differing = names.into_iter().filter(|name| a.get(*name) != b.get(*name));
    let unlike = |name: &String| Unlike {
        object: object.to_owned(),
        aspect: Some(name.clone()),
        a: a.get(name).cloned(),
        b: b.get(name).cloned(),
    };
    differing.map(unlike).collect()
}

impl Unlike {
    /// `table stock, column s_quantity: int not null in A, bigint not null in B`.
    pub fn in_words(&self) -> String {
        let is =
            |there: &Option<String>| there.as_deref().map_or("nothing".to_owned(), |text| escaped(text).to_string());
        let aspect = self.aspect.as_ref().map(|aspect| format!(", {}", escaped(aspect))).unwrap_or_default();
        format!("{}{aspect}: {} in A, {} in B", escaped(&self.object), is(&self.a), is(&self.b))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn definitions_are_compared_as_both_vendors_write_them() {
        let pairs = [
            ("1\tint(11)\tNO\t\tauto_increment\tNULL", "1\tint\tNO\t\tauto_increment\tNULL"),
            ("2\tint(10) unsigned\tYES\t\t\tNULL", "2\tint unsigned\tYES\t\t\tNULL"),
            ("3\tchar(60)\tNO\tutf8_general_ci\t\t''", "3\tchar(60)\tNO\tutf8mb3_general_ci\t\t"),
            ("4\tdatetime\tNO\t\t\tcurrent_timestamp()", "4\tdatetime\tNO\t\tDEFAULT_GENERATED\tCURRENT_TIMESTAMP"),
        ];
        for (mariadb, mysql) in pairs {
            assert_eq!(plain_column(mariadb), plain_column(mysql));
        }
        assert_ne!(plain_column("1\tint\tNO\t\t\tNULL"), plain_column("1\tbigint\tNO\t\t\tNULL"));
        assert_ne!(plain_column("1\tchar(60)\tNO"), plain_column("1\tchar(61)\tNO"));
    }

    #[test]
    fn what_is_in_quotes_means_what_it_says() {
        let members = |kind: &str| plain("column c", &format!("1\t{kind}\tNO\tutf8mb4_bin\t\tNULL"));
        assert_eq!(members("enum('A','it''s')"), members("ENUM('A','it''s')"));
        assert_ne!(members("enum('A')"), members("enum('a')"));
        let default = |text: &str| plain("column c", &format!("1\tchar(9)\tNO\tutf8mb4_bin\t\t{text}"));
        assert_eq!(default("'Open'"), default("Open"));
        assert_eq!(default("'it\\'s'"), default("it's"));
        assert_ne!(default("Open"), default("open"));
        assert_eq!(default("'None (yet)'"), default("None (yet)"));
        assert_eq!(plain("engine", "InnoDB"), "innodb");
    }

    #[test]
    fn what_triggers_routines_and_events_do_is_asked_for() {
        for (object, of) in [("trigger", "triggers"), ("event", "events"), ("' ', routine_name", "routines")] {
            let asking = QUERIES.iter().filter(|query| query.contains(object) && query.contains(of));
            assert_eq!(asking.filter(|query| query.contains("'does'")).count(), 1, "{of}");
        }
        assert_eq!(plain("does", "BEGIN\n  SET @a = 'X';\nEND"), plain("does", "BEGIN SET @a = 'X'; END"));
        assert_ne!(plain("does", "SET @a = 'X'"), plain("does", "SET @a = 'x'"));
    }

    #[test]
    fn expressions_are_compared_as_both_vendors_write_them() {
        let pairs = [
            ("check positive", "`a` > 0", "(`a` > 0)"),
            (
                "check both",
                "`a` > 0 and `b` in ('X','y')",
                "((`a` > 0) and (`b` in (_utf8mb4\\'X\\',_utf8mb4\\'y\\')))",
            ),
            ("generated column c", "concat(`a`,' ',`b`)", "concat(`a`,_utf8mb4\\' \\',`b`)"),
            ("partition p0", "RANGE `id` 100", "RANGE `id` 100"),
        ];
        for (aspect, mariadb, mysql) in pairs {
            assert_eq!(plain(aspect, mariadb), plain(aspect, mysql));
        }
        assert_ne!(plain("check c", "`a` > 0"), plain("check c", "`a` > 1"));
        assert_ne!(plain("check c", "`a` = 'X'"), plain("check c", "`a` = 'x'"));
        assert_ne!(plain("generated column c", "`a` + 1"), plain("generated column c", "`b` + 1"));
    }

    #[test]
    fn a_sum_takes_each_value_by_itself_and_marks_what_is_null() {
        let of = |columns: [(&str, &str); 2]| columns.map(|(name, is)| SummedColumn::of(name, is));
        let query = sum_query("t", &of([("id", "1\tint\tNO"), ("b`c", "2\tVARBINARY(9)\tYES")]));
        let row = "CRC32(CONCAT_WS('#', CRC32(CONVERT(`id` USING utf8mb4)), CRC32(`b``c`), \
                   CONCAT(ISNULL(`id`), ISNULL(`b``c`))))";
        assert!(query.contains(row) && query.ends_with(" FROM `t`"), "{query}");
        let query = sum_query("t", &of([("f", "1\tbit(3)\tNO"), ("e", "2\tenum('bit')\tNO")]));
        assert!(query.contains("CRC32(HEX(`f`)), CRC32(CONVERT(`e` USING utf8mb4))"), "{query}");
    }

    #[test]
    fn what_differs_is_named_with_both_sides() {
        let of = |objects: &[(&str, &str, &str)]| {
            let mut all = DatabaseContents::new();
            for (object, aspect, is) in objects {
                all.entry((*object).to_owned()).or_default().insert((*aspect).to_owned(), (*is).to_owned());
            }
            all
        };
        let a = of(&[("table t", "rows", "5"), ("table t", "engine", "innodb"), ("view v", "is there", "")]);
        let b = of(&[("table t", "rows", "4"), ("table t", "engine", "innodb"), ("table u", "rows", "1")]);
        let told: Vec<String> = unlike(&a, &b).iter().map(Unlike::in_words).collect();
        let expected = [
            "table t, rows: 5 in A, 4 in B",
            "table u: nothing in A, is there in B",
            "view v: is there in A, nothing in B",
        ];
        assert_eq!(told, expected);
        assert!(unlike(&a, &a).is_empty());
    }
}
