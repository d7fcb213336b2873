//! What a server's process shows about its settings, in `/proc` (proc(5)).

use super::behaviour::Shown;
use plimsoll_plan::knowledge::value::same_value;
use rustix::fs::OFlags;
use std::fs;
use std::path::{Path, PathBuf};

/// A running server as the kernel sees it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Process {
    /// Tables that it has open, and how many of them past the page cache.
    pub(super) tables: usize,
    pub(super) direct: usize,
    /// Memory in huge pages, KiB.
    pub(super) huge_kib: u64,
    /// It has a queue of libaio or io_uring.
    pub(super) native_aio: bool,
}

impl Process {
    /// `None` if the process is gone or another user's.
    pub(super) fn of(pid: u32) -> Option<Process> {
        let directory = PathBuf::from(format!("/proc/{pid}"));
        let status = fs::read_to_string(directory.join("status")).ok()?;
        let maps = fs::read_to_string(directory.join("maps")).ok()?;
        let mut process =
            Process { huge_kib: huge_kib(&status), native_aio: maps.contains("/[aio]"), ..Process::default() };
        for descriptor in fs::read_dir(directory.join("fd")).ok()?.flatten() {
            let Ok(file) = fs::read_link(descriptor.path()) else { continue };
            if file == Path::new("anon_inode:[io_uring]") {
                process.native_aio = true;
            }
            if file.extension().is_some_and(|extension| extension == "ibd") {
                let info = fs::read_to_string(directory.join("fdinfo").join(descriptor.file_name()));
                process.tables += 1;
                process.direct += usize::from(info.is_ok_and(|info| is_direct(&info)));
            }
        }
        Some(process)
    }

    /// What the process shows about a setting; `None` if nothing can be observed here.
    pub(super) fn shows(&self, name: &str, value: &str) -> Option<Shown> {
        match name {
            "innodb_flush_method" => self.direct_io(value.to_ascii_uppercase().starts_with("O_DIRECT")),
            "innodb_data_file_buffering" => self.direct_io(same_value(value, "OFF")),
            "large_pages" => Some(Shown {
                what: format!("{} MiB of its memory are in huge pages", self.huge_kib >> 10),
                contradicts: same_value(value, "ON") != (self.huge_kib > 0),
            }),
            "innodb_use_native_aio" => Some(Shown {
                what: format!("it has {} queue of libaio or io_uring", if self.native_aio { "a" } else { "no" }),
                contradicts: same_value(value, "ON") != self.native_aio,
            }),
            _ => None,
        }
    }

    fn direct_io(&self, wanted: bool) -> Option<Shown> {
        let Process { tables, direct, .. } = self;
        let what = format!("{direct} of {tables} open table files bypass the page cache");
        let expected = if wanted { *tables } else { 0 };
        (*tables > 0).then_some(Shown { what, contradicts: *direct != expected })
    }
}

fn huge_kib(status: &str) -> u64 {
    let line = status.lines().find_map(|line| line.strip_prefix("HugetlbPages:"));
    line.and_then(|rest| rest.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

/// The flags of a descriptor, in octal.
fn is_direct(info: &str) -> bool {
    let flags = info.lines().find_map(|line| line.strip_prefix("flags:"));
    flags.and_then(|flags| u32::from_str_radix(flags.trim(), 8).ok()).is_some_and(|f| f & OFlags::DIRECT.bits() != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptors_and_memory_are_read_as_the_kernel_writes_them() {
        let direct = format!("pos:\t0\nflags:\t{:o}\nmnt_id:\t27\n", OFlags::DIRECT.bits() | 0o100_002);
        assert!(is_direct(&direct) && !is_direct("pos:\t0\nflags:\t0100002\n"));
        assert_eq!(huge_kib("Name:\tmysqld\nHugetlbPages:\t  204800 kB\n"), 204_800);
    }

    #[test]
    fn what_the_process_shows_can_contradict() {
        let process = Process { tables: 8, direct: 8, huge_kib: 0, native_aio: true };
        let contradicts = |name, value| process.shows(name, value).map(|shown| shown.contradicts);
        assert_eq!(contradicts("innodb_flush_method", "O_DIRECT_NO_FSYNC"), Some(false));
        assert_eq!(contradicts("innodb_flush_method", "fsync"), Some(true));
        assert_eq!(contradicts("innodb_data_file_buffering", "OFF"), Some(false));
        assert_eq!(contradicts("large_pages", "ON"), Some(true));
        assert_eq!(contradicts("large_pages", "0"), Some(false));
        assert_eq!(contradicts("innodb_use_native_aio", "1"), Some(false));
        assert_eq!(contradicts("innodb_use_native_aio", "OFF"), Some(true));
        assert_eq!(contradicts("innodb_io_capacity", "100"), None);
        let none_open = Process { tables: 0, direct: 0, ..process };
        assert_eq!(none_open.shows("innodb_flush_method", "O_DIRECT"), None);
    }
}
