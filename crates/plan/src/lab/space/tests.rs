use super::build::{AskedSettings, SpaceHost, TodaysServer, space};
use super::*;
use crate::knowledge::settings::all_settings;
use crate::knowledge::{Release, classes};
use crate::origin::Where;
use crate::setting::Setting;
use plimsoll_model::Class;

const GIB: u64 = 1 << 30;
const RELEASES: [&str; 5] = ["mysql-8.0.45", "mysql-8.4", "mysql-9.7", "mariadb-10.11.19", "mariadb-11.8.9"];

fn config(settings: &[(&str, &str)]) -> Vec<Setting> {
    let at = Where { file: "my.cnf".to_owned(), line: 1 };
    let setting = |(name, value): &(&str, &str)| Setting {
        name: (*name).to_owned(),
        value: (*value).to_owned(),
        at: at.clone(),
        from_file: true,
    };
    settings.iter().map(setting).collect()
}

fn made(release: &str, settings: &[(&str, &str)], asked: &AskedSettings, allowed: &[Class]) -> SearchSpace {
    let config = config(settings);
    let server = TodaysServer {
        release: Release::parse(release).unwrap(),
        machine: SpaceHost { memory: 8 * GIB, cpus: 4, disk: 100 * GIB },
        config: &config,
        connections: 64,
    };
    space(&server, asked, allowed)
}

fn named(names: &[&str]) -> AskedSettings {
    AskedSettings::Named(names.iter().map(|name| (*name).to_owned()).collect())
}

fn why<'s>(space: &'s SearchSpace, name: &str) -> &'s str {
    space.left_out.iter().find(|left| left.name == name).map_or("it is in", |left| &left.why)
}

#[test]
fn what_is_worth_trying_is_read_for_every_setting_and_release() {
    for release in RELEASES {
        let all: Vec<&str> = all_settings().filter(|(_, facts)| facts.search.is_some()).map(|(name, _)| name).collect();
        let space = made(release, &[], &named(&all), &[]);
        let unread: Vec<&SettingLeftOut> =
            space.left_out.iter().filter(|left| left.why.contains("cannot be read")).collect();
        assert!(unread.is_empty(), "{release}: {unread:?}");
        assert!(space.dimensions.len() >= 25, "{release}: {}", space.dimensions.len());
        for dimension in &space.dimensions {
            assert!(dimension.range.is_some() || dimension.words.len() > 1, "{release}: {dimension:?}");
        }
        assert_eq!(space.exceeded(&space.today()), None);
        assert!(space.changed(&space.today()).is_empty(), "nothing is changed today");
    }
}

#[test]
fn nothing_unsafe_is_in_a_space_unless_it_is_allowed() {
    for release in RELEASES {
        let flavour = Release::parse(release).unwrap().flavour;
        for allowed in [&[][..], &[Class::D1], &[Class::D1, Class::D1p, Class::D2]] {
            let space = made(release, &[], &AskedSettings::Top(usize::MAX), allowed);
            for dimension in &space.dimensions {
                let levels = (0..dimension.words.len()).map(SettingLevel::Word);
                let shares =
                    (0..=20).filter(|_| dimension.range.is_some()).map(|n| SettingLevel::At(f64::from(n) / 20.0));
                for level in levels.chain(shares).filter(|level| *level != dimension.today) {
                    let text = dimension.text(level).expect("a level has a value");
                    let unsafe_here: Vec<Class> = classes(&dimension.name, &text, flavour)
                        .into_iter()
                        .filter(|class| *class != Class::A && !allowed.contains(class))
                        .collect();
                    assert!(unsafe_here.is_empty(), "{release}: {} = {text} costs {unsafe_here:?}", dimension.name);
                }
            }
        }
    }
}

