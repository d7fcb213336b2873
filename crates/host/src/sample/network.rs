//! `/proc/self/net`: interfaces and TCP.

use plimsoll_model::samples::NetworkSample;
use std::collections::BTreeMap;

/// Reads `dev` (proc_pid_net(5)): counters since the interfaces were created. Interfaces that never carried anything
/// are left out.
pub(super) fn interfaces(text: &str) -> BTreeMap<String, NetworkSample> {
    let used = |(_, sample): &(String, NetworkSample)| sample.received_packets > 0 || sample.sent_packets > 0;
    text.lines().filter_map(interface).filter(used).collect()
}

fn interface(line: &str) -> Option<(String, NetworkSample)> {
    let (name, numbers) = line.rsplit_once(':')?;
    let mut fields = numbers.split_ascii_whitespace().map_while(|field| field.parse::<u64>().ok());
    let (received_bytes, received_packets) = (fields.next()?, fields.next()?);
    let (receive_errors, receive_dropped) = (fields.next()?, fields.next()?);
    // They are followed by overruns, frame errors, compressed, multicast.
    let (sent_bytes, sent_packets) = (fields.nth(4)?, fields.next()?);
    let (send_errors, send_dropped) = (fields.next()?, fields.next()?);
    let sample = NetworkSample {
        received_bytes,
        received_packets,
        sent_bytes,
        sent_packets,
        errors: receive_errors.saturating_add(send_errors),
        dropped: receive_dropped.saturating_add(send_dropped),
    };
    Some((name.trim().to_owned(), sample))
}

/// What an interface did since `before`.
pub(super) fn since(now: &NetworkSample, before: &NetworkSample) -> NetworkSample {
    NetworkSample {
        received_bytes: now.received_bytes.saturating_sub(before.received_bytes),
        received_packets: now.received_packets.saturating_sub(before.received_packets),
        sent_bytes: now.sent_bytes.saturating_sub(before.sent_bytes),
        sent_packets: now.sent_packets.saturating_sub(before.sent_packets),
        errors: now.errors.saturating_sub(before.errors),
        dropped: now.dropped.saturating_sub(before.dropped),
    }
}

/// Reads `snmp`: TCP segments retransmitted since boot (`RetransSegs`, RFC 4022). Each line of numbers follows a line
/// of names.
pub(super) fn retransmits(text: &str) -> Option<u64> {
    let mut tcp = text.lines().filter_map(|line| line.strip_prefix("Tcp:"));
    let place = tcp.next()?.split_ascii_whitespace().position(|name| name == "RetransSegs")?;
    tcp.next()?.split_ascii_whitespace().nth(place)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEV: &str = "\
Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier
    lo: 1000      10    0    0    0     0          0         0     1000      10    0    0    0     0       0          0
  eth0:5000000 4000 1 2 0 0 0 7 600000 3000 3 4 0 0 0 0
 dummy0: 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0
";

    #[test]
    fn interfaces_that_carry_something_are_read() {
        let found = interfaces(DEV);
        assert_eq!(found.keys().collect::<Vec<_>>(), ["eth0", "lo"]);
        let eth0 = NetworkSample {
            received_bytes: 5_000_000,
            received_packets: 4000,
            sent_bytes: 600_000,
            sent_packets: 3000,
            errors: 4,
            dropped: 6,
        };
        assert_eq!(found["eth0"], eth0);
        let before = NetworkSample { sent_bytes: 599_000, dropped: 7, ..eth0 };
        let moved = since(&eth0, &before);
        assert_eq!((moved.sent_bytes, moved.received_bytes, moved.dropped), (1000, 0, 0));
    }

    #[test]
    fn retransmits_stand_below_their_name() {
        let text =
            "Ip: Forwarding DefaultTTL\nIp: 1 64\nTcp: RtoAlgorithm OutSegs RetransSegs InErrs\nTcp: 1 900 15 0\n";
        assert_eq!(retransmits(text), Some(15));
        assert_eq!(retransmits("Tcp: RtoAlgorithm OutSegs\nTcp: 1 900\n"), None);
        assert_eq!(retransmits("Tcp: RetransSegs\n"), None);
    }
}
