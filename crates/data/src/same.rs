//! Whether two databases are the same: what they have, how it is defined, and what is in it. It is asked by SQL alone, so that
//! a migrated database can be held against its source on another server, of another version or vendor.

use crate::DataError;
use crate::target::OpenTarget;
use plimsoll_model::text::escaped;
use plimsoll_watch::{Event, Watcher};
use plimsoll_wire::text::identifier;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// A sum over a large table takes a while.
const SUMMED_WITHIN: Duration = Duration::from_secs(24 * 3600);
/// So that moments are written alike, whatever the server's time zone and SQL mode.
const SESSION: &str = "SET SESSION time_zone = '+00:00', SESSION sql_mode = ''";

/// What servers are asked of the current database: the object, the aspect of it, and what that is.
const QUERIES: [&str; 6] = [
    "SELECT CONCAT('table ', table_name), 'engine', engine FROM information_schema.tables \
     WHERE table_schema = DATABASE() AND table_type = 'BASE TABLE'",
    "SELECT CONCAT('table ', c.table_name), CONCAT('column ', c.column_name), CONCAT_WS('\\t', c.ordinal_position, \
     c.column_type, c.is_nullable, COALESCE(c.collation_name, ''), c.extra, COALESCE(c.column_default, 'NULL')) \
     FROM information_schema.columns c JOIN information_schema.tables t USING (table_schema, table_name) \
     WHERE c.table_schema = DATABASE() AND t.table_type = 'BASE TABLE'",
    "SELECT CONCAT('table ', table_name), CONCAT('index ', index_name), CONCAT(IF(non_unique = 0, 'unique ', ''), '(', \
     GROUP_CONCAT(CONCAT(COALESCE(column_name, '?'), COALESCE(CONCAT('(', sub_part, ')'), '')) ORDER BY seq_in_index), ')') \
     FROM information_schema.statistics WHERE table_schema = DATABASE() GROUP BY table_name, index_name, non_unique",
    "SELECT CONCAT('table ', table_name), CONCAT('foreign key ', constraint_name), CONCAT('(', \
     GROUP_CONCAT(column_name ORDER BY ordinal_position), ') of ', referenced_table_name, ' (', \
     GROUP_CONCAT(referenced_column_name ORDER BY ordinal_position), ')') FROM information_schema.key_column_usage \
     WHERE table_schema = DATABASE() AND referenced_table_name IS NOT NULL \
     GROUP BY table_name, constraint_name, referenced_table_name",
    "SELECT CONCAT('view ', table_name), 'is there', '' FROM information_schema.views WHERE table_schema = DATABASE()",
    "SELECT CONCAT('trigger ', trigger_name), 'on', CONCAT_WS(' ', action_timing, event_manipulation, event_object_table) \
     FROM information_schema.triggers WHERE trigger_schema = DATABASE() UNION ALL \
     SELECT CONCAT(LOWER(routine_type), ' ', routine_name), 'is there', '' FROM information_schema.routines \
     WHERE routine_schema = DATABASE()",
];

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
    let mut all = DatabaseContents::new();
    let mut columns_of: BTreeMap<String, Vec<SummedColumn>> = BTreeMap::new();
    for query in QUERIES {
        for row in target.control.rows(query).map_err(failed)?.rows {
            let [object, aspect, is] = [0, 1, 2].map(|at| row.get(at).cloned().flatten().unwrap_or_default());
            if let Some(column) = aspect.strip_prefix("column ") {
                columns_of.entry(object.clone()).or_default().push(SummedColumn::of(column, &is));
            }
            all.entry(object).or_default().insert(aspect, plain(&is));
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
/// text in one character set and bytes as digits, each row a CRC32.
fn sum_query(table: &str, columns: &[SummedColumn]) -> String {
    let value = |column: &SummedColumn| match is_bytes(&column.kind) {
        true => format!("HEX({})", identifier(&column.name)),
        false => format!("CONVERT({} USING utf8mb4)", identifier(&column.name)),
    };
    let values: Vec<String> = columns.iter().map(value).collect();
    let nulls: Vec<String> = columns.iter().map(|column| format!("ISNULL({})", identifier(&column.name))).collect();
    let row = format!("CRC32(CONCAT_WS('#', {}, CONCAT({})))", values.join(", "), nulls.join(", "));
    format!("SELECT COUNT(*), COALESCE(BIT_XOR({row}), 0), COALESCE(SUM({row}), 0) FROM {}", identifier(table))
}

/// Whether values of this type have no character set.
fn is_bytes(kind: &str) -> bool {
    let kind = kind.to_ascii_lowercase();
    ["binary", "blob", "bit", "geometry", "point", "polygon", "linestring"].iter().any(|word| kind.contains(word))
}

/// A definition as both vendors would write it: MariaDB shows widths of integers and quotes defaults, MySQL says where a
/// default is an expression, and the name of utf8mb3 has changed.
fn plain(text: &str) -> String {
    let lower = text.to_ascii_lowercase().replace("default_generated", "").replace("utf8mb3", "utf8");
    let words = lower.split('\t').map(|word| match word.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\'')) {
        Some(quoted) => quoted.to_owned(),
        None => without_width(word.trim()).replace("current_timestamp()", "current_timestamp"),
    });
    words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
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
            assert_eq!(plain(mariadb), plain(mysql));
        }
        assert_ne!(plain("1\tint\tNO\t\t\tNULL"), plain("1\tbigint\tNO\t\t\tNULL"));
        assert_ne!(plain("1\tchar(60)\tNO"), plain("1\tchar(61)\tNO"));
    }

    #[test]
    fn a_sum_takes_bytes_as_digits_and_marks_what_is_null() {
        let columns =
            [("id", "1\tint\tNO"), ("b`c", "2\tVARBINARY(9)\tYES")].map(|(name, is)| SummedColumn::of(name, is));
        let query = sum_query("t", &columns);
        let row =
            "CRC32(CONCAT_WS('#', CONVERT(`id` USING utf8mb4), HEX(`b``c`), CONCAT(ISNULL(`id`), ISNULL(`b``c`))))";
        assert!(query.contains(row) && query.ends_with(" FROM `t`"), "{query}");
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
