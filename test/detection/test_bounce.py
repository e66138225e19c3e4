"""Contact lost again, held against the simulators' contact truth: bouncing on a table and with flexible joints."""

import numpy as np
import pytest

from impact_aware.contact.force_models import ExponentialHuntCrossley
from impact_aware.detection import JointSample, make_detector
from impact_aware.detection.bounce import BounceDetector
from impact_aware.detection.impact_watch import ImpactWatch, WatchEventKind
from impact_aware.experiments.models.flexible_joint import FlexibleJointArm, surface_at
from impact_aware.robot import RobotModel
from impact_aware.simulation.joint_elasticity import JointElasticity
from impact_aware.simulation.plant import MujocoPlant
from impact_aware.simulation.scene import ArmMount, ContactSettings, Scene, SceneObject
from impact_aware_rigs.bench.detection_trials import Swing

ROBOT = RobotModel.from_profile("panda")
UP = np.array([0.0, 0.0, 1.0])
SHORTEST_FLIGHT = 0.015


def measured(position, rng):
    return np.round((position + 5e-6 * rng.standard_normal(ROBOT.n)) / 1e-5) * 1e-5


def approach(seed):
    """Posture, velocity of the tool and touching point 0.1 s after the speed is reached."""
    rng = np.random.default_rng(seed)
    speed, angle, side = rng.uniform(0.1, 0.5), rng.uniform(0.0, np.pi / 4), rng.uniform(-np.pi, np.pi)
    posture = ROBOT.home + rng.uniform(-0.25, 0.25, ROBOT.n)
    along = np.array([np.cos(side), np.sin(side), 0.0])
    velocity = speed * (np.sin(angle) * along - np.cos(angle) * UP)
    return posture, velocity, rng.uniform(0.1, 0.5)


def table_episode(seed, damping_ratio):
    """Joint positions, and what the plant says of the tool's contacts with the table."""
    posture, velocity, friction = approach(seed)
    touch = ROBOT.placement(posture).translation + 0.1 * velocity - ROBOT.tool_radius * UP
    contact = ContactSettings(time_constant=0.002, damping_ratio=damping_ratio, friction=friction)
    scene = Scene(
        arms=(ArmMount(position=(0.0, 0.0, -touch[2])),),
        object=SceneObject(position=(-1.2, 1.2, float("nan"))),
        tool_table=contact,
    )
    plant, swing, rows = MujocoPlant(scene, ROBOT), Swing(ROBOT, velocity), []
    state = plant.reset(posture)
    for _ in range(360):
        state = plant.step(swing(state.time, state.q, state.dq))
        rows.append((state.time, state.q.copy()))
    return rows, [impact for impact in plant.impacts if impact.partner == "table"]


def watch(rows, seed, normal=UP):
    rng = np.random.default_rng(seed)
    watching = ImpactWatch(
        make_detector("adaptive_window", ROBOT.n, position_noise=5e-6), bounce=BounceDetector(ROBOT), normal=normal
    )
    notices = []
    for time, position in rows:
        notices += watching.update(JointSample(float(time), measured(position, rng)))
    losses = [notice.loss for notice in notices if notice.kind is WatchEventKind.LOST]
    made = [notice.event for notice in notices if notice.kind is WatchEventKind.MADE]
    assert [notice.sequence for notice in notices] == list(range(1, len(notices) + 1))
    return made, losses


@pytest.mark.slow
def test_flights_over_a_table_are_found_and_their_ends_are_impacts_of_their_own():
    flights = found = ended = 0
    errors = []
    for damping_ratio in (0.1, 0.2, 0.4, 0.7):
        for seed in range(3):
            rows, impacts = table_episode(seed, damping_ratio)
            made, losses = watch(rows, seed)
            pairs = list(zip(impacts, impacts[1:], strict=False))
            gaps = [(one.time_lost, next_one.time) for one, next_one in pairs] + [(impacts[-1].time_lost, np.inf)]
            for loss in losses:
                # Nothing is lost that was not: contact ended up to 5 ms later than stated, or chattered (`losses`).
                chattered = any(impact.losses and impact.time <= loss.time for impact in impacts)
                assert chattered or any(lost - 5e-3 <= loss.time < end for lost, end in gaps), (damping_ratio, seed)
            for one, next_one in pairs:
                if next_one.time - one.time_lost < SHORTEST_FLIGHT:
                    continue
                flights += 1
                seen = [loss for loss in losses if one.time_lost - 5e-3 <= loss.time <= next_one.time]
                found += bool(seen)
                errors += [loss.time - one.time_lost for loss in seen[:1]]
                ended += any(next_one.time <= event.time_detected < next_one.time + 0.01 for event in made)
    assert flights >= 15
    # 112 of 122 flights and 104 of 122 second impacts over 72 episodes.
    assert found >= 0.85 * flights
    assert ended >= 0.75 * flights
    assert np.median(np.abs(errors)) < 2e-3


@pytest.mark.parametrize("seed", [4, 5, 10])
def test_contact_that_holds_is_not_lost(seed):
    rows, impacts = table_episode(seed, 5.0)
    assert len(impacts) == 1 and np.isnan(impacts[0].time_lost)
    made, losses = watch(rows, seed)
    assert made and losses == []


@pytest.mark.parametrize("seed", [1, 2])
def test_flexible_arm_comes_off_and_back(seed):
    posture, velocity, friction = approach(seed)
    velocity = velocity * 0.3 / np.linalg.norm(velocity)
    tip = ROBOT.placement(posture).translation
    gap = -0.1 * float(UP @ velocity)
    contact = surface_at(tip, ROBOT.tool_radius, UP, gap, ExponentialHuntCrossley(3e7, 1e8), friction=friction)
    arm = FlexibleJointArm(ROBOT, JointElasticity.of(ROBOT), substeps=2)
    run = arm.simulate(posture, np.zeros(ROBOT.n), Swing(ROBOT, velocity), contact, 0.28)
    on = run.depth > 0.0
    off = run.time[1:][on[:-1] & ~on[1:]]
    assert len(off) >= 1
    _, losses = watch(zip(run.time, run.q, strict=True), seed)
    # The links turn around before the surfaces part: the stated time is some milliseconds early.
    assert off[0] - 6e-3 < losses[0].time < off[0] + 1e-3
    assert losses[0].time_detected < off[0] + 0.010