#[test]
fn a_loss_that_is_allowed_may_be_tried() {
    let asked = named(&["innodb_flush_log_at_trx_commit", "innodb_doublewrite"]);
    let strict = made("mysql-9.7", &[], &asked, &[]);
    assert!(strict.dimensions.is_empty(), "{strict:?}");
    assert_eq!(why(&strict, "innodb_doublewrite"), "other values cost safety that is not allowed: d2");
    let bold = made("mysql-9.7", &[], &asked, &[Class::D1]);
    assert_eq!(bold.dimensions.len(), 1);
    assert_eq!(bold.dimensions[0].words, ["1", "2"], "0 would lose commits already if the process dies");
}

#[test]
fn a_range_ends_where_the_machine_does() {
    let space = made("mysql-9.7", &[], &named(&["innodb_buffer_pool_size", "innodb_log_buffer_size"]), &[]);
    let pool = &space.dimensions[0];
    assert_eq!(pool.text(SettingLevel::At(1.0)).as_deref(), Some("6G"), "75 % of 8 GiB");
    assert_eq!((pool.today, pool.text(pool.today)), (SettingLevel::At(0.0), None), "128M, which nobody set");
    let most = [SettingLevel::At(1.0), SettingLevel::At(1.0)];
    assert_eq!(space.exceeded(&most), None, "6.25 of 8 GiB");
    let small =
        SearchSpace { limits: vec![SpaceLimit { most: 6.0 * GIB as f64, ..space.limits[0].clone() }], ..space.clone() };
    let limit = small.exceeded(&most).expect("more than fits");
    assert!(limit.why.contains("% of the memory"), "{}", limit.why);
}

#[test]
fn todays_value_is_in_the_space_whatever_it_is() {
    let odd = [("innodb_buffer_pool_size", "20G"), ("innodb_io_capacity", "150"), ("innodb_flush_method", "nosync")];
    let space = made("mariadb-10.11.19", &odd, &named(&odd.map(|(name, _)| name)), &[]);
    for (dimension, (name, value)) in space.dimensions.iter().zip(odd) {
        assert_eq!((dimension.name.as_str(), dimension.text(dimension.today).as_deref()), (name, Some(value)));
        assert_eq!(dimension.level(value), Some(dimension.today));
    }
    // More memory than there is may stay as it is, but not become more.
    assert_eq!(space.exceeded(&space.today()), None);
}

#[test]
fn what_a_setting_needs_is_another_setting_or_the_server_as_it_is() {
    let asked = named(&["thread_handling", "thread_pool_size", "binlog_commit_wait_count"]);
    let space = made("mariadb-11.8.9", &[], &asked, &[]);
    assert_eq!(why(&space, "binlog_commit_wait_count"), "it needs log_bin = ON");
    let pooled = space.dimensions[0].words.iter().position(|word| word == "pool-of-threads").unwrap();
    let idle = space.tidy(vec![space.dimensions[0].today, SettingLevel::At(0.5)]);
    assert_eq!(idle[1], SettingLevel::Idle);
    let active = space.tidy(vec![SettingLevel::Word(pooled), SettingLevel::At(0.5)]);
    assert!(matches!(active[1], SettingLevel::At(_)), "{active:?}");
    let names: Vec<&str> = space.changed(&active).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["thread_handling", "thread_pool_size"]);
    let woken = space.tidy(vec![SettingLevel::Word(pooled), space.dimensions[1].today]);
    assert_eq!(space.changed_places(&woken), [0], "what has its own value of today is unchanged");
    let alone = made("mariadb-11.8.9", &[], &named(&["thread_pool_size"]), &[]);
    assert_eq!(why(&alone, "thread_pool_size"), "it needs thread_handling = pool-of-threads");
}

