import dataclasses

import numpy as np
import pytest
import yaml

from impact_aware.errors import InvalidInputError, UnknownNameError
from impact_aware.experiments import campaign, campaign_plan
from impact_aware.experiments.campaign import (
    COLUMNS,
    Disturbances,
    RunOptions,
    episode_settings,
    keep_maps,
    run_setup,
    simulate,
)
from impact_aware.experiments.campaign_plan import campaign_task, plan
from impact_aware.experiments.campaign_store import CampaignStore
from impact_aware.impact.sampled_map import ImpactMap
from impact_aware.resources import find_resource
from impact_aware.task import load_task

NOISE = Disturbances()
OPTIONS = RunOptions()


@pytest.mark.parametrize("arms", ["single", "dual"])
def test_the_simulated_robot_of_a_launch_file_measures_as_the_campaign(arms):
    file = yaml.safe_load(find_resource("config", f"{arms}_arm.yaml").read_text(encoding="utf-8"))
    own = file["/**/sim_robot"]["ros__parameters"]
    assert (own["encoder_resolution"], own["position_noise"]) == (NOISE.encoder_resolution, NOISE.encoder)
    assert own["velocity_noise"] == NOISE.velocity


def open_store(folder, name="hit-and-push", options=OPTIONS):
    return CampaignStore(folder, options.head(name), COLUMNS)


@pytest.fixture
def brief(monkeypatch):
    """Runs that end before they touch anything: all of the machinery, none of the waiting."""
    short = {name: dataclasses.replace(task, duration=0.02) for name, task in campaign_plan.CAMPAIGNS.items()}
    monkeypatch.setattr(campaign_plan, "CAMPAIGNS", short)


@pytest.mark.parametrize(
    ("name", "objects"),
    [(name, {"hit-and-push-can": 2, "hit-and-push-wedge": 1}.get(name, 3)) for name in campaign_plan.CAMPAIGNS],
)
def test_five_repeats_are_a_hundred_runs_per_object_and_all_differ(name, objects):
    setups = plan(name, 5)
    assert len(setups) == len({setup.key for setup in setups}) == 100 * objects


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
    truths = [episode_settings(s)[0].truth for s in plan("hit-and-push", 20, ["proposed"])]
    for name, spread in (("mass", NOISE.mass), ("friction_table", NOISE.friction), ("friction_tool", NOISE.friction)):
        factors = [getattr(truth, f"{name}_factor") for truth in truths]
        # 300 draws: the standard deviation of a standard deviation is 1 / sqrt(600) = 4 %.
        assert np.std(factors) == pytest.approx(spread, rel=0.2)
        assert np.mean(factors) == pytest.approx(1.0, abs=4 * spread / np.sqrt(300))


@pytest.mark.parametrize("name", ["hit-and-push", "dual-arm-grab"])
def test_a_displaced_object_is_closer_to_the_first_arm(name):
    exact = RunOptions(disturbances=Disturbances(position=0.0, yaw=0.0))
    displaced = [setup for setup in plan(name, 1, ["proposed"]) if setup.displacement > 0.0]
    arm = load_task(campaign_task(name).task).arms[0]
    for setup in displaced:
        x, y, z = episode_settings(setup, exact)[0].truth.displacement
        assert (x, z) == (0.0, 0.0) and abs(y) == pytest.approx(setup.displacement)
        assert y * arm.impact_velocity[1] < 0.0
    assert displaced


def test_a_folder_of_another_campaign_is_refused(tmp_path):
    open_store(tmp_path).close()
    with pytest.raises(InvalidInputError, match="seed"):
        open_store(tmp_path, options=RunOptions(seed=1))
    with pytest.raises(InvalidInputError, match="campaign"):
        open_store(tmp_path, "dual-arm-grab")
    with pytest.raises(InvalidInputError, match="impact_map"):
        open_store(tmp_path, options=RunOptions(impact_map="sampled"))
    open_store(tmp_path).close()
    (tmp_path / "runs.sqlite").write_text("no database at all, but long enough to be looked at" * 3)
    with pytest.raises(InvalidInputError, match="what a campaign wrote"):
        open_store(tmp_path)


