"""Reference values for the knee, the Universal Scalability fit and the deltas, from SciPy.

From the repository's root: /usr/bin/python3 crates/stats/tests/reference/scaling.py \
    > crates/stats/tests/reference/scaling.json
"""
import json

import numpy as np
from scipy import optimize, stats

LOADS = [2, 4, 8, 16, 32, 64, 128, 256]
SWEEPS = {
    # Sun BluePrint on MySQL and sysbench, 2008, tables 3-2 and 3-3: transactions per second.
    "read_only": (LOADS, [104.73, 251.33, 451.56, 555.64, 577.96, 563.84, 558.66, 519.96]),
    "read_write": (LOADS, [146.04, 232.05, 291.1, 289.12, 288.51, 297.32, 295.32, 273.91]),
    # SPEC SDM91 on a SPARCcenter 2000: scripts per hour over generators (Gunther 2007, chapter 5).
    "specsdm91": ([1, 18, 36, 72, 108, 144, 216], [64.9, 995.9, 1652.4, 1853.2, 1828.9, 1775.0, 1702.2]),
}


def law(load, gamma, alpha, beta):
    return gamma * load / (1 + alpha * (load - 1) + beta * load * (load - 1))


def log_law(load, log_gamma, alpha, beta):
    return np.log(law(load, np.exp(log_gamma), alpha, beta))


def ends(value, half):
    return [value - half, value + half]


def around(function, at, step=1e-6):
    """Gradient by central differences."""
    at = np.asarray(at)
    steps = [step * max(abs(x), 1e-3) * unit for x, unit in zip(at, np.eye(len(at)))]
    return np.array([(function(at + h) - function(at - h)) / (2 * h.sum()) for h in steps])


def fit(loads, rates):
    loads, logs = np.array(loads, float), np.log(rates)
    bounds = ([-np.inf, 0, 0], [np.inf] * 3)
    found, covariance = optimize.curve_fit(
        log_law, loads, logs, p0=[logs[0], 0.1, 1e-3], bounds=bounds, method="dogbox", jac="cs",
        ftol=1e-15, xtol=1e-15, gtol=1e-15)
    degrees = len(loads) - 3
    t = stats.t.ppf(0.975, degrees)
    half = t * np.sqrt(np.diag(covariance))
    result = {
        "loads": loads.tolist(),
        "rates": list(rates),
        "gamma": [np.exp(found[0]), *np.exp(ends(found[0], half[0]))],
        "alpha": [found[1], *np.clip(ends(found[1], half[1]), 0, None)],
        "beta": [found[2], *np.clip(ends(found[2], half[2]), 0, None)],
        "residual": np.sqrt(np.sum((logs - log_law(loads, *found)) ** 2) / degrees),
        "peak_load": None,
        "peak_throughput": None,
    }
    if found[2] > 1e-9:
        # The loads at which the curve's slope may be 0, sought instead of solved for.
        def slope(load):
            spread = t * np.sqrt(covariance[1, 1] + 2 * load**2 * covariance[1, 2] + load**4 * covariance[2, 2])
            return 1 - found[1] - load**2 * found[2], spread

        def root(sign, low, high):
            f = lambda load: slope(load)[0] + sign * slope(load)[1]
            return optimize.brentq(f, low, high, xtol=1e-10) if f(low) * f(high) < 0 else None

        peak = optimize.minimize_scalar(
            lambda load: -log_law(load, *found), bounds=(1, 1e4), method="bounded", options={"xatol": 1e-9}).x
        result["peak_load"] = [peak, root(-1, 0, peak), root(+1, peak, 1e6)]

        def height(parameters):
            top = np.sqrt((1 - parameters[1]) / parameters[2])
            return log_law(top, *parameters)

        gradient = around(height, found)
        spread = t * np.sqrt(gradient @ covariance @ gradient)
        result["peak_throughput"] = np.exp([height(found), *ends(height(found), spread)]).tolist()
    return result


def mean(values):
    """Mean with a t interval, and how many values it is of."""
    half = stats.t.ppf(0.975, len(values) - 1) * stats.sem(values)
    return [np.mean(values), np.mean(values) - half, np.mean(values) + half, len(values)]


def errors(groups):
    """Standard error of each group's mean as a share of it, and its degrees of freedom."""
    return np.array([stats.sem(g) / np.mean(g) for g in groups]), np.array([len(g) - 1 for g in groups])


