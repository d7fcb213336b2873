"""Means, percentiles and stalls of a window, computed from their formulas with NumPy and SciPy.

/usr/bin/python3 crates/stats/tests/reference/within.py > crates/stats/tests/reference/within.json
"""

import itertools
import json
import math

import numpy
from scipy import linalg, stats

random = numpy.random.default_rng(20240601)


def autoregression(length, correlation):
    """Drawn from the joint distribution itself, whose covariances are the powers of the correlation."""
    covariance = linalg.toeplitz(correlation ** numpy.arange(length))
    return linalg.cholesky(covariance, lower=True) @ random.standard_normal(length)


def uncertainty(residuals, batches):
    """Standard error and degrees of freedom of a mean, from batch means and the matrix of covariances."""
    n = len(residuals)
    means = residuals.reshape(batches, -1).mean(axis=1)
    between = means.var(ddof=1) / batches
    deviations = residuals - residuals.mean()
    seen = numpy.correlate(deviations, deviations, "full")[n] / (deviations @ deviations)
    # Solved for the correlation: seen = correlation - (1 + 4 correlation) / n.
    correlation = min(max((seen + 1 / n) / (1 - 4 / n), 0), 0.9)
    covariance = linalg.toeplitz(correlation ** numpy.arange(n))
    average = numpy.full(n, 1 / n)
    truth = average @ covariance @ average
    to_means = numpy.kron(numpy.eye(batches), numpy.full(n // batches, batches / n))
    expected = numpy.trace(numpy.cov(numpy.eye(batches)) @ (to_means @ covariance @ to_means.T)) / batches
    inflation = truth / expected
    return math.sqrt(between * inflation), max((batches - 1) / inflation, 1.5)


def mean(batches, length, correlation, last):
    """Transactions are counted, and what they are divided by varies as well; the last second is part of one."""
    n = batches * length
    part = numpy.append(numpy.ones(n - 1), last)
    denominators = (100 * part * (1 + 0.1 * autoregression(n, correlation))).round(3)
    numerators = (denominators * (3 + 0.4 * autoregression(n, correlation))).round(3)
    value = numerators.sum() / denominators.sum()
    residuals = (numerators - value * denominators) / denominators.mean()
    error, degrees = uncertainty(residuals, batches)
    low, high = stats.t.interval(0.95, degrees, value, error)
    return {
        "pieces": numpy.stack([numerators, denominators], axis=1).tolist(),
        "value": value,
        "low": low,
        "high": high,
        "effective_n": min(n, residuals.var(ddof=1) / error**2),
    }


def percentile(batches, length, correlation, each, quantile):
    n = batches * length
    levels = autoregression(n, correlation)
    microseconds = numpy.exp(8 + 0.15 * levels[:, None] + 0.5 * random.standard_normal((n, each))).round()
    ranked = numpy.sort(microseconds, axis=None)
    at = lambda share: ranked[math.ceil(share * ranked.size) - 1]
    below = (microseconds <= at(quantile)).mean(axis=1)
    error, degrees = uncertainty(below - below.mean(), batches)
    error = max(error, stats.binom(ranked.size, quantile).std() / ranked.size)
    low, high = stats.t.interval(0.95, degrees, quantile, error)
    return {
        "quantile": quantile,
        "microseconds": microseconds.astype(int).tolist(),
        "value": at(quantile),
        "low": at(low) if low > 0 else None,
        "high": at(high) if high < 1 else None,
        "effective_n": quantile * (1 - quantile) / error**2,
    }


def stall(rate, silences, intervals, length, longest):
    """Poisson arrivals apart from the silences, and each run's probability of being empty by chance."""
    completions = random.poisson(rate * length, intervals)
    for start, end in silences:
        completions[start:end] = 0
    whole = completions.sum() / (intervals * length)
    found = []
    for empty, run in itertools.groupby(range(intervals), lambda index: completions[index] == 0):
        run = list(run)
        by_chance = stats.poisson.pmf(0, whole * len(run) * length)
        if empty and by_chance < 0.001 / intervals and len(run) * length > longest:
            found.append([run[0] * length, len(run) * length])
    return {"progress": [[int(count), length] for count in completions], "longest": longest, "stalls": found}


means = [(3, 4, 0.2, 1), (5, 4, 0.6, 0.4), (8, 8, 0.4, 1), (8, 8, 0.6, 0.01), (20, 16, 0.6, 1), (20, 16, -0.3, 0.5)]
percentiles = [(5, 4, 0.6, 50, 0.5), (5, 4, 0.2, 50, 0.95), (8, 8, 0.4, 40, 0.9), (8, 8, 0.6, 30, 0.999)]
stalls = [
    (4, [], 60, 1, 0.5),
    (4, [(10, 16)], 60, 1, 0.5),
    (4, [(0, 30), (50, 52), (90, 100)], 100, 1, 0.5),
    (4, [(0, 30), (50, 52), (90, 100)], 100, 1, 10),
    (30, [(7, 9)], 40, 0.5, 0.5),
]
document = {
    "means": [mean(*case) for case in means],
    "percentiles": [percentile(*case) for case in percentiles],
    "stalls": [stall(*case) for case in stalls],
}
print(json.dumps(document))
