"""Reference values for comparisons over rounds, from SciPy and NumPy.

From the repository's root: /usr/bin/python3 crates/stats/tests/reference/rounds.py \
    > crates/stats/tests/reference/rounds.json
"""
import json
import warnings

import numpy as np
from scipy import optimize, stats

CONFIDENCE = 0.95
# What crates/stats/src/comparison.rs resamples, and how often it is repeated here to see how much that leaves to chance.
RESAMPLES = 9_999
REPETITIONS = 200


def rounds(rng, n, change, deviation):
    """Throughput of n interleaved rounds of both sides, to 4 digits, on a machine that drifts."""
    drift = 0.05 * rng.standard_normal(n).cumsum()
    a = 900 * np.exp(drift + deviation * rng.standard_normal(n))
    b = 900 * (1 + change) * np.exp(drift + deviation * rng.standard_t(4, n))
    return np.round(a, 1), np.round(b, 1)


def share(logarithms):
    return [float(np.expm1(value)) for value in logarithms]


def paired_t(a, b, confidence):
    test = stats.ttest_rel(np.log(b), np.log(a))
    return share(test.confidence_interval(confidence))


def bootstrap_t(a, b, rng):
    """Ends on the log scale: their means over the repetitions, and their standard deviations."""
    d = np.log(b / a)
    error = stats.sem(d)
    ends = []
    for _ in range(REPETITIONS):
        resamples = rng.choice(d, (RESAMPLES, d.size))
        t = (resamples.mean(axis=1) - d.mean()) / stats.sem(resamples, axis=1)
        ends.append(d.mean() - error * np.quantile(t, [0.5 + CONFIDENCE / 2, 0.5 - CONFIDENCE / 2]))
    return np.mean(ends, axis=0).tolist(), np.std(ends, axis=0, ddof=1).tolist()


def welch(a, b):
    a, b = np.log(a), np.log(b)
    of_a, of_b = a.var(ddof=1) / a.size, b.var(ddof=1) / b.size
    degrees = (of_a + of_b) ** 2 / (of_a**2 / (a.size - 1) + of_b**2 / (b.size - 1))
    difference, error = b.mean() - a.mean(), np.sqrt(of_a + of_b)
    p_value = stats.ttest_ind(b, a, equal_var=False).pvalue
    assert np.isclose(p_value, 2 * stats.t.sf(abs(difference / error), degrees), rtol=1e-9)
    return share(stats.t.interval(CONFIDENCE, degrees, difference, error))


def noise_floor(values):
    ratios = np.diff(np.log(values))
    n = ratios.size
    variance = np.mean(ratios**2)
    correlation = np.clip(np.mean(ratios[1:] * ratios[:-1]) / variance, -0.5, 0)
    effective_n = n**2 / (n + 2 * (n - 1) * correlation**2)
    ends = variance * effective_n / stats.chi2.isf([0.025, 0.975], effective_n)
    value, low, high = share(stats.norm.isf(0.025) * np.sqrt([variance, *ends]))
    return {"rounds": list(values), "value": value, "low": low, "high": high, "effective_n": effective_n}


def power(effect, spread, n):
    """Of a paired t test at 5 % two-sided, by the noncentral t distribution; effect and spread on the log scale."""
    limit = stats.t.ppf(0.975, n - 1)
    return stats.nct.sf(limit, n - 1, effect / spread * np.sqrt(n))


def pairs_needed(spread, effect):
    n = 3
    while power(abs(np.log1p(effect)), spread, n) < 0.8:
        n += 1
    return {"spread": spread, "effect": effect, "pairs": n}


def detectable(spread, n):
    found = optimize.brentq(lambda effect: power(effect, spread, n) - 0.8, 0.1 * spread / n**0.5, 9 * spread / n**0.5)
    return {"spread": spread, "pairs": n, "effect": float(np.expm1(found))}


def main():
    warnings.simplefilter("ignore", RuntimeWarning)  # nct.cdf at a density that underflows
    rng = np.random.default_rng(20261122)
    cases = {"student": [], "bootstrap": [], "welch": [], "noise_floor": [], "pairs_needed": [], "detectable": []}
    for n, change, confidence in [(3, 0.1, 0.95), (5, -0.15, 0.95), (8, 0.0, 0.99), (19, 0.02, 0.9)]:
        a, b = rounds(rng, n, change, 0.03)
        low, high = paired_t(a, b, confidence)
        value = float(stats.gmean(b / a) - 1)
        cases["student"].append(
            {"a": a.tolist(), "b": b.tolist(), "confidence": confidence, "value": value, "low": low, "high": high}
        )
    for n, change in [(20, -0.15), (35, 0.02)]:
        a, b = rounds(rng, n, change, 0.03)
        ends, deviations = bootstrap_t(a, b, rng)
        cases["bootstrap"].append({"a": a.tolist(), "b": b.tolist(), "log_ends": ends, "deviations": deviations})
    for n, m in [(3, 3), (5, 8), (20, 4)]:
        a, b = rounds(rng, n, 0.0, 0.01)[0], rounds(rng, m, 0.3, 0.06)[1]
        low, high = welch(a, b)
        value = float(stats.gmean(b) / stats.gmean(a) - 1)
        cases["welch"].append({"a": a.tolist(), "b": b.tolist(), "value": value, "low": low, "high": high})
    for values in [rounds(rng, 4, 0, 0.03)[0], 900 + 20 * rng.standard_normal(12), rounds(rng, 20, 0, 0.005)[0]]:
        cases["noise_floor"].append(noise_floor(np.round(values, 1)))
    spreads = [0.01, 0.03, 0.08]
    effects = [-0.15, -0.05, 0.01, 0.02, 0.1]
    cases["pairs_needed"] = [pairs_needed(spread, effect) for spread in spreads for effect in effects]
    cases["detectable"] = [detectable(spread, n) for spread in spreads for n in [3, 5, 8, 20, 100]]
    print(json.dumps(cases, indent=1))


main()
