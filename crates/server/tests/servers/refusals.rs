use crate::place::{NAME, home_at, on_each_server, on_one_server};
use plimsoll_host::sample;
use plimsoll_model::Build;
use plimsoll_model::Flavour;
use plimsoll_server::{Opening, PrivateServer, Selector, ServerError, find, registry};
use plimsoll_testkit::programs::write_script;
use plimsoll_testkit::servers;
use std::fs;
use std::os::unix::fs::symlink;

#[test]
fn a_broken_setting_is_told_in_the_servers_own_words() {
    on_each_server(|place| {
        let mut settings = place.settings();
        settings.set("innodb_bufer_pool_size", "1G", "a typing error").unwrap();
        let error = PrivateServer::open(&place.home, NAME, &place.build, &settings, Opening::new("a test"));
        let message = error.unwrap_err().to_string();
        assert!(message.contains("innodb_bufer_pool_size") && message.contains("error.log"), "{message}");
        assert!(registry::clean(&place.home).cleaned.is_empty());
        drop(place.open(Opening::new("a test")).unwrap());
    });
}

#[test]
fn what_is_not_ours_is_refused_and_left_untouched() {
    on_one_server(|place| {
        let refused = |what: &str| {
            let message = match place.open(Opening::new("a test")) {
                Err(e @ ServerError::Foreign { .. }) => e.to_string(),
                other => panic!("{what}: {other:?}"),
            };
            assert!(message.contains(what), "{message}");
        };
        let elsewhere = place.home.path().join("elsewhere");
        fs::create_dir_all(&elsewhere).unwrap();
        fs::create_dir_all(place.home.servers()).unwrap();

        symlink(&elsewhere, place.path()).unwrap();
        refused("symbolic link");
        assert!(registry::list(&place.home).unwrap().is_empty());
        assert!(matches!(&registry::clean(&place.home).left[..], [ServerError::Foreign { .. }]));
        assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 0);
        fs::remove_file(place.path()).unwrap();

        fs::create_dir(place.path()).unwrap();
        fs::write(place.path().join("thesis.txt"), "precious").unwrap();
        refused("thesis.txt");
        fs::write(place.path().join("server.json"), "{\"name\": \"mine\"}").unwrap();
        refused("not the record of a private server");
        registry::clean(&place.home);
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 2, "something was added or removed");
        fs::remove_dir_all(place.path()).unwrap();

        drop(place.open(Opening::new("a test")).unwrap());
        let data = place.path().join("data");
        fs::rename(&data, elsewhere.join("data")).unwrap();
        symlink(elsewhere.join("data"), &data).unwrap();
        refused("symbolic link");
        fs::remove_file(&data).unwrap();
        fs::create_dir(&data).unwrap();
        refused("plimsoll-data.json");
    });
}

#[test]
fn data_of_another_series_are_refused_with_the_remedy() {
    on_one_server(|place| {
        drop(place.open(Opening::new("a test")).unwrap());
        let marker = place.path().join("data/plimsoll-data.json");
        let older = Build { version: "10.4.34-MariaDB".into(), ..place.build.clone() };
        fs::write(&marker, serde_json::to_vec(&older).unwrap()).unwrap();
        let message = place.open(Opening::new("a test")).unwrap_err().to_string();
        for part in ["10.4.34", &place.build.version, "--server PATH", &place.path().display().to_string()] {
            assert!(message.contains(part), "{part} is missing in: {message}");
        }
    });
}

#[test]
fn a_name_is_no_path() {
    on_one_server(|place| {
        for name in ["", "../up", "/etc", "a/b", ".hidden", "UPPER", "a\n", &"x".repeat(65)] {
            let error = PrivateServer::open(&place.home, name, &place.build, &place.settings(), Opening::new("a test"));
            assert!(matches!(error, Err(ServerError::Name { .. })), "{name}");
        }
        assert!(matches!(registry::error_log(&place.home, "nobody"), Err(ServerError::Unknown { .. })));
    });
}

#[test]
fn a_launcher_that_stays_in_between_is_refused() {
    on_one_server(|place| {
        let launcher = place.home.path().join("mariadbd");
        let text = format!("#!/bin/sh\n{} \"$@\"\nexit $?\n", place.build.binary.display());
        write_script(&launcher, &text);
        let build = find(&Selector::Path(place.home.path().to_owned())).unwrap();
        assert_eq!((&build.version, &build.binary), (&place.build.version, &launcher));
        let error = PrivateServer::open(&place.home, NAME, &build, &place.settings(), Opening::new("a test"));
        let message = error.unwrap_err().to_string();
        assert!(message.contains("must `exec` the server"), "{message}");
    });
}

#[test]
fn the_selectors_find_what_they_say() {
    on_one_server(|place| {
        match find(&Selector::Flavour(Flavour::MariaDb)) {
            Ok(mariadb) => assert_eq!(find(&Selector::Auto).unwrap(), mariadb),
            Err(e) => assert!(matches!(e, ServerError::NoBuild { .. }), "{e}"),
        }
        assert_eq!(find(&Selector::Path(place.build.binary.clone())).unwrap(), place.build);
        let nothing = find(&Selector::Path(place.home.path().to_owned())).unwrap_err();
        assert!(matches!(nothing, ServerError::NotAServer { .. }), "{nothing}");
    });
}

#[test]
fn a_full_disk_is_told_and_what_was_half_copied_is_given_back() {
    on_one_server(|place| {
        // The template must not be made there: its own trouble is another one.
        drop(place.open(Opening::new("a test")).unwrap());
        let Some(disk) = servers::tmpfs(8 << 20) else { return };
        let home = home_at(disk.path());
        let free = sample::disk_free(disk.path()).unwrap();
        let opened = PrivateServer::open(&home, NAME, &place.build, &place.settings(), Opening::new("a test"));
        let message = opened.unwrap_err().to_string();
        assert!(message.contains("cannot copy to") && message.contains("No space left"), "{message}");
        assert!(sample::disk_free(disk.path()).unwrap() + (1 << 20) > free);
        assert!(registry::clean(&home).cleaned.is_empty());
    });
}