#[test]
fn one_setting_may_not_exceed_another() {
    let asked = named(&["innodb_io_capacity", "innodb_io_capacity_max"]);
    let space = made("mariadb-10.11.19", &[("innodb_io_capacity_max", "2000")], &asked, &[]);
    let limit = space.exceeded(&[SettingLevel::At(1.0), SettingLevel::At(0.5)]).expect("20000 is more");
    assert_eq!(limit.why, "innodb_io_capacity_max is at least innodb_io_capacity");
    assert_eq!(space.exceeded(&[SettingLevel::At(0.5), SettingLevel::At(1.0)]), None);
}

#[test]
fn a_value_and_its_level_stand_for_each_other() {
    let space = made("mysql-9.7", &[], &AskedSettings::Top(usize::MAX), &[]);
    for dimension in &space.dimensions {
        for share in [0.0, 0.013, 0.2, 0.37, 0.5, 0.81, 1.0] {
            let level = dimension.snapped(SettingLevel::At(share));
            let Some(text) = dimension.range.as_ref().and_then(|_| dimension.text(level)) else { continue };
            assert_eq!(dimension.level(&text), Some(level), "{} = {text}", dimension.name);
        }
    }
}

#[test]
fn numbers_are_written_as_people_write_them() {
    let pool = ValueRange { low: 134_217_728.0, high: 8e9, is_log: true, step: 134_217_728.0, is_size: true };
    assert_eq!(pool.text(0.0), "128M");
    assert!(pool.text(0.5).ends_with('M') || pool.text(0.5).ends_with('G'), "{}", pool.text(0.5));
    let capacity = ValueRange { low: 200.0, high: 20_000.0, is_log: true, step: 1.0, is_size: false };
    assert_eq!((capacity.text(0.0), capacity.text(1.0)), ("200".to_owned(), "20000".to_owned()));
    let share = capacity.share(2_000.0).unwrap();
    assert!((share - 0.5).abs() < 1e-9, "{share}");
    assert_eq!(capacity.share(100.0), None);
}

#[test]
fn a_setting_that_is_not_there_is_left_out_with_its_reason() {
    let asked = named(&["innodb_redo_log_capacity", "innodb_page_size", "no_such_setting", "innodb_log_buffer_size"]);
    let space = made("mariadb-10.11.19", &[], &asked, &[]);
    assert_eq!(why(&space, "innodb_redo_log_capacity"), "MariaDB 10.11.19 has no such setting");
    assert_eq!(why(&space, "innodb_page_size"), "it is fixed when a data directory is made");
    assert_eq!(why(&space, "no_such_setting"), "it is not known which of its values are worth trying");
    let few = made("mariadb-10.11.19", &[], &AskedSettings::Top(3), &[]);
    assert_eq!(few.dimensions.len(), 3);
    assert_eq!(why(&few, "innodb_lru_scan_depth"), "3 others come first");
}

#[test]
fn a_log_leaves_the_disk_to_others() {
    let named = named(&["innodb_log_file_size"]);
    let values = |disk: u64| {
        let server = TodaysServer {
            release: Release::parse("mariadb-10.11.19").unwrap(),
            machine: SpaceHost { memory: 8 * GIB, cpus: 4, disk },
            config: &[],
            connections: 8,
        };
        space(&server, &named, &[])
    };
    assert_eq!(values(100 * GIB).dimensions[0].in_words(), "96M to 10G");
    assert_eq!(values(33 * GIB).dimensions[0].in_words(), "96M to 3328M");
    assert!(why(&values(GIB / 2), "innodb_log_file_size").contains("too little room on the disk"));
}

#[test]
fn a_setting_that_has_another_name_today_is_not_tried_under_its_old_one() {
    let named = named(&["innodb_redo_log_capacity", "innodb_log_file_size"]);
    let of_mysql = made("mysql-9.7", &[], &named, &[]);
    let names: Vec<&str> = of_mysql.dimensions.iter().map(|of| of.name.as_str()).collect();
    assert_eq!(names, ["innodb_redo_log_capacity"]);
    assert!(why(&of_mysql, "innodb_log_file_size").contains("is called innodb_redo_log_capacity since MySQL 8.0.30"));
}
