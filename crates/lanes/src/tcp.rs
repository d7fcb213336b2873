//! TCP settings of both ends of a network lane: `tcp=nosack+nots+mem=8M`. Their names are short, because a lane's name is
//! part of paths. A namespace has its own settings, so that nothing else on the machine is changed (tcp(7)).

use plimsoll_plan::quantity;

pub const ACCEPTED: &str = "nosack (no selective acknowledgements), nots (no timestamps), mem=SIZE (the longest socket buffers, 64K or \
                            more), joined by +";

/// Of a socket buffer, bytes: the least that a connection keeps, and what it begins with (tcp(7), `tcp_rmem`).
const LEAST: u64 = 4096;
const FIRST: u64 = 87_380;
/// Shorter ones could not even begin.
const SHORTEST: u64 = 65_536;

/// The name of a setting without `tcp_`, and its value as the kernel reads it.
pub type TcpSetting = (&'static str, String);

/// Reads a modifier's value; none if something of it is not accepted.
pub fn settings(text: &str) -> Option<Vec<TcpSetting>> {
    Some(text.split('+').map(setting).collect::<Option<Vec<_>>>()?.concat())
}

fn setting(text: &str) -> Option<Vec<TcpSetting>> {
    match text.split_once('=') {
        None if text == "nosack" => Some(vec![("sack", "0".to_owned())]),
        None if text == "nots" => Some(vec![("timestamps", "0".to_owned())]),
        Some(("mem", size)) => {
            let most = quantity::size(size).ok().filter(|most| (SHORTEST..=u64::from(u32::MAX >> 1)).contains(most))?;
            let buffers = format!("{LEAST} {} {most}", FIRST.min(most));
            Some(vec![("rmem", buffers.clone()), ("wmem", buffers)])
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_those_of_the_kernel() {
        let buffers = "4096 87380 8388608".to_owned();
        let expected = vec![("sack", "0".to_owned()), ("rmem", buffers.clone()), ("wmem", buffers)];
        assert_eq!(settings("nosack+mem=8M"), Some(expected));
        for wrong in ["", "sack", "nosack+", "mem", "mem=1K", "mem=1T", "nosack=1"] {
            assert_eq!(settings(wrong), None, "{wrong}");
        }
    }
}
