//! The machine, the network and the load generator: what no setting of the server mends.

use super::super::{WindowFinding, WindowVerdict, share_words};
use super::{MUCH, SeenServer, sized};
use WindowVerdict::{Fine, Found, Unseen};
use plimsoll_model::advice::Severity;
use plimsoll_model::diagnosis::Bottleneck;
use plimsoll_model::number::binary_size;

/// In which a pool is made smaller, bytes.
const STEP: f64 = 1_048_576.0;
/// A pool is not made smaller than this, bytes: it is the default of servers, and something else takes the memory.
const LEAST_POOL: f64 = 134_217_728.0;

/// The machine swaps, or tasks wait for memory.
pub fn memory(seen: &SeenServer) -> WindowVerdict {
    let Some(swapped) = seen.signals.host.swapped_bytes.filter(|_| seen.is_here) else {
        return Unseen("swapping of the server’s machine");
    };
    if !seen.swaps() && seen.share(Bottleneck::Memory) < MUCH {
        return Fine;
    }
    let smaller = |pool: f64| ((0.75 * pool / STEP).floor() * STEP).max(LEAST_POOL);
    let pool = seen.number("innodb_buffer_pool_size");
    let wanted = pool.map(smaller).filter(|wanted| pool.is_some_and(|pool| *wanted < pool));
    Found(WindowFinding {
        // Whatever else would be worth something: not on a machine that swaps.
        worth: 1.0,
        severity: Severity::Critical,
        changes: wanted.map(|wanted| ("innodb_buffer_pool_size", sized(wanted))).into_iter().collect(),
        found: format!("{} a second were swapped; {}", binary_size(swapped), share_words(seen, Bottleneck::Memory)),
        advised: wanted.is_none().then(|| "end what else takes memory on this machine, or give it more".to_owned()),
        why: "What is swapped costs more than what a larger pool saves.".to_owned(),
    })
}

/// A control group or a hypervisor holds the server back.
pub fn throttled(seen: &SeenServer) -> WindowVerdict {
    limited(
        seen,
        Bottleneck::Throttled,
        "raise its limit of CPU time",
        "No setting of the server reaches beyond its limit.",
    )
}

pub fn network(seen: &SeenServer) -> WindowVerdict {
    let advised = "bring clients nearer, or let each round trip do more";
    limited(seen, Bottleneck::Network, advised, "The server waits for its clients' next packet.")
}

pub fn client(seen: &SeenServer) -> WindowVerdict {
    let advised = "measure again with more CPUs for the load generator (--loops), or from another machine";
    limited(seen, Bottleneck::Client, advised, "The server could do more than it was asked.")
}

pub fn cpu(seen: &SeenServer) -> WindowVerdict {
    let advised = "look at what statements cost: plans, indexes, columns that nobody reads";
    limited(seen, Bottleneck::Cpu, advised, "Its CPUs are busy; settings move that by a few percent.")
}

/// Something limits the load point that is clear of all others.
fn limited(seen: &SeenServer, bottleneck: Bottleneck, advised: &str, why: &str) -> WindowVerdict {
    if seen.limit != Some(bottleneck) {
        return Fine;
    }
    Found(WindowFinding {
        worth: seen.share(bottleneck),
        severity: Severity::Warn,
        changes: Vec::new(),
        found: share_words(seen, bottleneck),
        advised: Some(advised.to_owned()),
        why: why.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::super::fixtures::{change, healthy, limited_by, says};
    use super::*;

    #[test]
    fn a_machine_that_swaps_needs_a_smaller_pool() {
        let mut seen = healthy();
        seen.signals.host.swapped_bytes = Some(1e7);
        assert_eq!(change("mem.too-much", &seen), Some(("innodb_buffer_pool_size", "768M".to_owned())));
        seen.is_here = false;
        assert!(matches!(says("mem.too-much", &seen), Unseen(_)), "a server elsewhere does not swap here");
    }

    #[test]
    fn a_small_pool_is_not_what_makes_a_machine_swap() {
        let mut seen = healthy();
        seen.signals.host.swapped_bytes = Some(1e7);
        seen.settings.insert("innodb_buffer_pool_size".to_owned(), "167772160".to_owned());
        assert_eq!(change("mem.too-much", &seen), Some(("innodb_buffer_pool_size", "128M".to_owned())));
        seen.settings.insert("innodb_buffer_pool_size".to_owned(), "134217728".to_owned());
        let Found(found) = says("mem.too-much", &seen) else { panic!() };
        assert!(found.changes.is_empty() && found.advised.is_some_and(|advised| advised.contains("memory")));
    }

    #[test]
    fn what_limits_beside_the_server_is_named() {
        for (id, bottleneck) in [
            ("host.throttle", Bottleneck::Throttled),
            ("net.round-trips", Bottleneck::Network),
            ("client.bound", Bottleneck::Client),
            ("cpu.bound", Bottleneck::Cpu),
        ] {
            let Found(found) = says(id, &limited_by(bottleneck)) else { panic!("{id}") };
            assert!(found.changes.is_empty() && found.found.contains("70 %"), "{found:?}");
            assert_eq!(says(id, &limited_by(Bottleneck::ReadIo)), Fine, "{id}");
        }
    }
}