def welch(own, other, own_degrees, other_degrees, tail):
    """How far the difference of two logarithms reaches on one side."""
    variance = own**2 + other**2
    degrees = variance**2 / (own**4 / own_degrees + other**4 / other_degrees)
    return np.sqrt(variance) * stats.t.isf(tail, degrees)


def delta(base, group):
    (own, other), (own_degrees, other_degrees) = errors([base, group])
    ratio = np.log(np.mean(group) / np.mean(base))
    return np.expm1([ratio, *ends(ratio, welch(own, other, own_degrees, other_degrees, 0.025))]).tolist()


def first_above(loads, heights, wanted):
    """Where a line over log2(load) first reaches a height, by looking at a fine grid."""
    grid = np.linspace(np.log2(loads[0]), np.log2(loads[-1]), 2_000_001)
    above = np.interp(grid, np.log2(loads), heights) >= wanted - 1e-12
    return float(2 ** grid[np.argmax(above)]) if above.any() else None


def knee(loads, groups):
    means = np.array([np.mean(g) for g in groups])
    error, degrees = errors(groups)
    peak, logs = np.argmax(means), np.log(means)
    reach = lambda tail: welch(error[:, None], error[None, :], degrees[:, None], degrees[None, :], tail)
    against = logs[:, None] - logs[None, :]
    contends = (against[:, peak] + reach(0.025)[:, peak] >= 0) | (np.arange(len(means)) == peak)
    upper = np.minimum(against[:, peak] + reach(0.025 / contends.sum())[:, peak], 0)
    upper[peak] = 0
    lower = against - reach(0.025)
    np.fill_diagonal(lower, 0)
    lower = np.minimum(lower[:, contends].min(axis=1), 0)
    low = first_above(loads, np.exp(upper), 0.95)
    high = first_above(loads, np.exp(lower), 0.95)
    last = np.flatnonzero(contends)[-1]
    if high is None and last < len(loads) - 1:
        high = float(loads[last])
    return [
        first_above(loads, means / means[peak], 0.95),
        low if low > loads[0] else None,
        high if peak < len(loads) - 1 else None,
    ]


def sweep(rng, curve, count, spread):
    """Means with intervals of so many rounds a load, and what follows from them."""
    loads = (2.0 ** np.arange(len(curve))).tolist()
    groups = [rate * (1 + spread * rng.standard_normal(count)) for rate in curve]
    return {
        "loads": loads,
        "means": [mean(group) for group in groups],
        "knee": knee(loads, groups),
        "deltas": [delta(groups[0], group) for group in groups[1:]],
    }


def check_published():
    """The data are those of R's package usl, whose unweighted fit of them is published in its README."""
    loads, rates = SWEEPS["specsdm91"]
    found, covariance = optimize.curve_fit(law, np.array(loads, float), rates, p0=[90, 0.03, 1e-4])
    np.testing.assert_allclose(found, [89.9952330, 0.0277285, 0.0001044], rtol=5e-4)
    np.testing.assert_allclose(np.sqrt(np.diag(covariance)), [14.2134894, 0.0091217, 0.0000199], rtol=2e-3)


def main():
    check_published()
    rng = np.random.default_rng(20080)
    flat = [105, 200, 370, 560, 660, 690, 700, 700, 695]
    sharp = [100, 195, 380, 720, 1000, 930, 850, 780]
    growing = law(2.0 ** np.arange(7), 100, 0.03, 0)
    fits = {name: fit(*data) for name, data in SWEEPS.items()}
    loads = 2.0 ** np.arange(8)
    # Throughput that grows faster than the load, and one that never falls: α and β lie at their bounds.
    fits["faster"] = fit(loads.tolist(), (100 * loads**1.05 / (1 + 1e-4 * loads**2)).tolist())
    fits["saturating"] = fit(loads.tolist(), (100 * loads**0.6).tolist())
    situations = [(sharp, 5, 0.04), (flat, 20, 0.03), (flat, 5, 0.02), (flat, 5, 0.08), (growing, 8, 0.02)]
    sweeps = [sweep(rng, curve, count, spread) for curve, count, spread in situations]
    print(json.dumps({"fits": fits, "sweeps": sweeps}, indent=1))


if __name__ == "__main__":
    main()
