"""The estimation benchmark's own arithmetic, on small sets."""

import numpy as np

from impact_aware.estimation.registry import OFFLINE_ESTIMATORS
from impact_aware_rigs.bench.estimation import KnownImpact, bench_estimators, decaying_swing, soft_swing


def test_errors_are_those_of_the_estimators():
    times = np.arange(0.0, 0.5, 1e-3)
    before, after = np.full(2, 0.3), np.array([0.1, -0.1])
    since = (times - 0.2)[:, None]
    positions = np.where(since < 0, before * since, after * since)
    positions += 1e-6 * np.random.default_rng(0).standard_normal(positions.shape)
    # The reference is off by a tenth of the jump, so every estimator must show that error.
    off = 0.1 * np.linalg.norm(after - before) * np.array([0.6, 0.8])
    table = bench_estimators({"arm": [KnownImpact(times, positions, 0.2, before, after + off)]}, 0)
    assert table["arm"]["impacts"] == 1
    assert set(table["arm"]["estimators"]) == set(OFFLINE_ESTIMATORS)
    jump = np.linalg.norm(after + off - before)
    for figures in table["arm"]["estimators"].values():
        # An impact time that is off by 0.4 ms, and micro-radian noise, are worth less than a hundredth of the jump.
        np.testing.assert_allclose(figures["median"], np.linalg.norm(off) / jump, atol=0.01)
    np.testing.assert_allclose(table["arm"]["default_over_best"], 1.0, atol=0.1)


def test_the_default_is_never_much_worse_than_the_best_single_estimator():
    """One draw of a class per kind of motion; `impact-aware bench estimation` compares many."""
    classes = {
        "decaying": [decaying_swing(np.random.default_rng(seed)) for seed in range(3)],
        "soft": [soft_swing(np.random.default_rng(seed)) for seed in range(3)],
    }
    for figures in bench_estimators(classes, 0).values():
        assert figures["default_over_best"] < 1.3
        assert figures["estimators"]["both_sides"]["within_two_errors"] > 0.85
