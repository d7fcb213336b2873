# Reference values for tests/estimators/series.rs, from SciPy and straight from the formulas.
# From the repository's root: /usr/bin/python3 crates/stats/tests/reference/series.py > crates/stats/tests/reference/series.json
import json

import numpy as np
from scipy import stats

random = np.random.default_rng(20260718)


def autoregression(length, correlation):
    values = [random.normal()]
    for _ in range(length - 1):
        values.append(correlation * values[-1] + np.sqrt(1 - correlation**2) * random.normal())
    return np.array(values)


def corrected(residuals, fitted):
    """Lag-1 autocorrelation within 0 to 0.9; its bias of (1 + 3 rho)/n for each fitted coefficient, and of rho/n for the
    missing product, solved for rho."""
    n = len(residuals)
    raw = np.dot(residuals[1:], residuals[:-1]) / np.dot(residuals, residuals)
    return float(np.clip((raw + fitted / n) / (1 - (3 * fitted + 1) / n), 0, 0.9))


def kendall_tails(n):
    """P(at most 0, 1, 2 … inversions): the product of the polynomials 1 + x + … + x^(j-1), over n!."""
    product = np.poly1d([1])
    for j in range(2, n + 1):
        product = product * np.poly1d(np.ones(j))
    return np.cumsum(product.coeffs) / np.sum(product.coeffs)


def widening(n, length, rho):
    """From the covariance matrix of the seconds, through the matrices of batching and of least squares."""
    seconds = np.arange(n * length)
    covariance = np.power(float(rho), np.abs(seconds[:, None] - seconds[None, :]))
    batching = np.kron(np.eye(n), np.full((1, length), 1 / length))
    covariance = batching @ covariance @ batching.T
    design = np.column_stack([np.ones(n), np.arange(n)])
    solve = np.linalg.inv(design.T @ design)
    slope = solve @ design.T @ covariance @ design @ solve
    leftover = np.trace((np.eye(n) - design @ solve @ design.T) @ covariance) / (n - 2)
    return np.sqrt(slope[1, 1] / (leftover * solve[1, 1]))


def trend(values):
    seconds = len(values)
    length = max(4, -(-seconds // 20))
    n = seconds // length
    means = values[seconds - n * length:].reshape(n, length).mean(axis=1)
    slope, _, scipy_low, scipy_high = stats.theilslopes(means, np.arange(n), alpha=0.95)
    slopes = sorted((means[j] - means[i]) / (j - i) for i in range(n) for j in range(i + 1, n))
    tails = kendall_tails(n)
    out = max(index for index, tail in enumerate(tails) if tail <= 0.025)
    part = (np.log(0.025) - np.log(tails[out])) / (np.log(tails[out + 1]) - np.log(tails[out]))
    low = slopes[out] + part * (slopes[out + 1] - slopes[out])
    high = slopes[-1 - out] + part * (slopes[-2 - out] - slopes[-1 - out])
    line = np.polyfit(np.arange(seconds), values, 1)
    rho = corrected(values - np.polyval(line, np.arange(seconds)), 2)
    wider = widening(n, length, rho)
    share = seconds / length / values.mean()
    widened = lambda end: (slope + wider * (end - slope)) * share
    return {
        "values": values.tolist(),
        "value": slope * share,
        "low": widened(low),
        "high": widened(high),
        "scipy_low": widened(scipy_low),
        "scipy_high": widened(scipy_high),
        "effective_n": seconds * (1 - rho) / (1 + rho),
    }


def mser(values):
    """The cut that minimises the squared standard error of what remains, on means of 5 from 100 values on."""
    length = 1 if len(values) < 100 else 5
    means = values[: len(values) // length * length].reshape(-1, length).mean(axis=1)
    errors = [np.var(means[cut:]) / (len(means) - cut) for cut in range(len(means) - 4)]
    cut = int(np.argmin(errors))
    return {"values": values.tolist(), "cut": cut * length if cut <= len(means) / 2 else None}


def energy(x, y):
    """Q of Matteson and James (2014) with exponent 1."""
    n, m = len(x), len(y)
    apart = lambda a, b: np.abs(a[:, None] - b[None, :]).sum()
    between = 2 * apart(x, y) / (n * m)
    within = apart(x, x) / (n * (n - 1)) + apart(y, y) / (m * (m - 1))
    return n * m / (n + m) * (between - within)


def change(values):
    """One change: the best of all splits, and Welch's test of its sides."""
    at = max(range(5, len(values) - 4), key=lambda at: energy(values[:at], values[at:]))
    sides = [values[:at], values[at:]]
    rho = corrected(np.concatenate([side - side.mean() for side in sides]), 2)
    if rho == 0:
        p = stats.ttest_ind(*sides, equal_var=False).pvalue
    else:
        of_mean = [len(side) * (1 - rho) / (1 + rho) for side in sides]
        degrees = [len(side) * (1 - rho**2) / (1 + rho**2) - 1 for side in sides]
        parts = [side.var() / (count - 1) for side, count in zip(sides, of_mean)]
        freedom = sum(parts) ** 2 / sum(part**2 / d for part, d in zip(parts, degrees))
        p = 2 * stats.t.sf(abs(sides[0].mean() - sides[1].mean()) / np.sqrt(sum(parts)), freedom)
    return {
        "values": values.tolist(),
        "at": at,
        "before": sides[0].mean(),
        "after": sides[1].mean(),
        "p_value": min(1.0, p * len(values)),
        "rho": rho,
    }


def throughput(length, correlation, variation=0.05, level=lambda t: 1.0):
    mean = np.array([1000 * level(t) for t in range(length)])
    return np.round(mean * (1 + variation * autoregression(length, correlation)), 1)


def alternating(length, level):
    """Neighbours that differ more than chance makes them: the corrected autocorrelation is 0, the test plain Welch."""
    signs = np.where(np.arange(length) % 2 == 0, 1, -1)
    return np.array([level(t) for t in range(length)]) + np.round(signs * np.abs(random.normal(30, 10, length)), 1)


approach = lambda tau: lambda t: 1 - 0.4 * np.exp(-t / tau)
drop = lambda where, size: lambda t: 1.0 if t < where else 1 - size
reference = {
    "trends": [trend(throughput(n, rho)) for n in (20, 32, 47, 80, 173) for rho in (-0.5, 0.2, 0.6)]
    + [trend(throughput(60, 0.4, level=lambda t: 1 + 0.004 * t))],
    "truncations": [mser(throughput(n, rho, level=approach(tau)))
                    for n in (30, 60, 99, 100, 243) for rho in (0.2, 0.6) for tau in (5, 40)],
    "changes": [
        change(alternating(60, lambda t: 1000 if t < 25 else 900)),
        change(alternating(41, lambda t: 1000 if t < 33 else 1200)),
        change(throughput(60, 0.2, level=drop(30, 0.2))),
        change(throughput(80, 0.4, level=drop(50, 0.3))),
        change(throughput(100, 0.6, level=drop(40, 0.4))),
    ],
}
lists = (f'"{name}": [\n' + ",\n".join(map(json.dumps, cases)) + "\n]" for name, cases in reference.items())
print("{" + ",\n".join(lists) + "}")
