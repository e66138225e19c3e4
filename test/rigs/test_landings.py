import numpy as np
import pytest

import impact_aware_rigs.bench.landings as landings_module
from impact_aware.errors import InvalidInputError
from impact_aware_rigs.bench.landings import (
    DISTAL_COLUMNS,
    NOMINAL_TOUCHDOWN,
    PERIOD,
    judge_landings,
    read_landings,
    score,
)


def write_landings(folder, count, touchdown=NOMINAL_TOUCHDOWN, jump=-12.0, seed=0):
    """Files like those of the data set, with a velocity jump of the distal joints at `touchdown`."""
    rng = np.random.default_rng(seed)
    times = PERIOD * np.arange(100)
    for index in range(count):
        states = np.zeros((100, 45))
        for column in DISTAL_COLUMNS:
            since = times - PERIOD * touchdown
            path = rng.uniform(-5.0, 5.0) * times + rng.uniform(-150.0, 150.0) * times**2
            path += np.where(since > 0.0, jump * since, 0.0)
            states[:, column] = 3e-5 * np.round(path / 3e-5)
        np.save(folder / f"x_{index:02d}.npy", states)
        np.save(folder / f"t_{index:02d}.npy", times)


def test_known_touchdowns_are_found_where_they_are(tmp_path):
    write_landings(tmp_path, 8)
    for name, result in judge_landings(read_landings(tmp_path)).items():
        assert result["close"] == 8, name
        # A jump of 12 rad/s leaves an encoder step after 3 us; the kink fit then is good to a sample.
        assert abs(result["median_samples"]) < 1.0, name


def test_no_setting_is_judged_on_the_landings_that_chose_it(tmp_path, monkeypatch):
    """The first setting is right on even landings only, the second on odd ones: chosen on one half, both must fail."""

    def touchdowns(landings, detector, settings):
        right = np.arange(len(landings)) % 2 == landings_module.SETTINGS[detector].index(settings) % 2
        return np.where(right, float(NOMINAL_TOUCHDOWN), np.nan)

    monkeypatch.setattr(landings_module, "touchdowns", touchdowns)
    write_landings(tmp_path, 6)
    for result in judge_landings(read_landings(tmp_path)).values():
        assert (result["found"], result["without_event"]) == (0, 6)


def test_score_counts_what_is_elsewhere_and_what_is_missing():
    result = score(np.array([10.0, 13.0, 19.0, 60.0, np.nan]))
    assert (result["found"], result["close"], result["elsewhere"], result["without_event"]) == (3, 2, 1, 1)
    assert result["median_samples"] == pytest.approx(3.0)


def test_a_folder_without_landings_is_refused(tmp_path):
    with pytest.raises(InvalidInputError, match="x_NN.npy"):
        read_landings(tmp_path)


def test_a_file_of_another_shape_is_refused(tmp_path):
    np.save(tmp_path / "x_00.npy", np.zeros((100, 7)))
    with pytest.raises(InvalidInputError, match="shape"):
        read_landings(tmp_path)
