//! Modes of `sql_mode` that servers no longer have.

use super::release::Release;
use plimsoll_model::Flavour;

/// Modes that MySQL removed in 8.0.11 (MySQL 8.0 manual, "What Is New in MySQL 8.0"); MariaDB has all of them.
const GONE: [&str; 11] = [
    "DB2",
    "MAXDB",
    "MSSQL",
    "MYSQL323",
    "MYSQL40",
    "NO_AUTO_CREATE_USER",
    "NO_FIELD_OPTIONS",
    "NO_KEY_OPTIONS",
    "NO_TABLE_OPTIONS",
    "ORACLE",
    "POSTGRESQL",
];

/// The modes of a value with which a server of this release does not start, in their order.
pub fn gone(value: &str, release: Release) -> Vec<&'static str> {
    if release.flavour == Flavour::MariaDb || release.version < (8, 0, 11) {
        return Vec::new();
    }
    let of_mode = |mode: &str| GONE.into_iter().find(|gone| gone.eq_ignore_ascii_case(mode.trim()));
    value.split(',').filter_map(of_mode).collect()
}

/// A value without these modes.
pub fn without(value: &str, gone: &[&str]) -> String {
    let is_kept = |mode: &&str| !gone.iter().any(|gone| gone.eq_ignore_ascii_case(mode.trim()));
    value.split(',').filter(is_kept).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_of_old_are_gone_from_mysql_alone() {
        let value = "STRICT_TRANS_TABLES,no_auto_create_user, ORACLE,NO_ENGINE_SUBSTITUTION";
        let of = |release: &str| gone(value, Release::parse(release).unwrap());
        assert_eq!(of("mysql-8.4"), ["NO_AUTO_CREATE_USER", "ORACLE"]);
        assert_eq!(without(value, &of("mysql-8.4")), "STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION");
        for release in ["mysql-5.7", "mysql-8.0.4", "mariadb-11.8"] {
            assert!(of(release).is_empty(), "{release}");
        }
    }
}
