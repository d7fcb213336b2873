"""Posterior of the load line for fixed sequences of outcomes, by brute force.

/usr/bin/python3 crates/stats/tests/reference/search.py > crates/stats/tests/reference/search.json

The model is that of crates/stats/src/search.rs. Here the disturbance is not filtered by its moments: its whole density
on 400 bins is carried through every trial (the forward algorithm of a hidden Markov model), and the line lies on a grid
eight times as fine.
"""

import json

import numpy as np
from scipy.stats import norm

WIDTHS = [0.02, 0.08, 0.32]
CORRELATIONS = [0.2, 0.7]
LAPSES = 0.02
STEP = 0.0025
EDGES = np.linspace(-6.0, 6.0, 401)
CENTRES = (EDGES[1:] + EDGES[:-1]) / 2

# lowest rate, highest rate, rates, outcomes (K kept, M missed)
CASES = {
    "noise_free": (100, 1600, [400, 800, 1600, 1100, 950, 880, 820, 850, 870], "KKMMMMKKM"),
    "random_near_the_line": (100, 1600, [400, 800, 560, 610, 700, 650, 590, 640, 575, 690], "KMKMKMKKMM"),
    "streaks": (100, 1600, [400, 800, 560, 610, 600, 590, 480, 520, 500, 570, 640, 660], "KMMMMMKKKKKK"),
    "one_spoilt": (100, 1600, [400, 200, 400, 800, 566, 700, 760, 740, 720], "MKKMKKMMK"),
    "blurred": (50, 3200, [400, 800, 500, 900, 300, 450, 700, 350, 600, 250, 550, 400], "KMMKMKKKMKMM"),
}


def likelihoods(lines, width, correlation, trials):
    """Probability of all outcomes for each line."""
    transition = np.diff(norm.cdf((EDGES - correlation * CENTRES[:, None]) / np.sqrt(1 - correlation**2)), axis=1)
    density = np.tile(np.diff(norm.cdf(EDGES)), (len(lines), 1))
    for rate, outcome in trials:
        limit = (lines[:, None] - np.log(rate)) / width
        kept = np.clip((limit - EDGES[:-1]) / np.diff(EDGES), 0, 1)
        share = kept if outcome == "K" else 1 - kept
        density = density * (LAPSES / 2 + (1 - LAPSES) * share) @ transition
    return density.sum(axis=1)


def case(lowest, highest, rates, outcomes):
    lines = np.arange(np.log(lowest / 2), np.log(highest * 2), STEP)
    trials = list(zip(rates, outcomes))
    posterior = np.array([[likelihoods(lines, w, c, trials) for c in CORRELATIONS] for w in WIDTHS])
    posterior /= posterior.sum()
    cumulative = np.cumsum(posterior.sum(axis=(0, 1)))
    low, value, high = np.exp(np.interp([0.025, 0.5, 0.975], cumulative, lines + STEP / 2))
    widths = np.array(WIDTHS)[:, None]
    kept = [(posterior.sum(axis=1) * norm.cdf((lines - np.log(rate)) / widths)).sum() for rate in rates]
    effective_n = sum(4 * p * (1 - p) for p in kept)
    return {"lowest": lowest, "highest": highest, "rates": rates, "outcomes": outcomes,
            "value": value, "low": low, "high": high, "effective_n": effective_n}


print(json.dumps({name: case(*given) for name, given in CASES.items()}, indent=1))
