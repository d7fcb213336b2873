//! Configurations that a search tries in any case: what others would set at once.

use super::TuneArm;
use crate::knowledge::settings::facts;
use crate::lab::space::build::TodaysServer;
use crate::lab::space::{Levels, SearchSpace};
use plimsoll_model::Flavour;

const GIB: f64 = (1u64 << 30) as f64;
const MIB: f64 = (1u64 << 20) as f64;

/// The arms of a search on this server, each as it fits the space: Plimsoll's baseline, of which `set` is what it sets itself, what
/// the server sets on a machine of its own, and those of the plan. What would be today's server, or that of an arm before it, is left
/// out, and so is what exceeds a limit of the space.
pub fn arms(
    server: &TodaysServer<'_>,
    space: &SearchSpace,
    set: &[(String, String)],
    of_plan: &[TuneArm],
) -> Vec<TuneArm> {
    let mut known: Vec<Levels> = vec![space.today()];
    let mut fitted = Vec::new();
    for arm in
        [Some(baseline(server, space, set)), dedicated(server)].into_iter().flatten().chain(of_plan.iter().cloned())
    {
        let value = |name: &str| arm.settings.iter().find(|(of, _)| of == name).map(|(_, value)| value.as_str());
        let levels = space.nearest(value);
        if known.contains(&levels) || space.exceeded(&levels).is_some() {
            continue;
        }
        let settings = space.changed(&levels).into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        fitted.push(TuneArm { name: arm.name, settings });
        known.push(levels);
    }
    fitted
}

fn arm(name: &str, settings: &[(&str, String)]) -> TuneArm {
    let settings = settings.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
    TuneArm { name: name.to_owned(), settings }
}

/// A private server as Plimsoll starts it: with what it sets itself, and defaults.
fn baseline(server: &TodaysServer<'_>, space: &SearchSpace, set: &[(String, String)]) -> TuneArm {
    let value = |name: &str| {
        let set = set.iter().find(|(of, _)| of == name).map(|(_, value)| value.clone());
        set.or_else(|| Some(facts(name)?.default(server.release)?.to_owned()))
    };
    let settings = space.dimensions.iter().filter_map(|of| Some((of.name.clone(), value(&of.name)?)));
    TuneArm { name: "baseline".to_owned(), settings: settings.collect() }
}

/// What `innodb_dedicated_server` sets (MySQL 8.0, 8.3 and 8.4 Reference Manual, 17.8.12); none of a server without it.
fn dedicated(server: &TodaysServer<'_>) -> Option<TuneArm> {
    let (flavour, version) = (server.release.flavour, server.release.version);
    if flavour != Flavour::MySql || version < (8, 0, 30) {
        return None;
    }
    let memory = server.machine.memory as f64;
    let pool = match memory / GIB {
        gib if gib < 1.0 => 128.0 * MIB,
        gib if gib <= 4.0 => 0.5 * memory,
        _ => 0.75 * memory,
    };
    let redo = match memory / GIB {
        _ if version >= (8, 4, 0) => (0.5 * server.machine.cpus as f64).clamp(0.5, 16.0) * GIB,
        gib if gib <= 2.0 => 100.0 * MIB,
        gib if gib <= 4.0 => GIB,
        gib if gib <= 10.66 => (0.75 * gib).round() * 0.5 * GIB,
        gib => (0.5625 * gib).round().min(128.0) * GIB,
    };
    let flush_method = if version >= (8, 4, 0) { "O_DIRECT" } else { "O_DIRECT_NO_FSYNC" };
    Some(arm(
        "dedicated-server",
        &[
            ("innodb_buffer_pool_size", bytes(pool)),
            ("innodb_redo_log_capacity", bytes(redo)),
            ("innodb_flush_method", flush_method.to_owned()),
        ],
    ))
}

fn bytes(number: f64) -> String {
    (number as u64).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knowledge::Release;
    use crate::lab::space::build::{AskedSettings, SpaceHost, space};
    use crate::origin::Where;
    use crate::setting::Setting;

    fn arms_of(release: &str, config: &[(&str, &str)], of_plan: &[TuneArm]) -> Vec<TuneArm> {
        let setting = |(name, value): &(&str, &str)| Setting {
            name: (*name).to_owned(),
            value: (*value).to_owned(),
            at: Where::default(),
            from_file: false,
        };
        let config: Vec<Setting> = config.iter().map(setting).collect();
        let server = TodaysServer {
            release: Release::parse(release).unwrap(),
            machine: SpaceHost { memory: 8 << 30, cpus: 4, disk: 100 << 30 },
            config: &config,
            connections: 16,
        };
        let names =
            ["innodb_buffer_pool_size", "innodb_redo_log_capacity", "innodb_log_file_size", "innodb_io_capacity"];
        let searched = space(&server, &AskedSettings::Named(names.map(str::to_owned).to_vec()), &[]);
        arms(&server, &searched, &[("innodb_buffer_pool_size".to_owned(), "2G".to_owned())], of_plan)
    }

    fn value<'a>(arms: &'a [TuneArm], arm: &str, name: &str) -> Option<&'a str> {
        let arm = arms.iter().find(|of| of.name == arm)?;
        arm.settings.iter().find(|(of, _)| of == name).map(|(_, value)| value.as_str())
    }

    #[test]
    fn an_arm_is_what_others_would_set() {
        let arms = arms_of("mysql-8.4", &[("innodb_io_capacity", "150")], &[]);
        assert_eq!(value(&arms, "baseline", "innodb_buffer_pool_size"), Some("2G"));
        assert_eq!(value(&arms, "baseline", "innodb_io_capacity"), Some("10240"), "its default, in steps");
        assert_eq!(value(&arms, "dedicated-server", "innodb_buffer_pool_size"), Some("6G"));
        assert_eq!(value(&arms, "dedicated-server", "innodb_redo_log_capacity"), Some("2G"), "half a GiB for each CPU");
        let of_mariadb = arms_of("mariadb-10.11", &[], &[]);
        let names: Vec<&str> = of_mariadb.iter().map(|arm| arm.name.as_str()).collect();
        assert_eq!(names, ["baseline"], "MariaDB sets nothing itself");
    }

    #[test]
    fn an_arm_is_cut_to_the_space_and_none_is_tried_twice() {
        let own = arm("own", &[("innodb_buffer_pool_size", "1000G".to_owned()), ("max_connections", "9".to_owned())]);
        let arms = arms_of(
            "mariadb-10.11",
            &[("innodb_buffer_pool_size", "2G")],
            &[own.clone(), TuneArm { name: "again".to_owned(), ..own }],
        );
        let names: Vec<&str> = arms.iter().map(|arm| arm.name.as_str()).collect();
        assert_eq!(names, ["own"], "the baseline is today's server");
        assert_eq!(value(&arms, "own", "innodb_buffer_pool_size"), Some("6G"), "75 % of the memory");
        assert_eq!(value(&arms, "own", "max_connections"), None);
    }
}
