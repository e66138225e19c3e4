import dataclasses

import numpy as np
import pytest

from impact_aware.errors import InvalidInputError, UnknownNameError
from impact_aware.simulation import campaign, campaign_plan
from impact_aware.simulation.campaign import (
    COLUMNS,
    Disturbances,
    RunOptions,
    episode_settings,
    run_setup,
)
from impact_aware.simulation.campaign_execution import execute
from impact_aware.simulation.campaign_plan import plan
from impact_aware.simulation.campaign_store import CampaignStore

NOISE = Disturbances()
OPTIONS = RunOptions()


def open_store(folder, name="hit-and-push", options=OPTIONS):
    return CampaignStore(folder, options.head(name), COLUMNS)


@pytest.fixture
def brief(monkeypatch):
    """Runs that end before they touch anything: all of the machinery, none of the waiting."""
    short = {name: dataclasses.replace(task, duration=0.02) for name, task in campaign_plan.CAMPAIGNS.items()}
    monkeypatch.setattr(campaign_plan, "CAMPAIGNS", short)


def without_wall(rows):
    return [{name: repr(value) for name, value in row.items() if name not in ("wall_s", "cpu_s")} for row in rows]


@pytest.mark.parametrize("name", campaign_plan.CAMPAIGNS)
def test_five_repeats_are_three_hundred_runs_and_all_differ(name):
    setups = plan(name, 5)
    assert len(setups) == len({setup.key for setup in setups}) == 300


def test_controllers_meet_the_same_world_and_repeats_another():
    first, *others = plan("hit-and-push", 2)[:4]
    settings, sensor_seed = episode_settings(first)
    for other in others:
        theirs, their_seed = episode_settings(other)
        assert (theirs.truth, their_seed) == (settings.truth, sensor_seed)
        assert theirs.control.variant != settings.control.variant
    repeated = dataclasses.replace(first, repeat=1)
    assert episode_settings(repeated)[0].truth != settings.truth
    assert episode_settings(first, RunOptions(seed=1))[0].truth != settings.truth


def test_disturbances_have_the_stated_spread():
    factors = [episode_settings(s)[0].truth.mass_factor for s in plan("hit-and-push", 20, ["proposed"])]
    # 300 draws: the standard deviation of a standard deviation is 1 / sqrt(600) = 4 %.
    assert np.std(factors) == pytest.approx(NOISE.mass, rel=0.2)
    assert np.mean(factors) == pytest.approx(1.0, abs=4 * NOISE.mass / np.sqrt(300))


def test_a_killed_campaign_continues_and_gives_the_same_numbers(tmp_path, brief):
    setups = plan("hit-and-push", 1, ["proposed"])[:3]
    whole = open_store(tmp_path / "whole")
    execute(setups, whole, OPTIONS)
    part = open_store(tmp_path / "part")
    execute(setups[:1], part, OPTIONS)
    with part.path.open("a") as file:
        file.write("hit-and-push/juice_pa")  # killed while writing
    again = open_store(tmp_path / "part")
    done = []
    execute(setups, again, OPTIONS, on_row=done.append)
    assert len(done) == 2
    read = open_store(tmp_path / "part")
    assert without_wall(read.rows.values()) == without_wall(whole.rows[setup.key] for setup in setups)


def test_a_folder_of_another_campaign_is_refused(tmp_path):
    open_store(tmp_path)
    with pytest.raises(InvalidInputError, match="seed"):
        open_store(tmp_path, options=RunOptions(seed=1))
    with pytest.raises(InvalidInputError, match="campaign"):
        open_store(tmp_path, "dual-arm-grab")
    with pytest.raises(InvalidInputError, match="impact_map"):
        open_store(tmp_path, options=RunOptions(impact_map="sampled"))
    (tmp_path / "campaign.json").write_text("{ not json")
    with pytest.raises(InvalidInputError, match="a file that a campaign wrote"):
        open_store(tmp_path)


def test_a_run_that_fails_is_a_row_that_says_why(monkeypatch):
    monkeypatch.setattr(campaign, "simulate", lambda *_: 1 / 0)
    row = run_setup(plan("hit-and-push", 1)[0])
    assert not row["success"] and "ZeroDivisionError" in row["cause"]


def test_a_run_that_touches_nothing_counts_as_missed(brief):
    row = run_setup(plan("hit-and-push", 1, ["proposed"])[0])
    assert (row["success"], row["cause"]) == (False, "object missed")


def test_a_dask_cluster_gives_the_same_rows(tmp_path, brief):
    distributed = pytest.importorskip("distributed", reason="Dask is optional")
    setups = plan("hit-and-push", 1, ["proposed"])[:2]
    here = open_store(tmp_path / "here")
    execute(setups, here, OPTIONS)
    there = open_store(tmp_path / "there")
    # One thread in this process: the shortened campaigns are known here only.
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None
    ) as cluster:
        execute(setups, there, OPTIONS, cluster=cluster.scheduler_address)
    assert without_wall(there.rows[s.key] for s in setups) == without_wall(here.rows[s.key] for s in setups)


@pytest.mark.parametrize(
    ("arguments", "error"),
    [(("juggle", 1), UnknownNameError), (("hit-and-push", 0), InvalidInputError)],
)
def test_refuses_impossible_plans(arguments, error):
    with pytest.raises(error):
        plan(*arguments)
    with pytest.raises(UnknownNameError, match="controller"):
        plan("hit-and-push", 1, ["best"])
