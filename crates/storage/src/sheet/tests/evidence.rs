//! No sentence without evidence, whichever measurements are missing, failed or did nothing.

use super::*;
use crate::suite::Suite;
use plimsoll_load::seed::Rng;
use plimsoll_model::OpKind;
use std::collections::BTreeSet;

/// A measurement of every step of all suites, as one may come out: quick and slow, so that sentences go either way.
fn measured(rng: &mut Rng) -> Vec<Probe> {
    let facts = DeviceFacts {
        free_bytes: Some(1 << 40),
        memory_bytes: Some(8 << 30),
        atomic_write_bytes: Some((4096, 1 << 20)),
        ..disk()
    };
    let steps = [Suite::Full, Suite::Percona2008].map(|suite| suite.steps(&suite.extent(&facts), true));
    // Repeats of one job are alike, so that no noise speaks where its measurements are left out.
    let rate = 500.0 + 4000.0 * (rng.next_u64() % 4) as f64;
    let sync_us = 60.0 + 60.0 * (rng.next_u64() % 3) as f64;
    let flushes = (rng.next_u64() % 2) as f64;
    let each = |step: crate::probe::ProbeStep| {
        let repeated = [1, 2, 6, 13].contains(&step.probe);
        let iops = if repeated { rate } else { 100.0 + (rng.next_u64() % 8) as f64 * 700.0 };
        let mut probe = Probe {
            probe: step.probe,
            id: step.id,
            name: step.name.to_owned(),
            params: step.params,
            seconds: [1.5, 10.0][(rng.next_u64() % 2) as usize],
            iops: Some(iops),
            mb_per_second: Some(iops * 0.016384),
            operations: [(OpKind::Write, 100), (OpKind::Sync, 100)].into(),
            flushes_per_op: Some(flushes),
            cpu_us_per_op: Some(17.0),
            ..Probe::default()
        };
        probe.found.insert("read_kb_per_second".to_owned(), iops * 4.0);
        for kind in Probe::KINDS {
            let p50 = if kind == OpKind::Sync { sync_us } else { 1e6 / iops };
            probe = with_latency(probe, kind, p50, 3.0 * p50);
        }
        probe.response_us = probe.latency_us.clone();
        with_series(&[iops; 60], probe)
    };
    steps.into_iter().flatten().map(each).collect()
}

/// As it may have gone wrong.
fn fails(probe: Probe, how: u64) -> Option<Probe> {
    match how {
        0 => None,
        1 => Some(Probe {
            iops: None,
            error: Some("cannot write 17.0: No space left on device (os error 28)".to_owned()),
            ..probe
        }),
        2 => Some(Probe { iops: Some(0.0), operations: [].into(), latency_us: [].into(), ..probe }),
        _ => Some(probe),
    }
}

#[test]
fn no_sentence_without_its_evidence() {
    let device = DeviceFacts { atomic_write_bytes: Some((4096, 1 << 20)), ..disk() };
    let of_facts = ["flush_method", "atomic_page_writes"];
    let mut said: BTreeSet<String> = BTreeSet::new();
    for seed in 0..150 {
        let rng = &mut Rng::new(seed, 0, 0);
        // From all of them to one in thirty.
        let chances = [4, 8, 90][(seed % 3) as usize];
        let probes: Vec<Probe> = measured(rng)
            .into_iter()
            .filter_map(|probe| {
                let how = rng.next_u64() % chances;
                fails(probe, if seed % 2 == 0 { how } else { how % 5 })
            })
            .collect();
        let sound: Vec<Probe> =
            probes.iter().filter(|probe| probe.error.is_none() && probe.iops > Some(0.0)).cloned().collect();
        let claims = |probes: &[Probe]| -> Vec<SheetLine> {
            sheet(&device, probes).into_iter().filter(|line| line.topic != "Not measured").collect()
        };
        let lines = claims(&probes);
        assert_eq!(lines, claims(&sound), "seed {seed}: what failed makes no claim");
        for line in &lines {
            let named: Vec<Probe> = sound.iter().filter(|probe| line.probes.contains(&probe.id)).cloned().collect();
            assert_eq!(named.len(), line.probes.len(), "seed {seed}: it rests on what was measured: {line:?}");
            match named.is_empty() {
                true => assert!(of_facts.contains(&line.key.as_str()) && !sound.is_empty(), "seed {seed}: {line:?}"),
                // What it names is all that it takes.
                false => assert!(claims(&named).contains(line), "seed {seed}: {line:#?} of {:#?}", claims(&named)),
            }
            said.insert(line.key.clone());
        }
    }
    assert!(said.len() > 40, "it is about all sentences: {said:?}");
}