def test_a_run_that_fails_is_a_row_that_says_why(monkeypatch):
    monkeypatch.setattr(campaign, "simulate", lambda *_: 1 / 0)
    row = run_setup(plan("hit-and-push", 1)[0])
    assert not row["success"] and "ZeroDivisionError" in row["cause"]


def test_a_run_that_touches_nothing_counts_as_missed(brief):
    row = run_setup(plan("hit-and-push", 1, ["proposed"])[0])
    assert (row["success"], row["cause"]) == (False, "object missed")
    assert 0.0 < row["cpu_s"] and 0.0 < row["wall_s"]


@pytest.mark.parametrize("options", [RunOptions(impact_map="sampled"), RunOptions(plant="rigid")])
def test_options_reach_the_run(brief, options):
    setup = plan("hit-and-push", 1, ["proposed"])[0]
    settings, _ = episode_settings(setup, options)
    assert settings.impact_map == options.impact_map
    assert (settings.joint_stiffness is not None) == (options.plant == "flexible")
    assert run_setup(setup, options)["cause"] == "object missed"


def test_a_plant_that_nobody_knows_is_refused():
    with pytest.raises(UnknownNameError, match="plant: got 'soft', expected one of flexible, rigid"):
        RunOptions(plant="soft")


def test_maps_are_kept_once_and_used(tmp_path, brief, monkeypatch):
    options = RunOptions(impact_map="sampled", maps=str(tmp_path))
    setups = plan("hit-and-push", 1, ["proposed"])
    keep_maps(setups, options)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        f"impact_map_{name}.npz" for name in ("cat_food", "juice_pack", "parcel")
    ]
    monkeypatch.setattr(campaign, "sample_impact_map", lambda *_: pytest.fail("sampled again"))
    keep_maps(setups, options)
    campaign._sampled_map.cache_clear()
    simulate(setups[0], options)
    campaign._sampled_map.cache_clear()


def test_a_run_that_is_refused_is_a_row_with_the_reason(monkeypatch):
    def refuse(*_given):
        raise InvalidInputError("start", 9, "a position within reach")

    monkeypatch.setattr(campaign, "simulate", refuse)
    row = run_setup(plan("hit-and-push", 1)[0])
    assert not row["success"] and row["cause"] == "start refused: start: got 9, expected a position within reach"


@pytest.mark.parametrize(
    ("arguments", "error"),
    [(("juggle", 1), UnknownNameError), (("hit-and-push", 0), InvalidInputError)],
)
def test_refuses_impossible_plans(arguments, error):
    with pytest.raises(error):
        plan(*arguments)
    with pytest.raises(UnknownNameError, match="controller"):
        plan("hit-and-push", 1, ["best"])


@pytest.mark.parametrize("note", ["mass", "task"])
def test_a_kept_map_of_another_mass_or_task_is_not_used(tmp_path, brief, monkeypatch, note):
    options = RunOptions(impact_map="sampled", maps=str(tmp_path))
    setup = plan("hit-and-push", 1, ["proposed"])[0]
    keep_maps([setup], options)
    path = tmp_path / f"impact_map_{setup.object}.npz"
    kept = ImpactMap.load(path)
    sampled = []
    monkeypatch.setattr(campaign, "sample_impact_map", lambda intended: sampled.append(intended) or kept)
    for changed, count in ((kept.notes[note], 0), ({"mass": 9.0, "task": "another"}[note], 1)):
        kept.notes = {**kept.notes, note: changed}
        path.unlink()
        kept.save(path)
        campaign._sampled_map.cache_clear()
        simulate(setup, options)
        campaign._sampled_map.cache_clear()
        assert len(sampled) == count
