"""A tip that hits an object on its table: the compiled path against `predict_simultaneous`, MuJoCo and drawn inputs."""

import dataclasses
from types import SimpleNamespace

import numpy as np
import pinocchio as pin
import pytest

from impact_aware.contact import Contact
from impact_aware.contact.box import Box
from impact_aware.contact.shape import PlacedShape
from impact_aware.contact.shape_registry import shape_named
from impact_aware.experiments.episode import EpisodeSettings, predict_impact, run_episode
from impact_aware.impact import predict
from impact_aware.impact.hit import predict_hit
from impact_aware.impact.jump_predictor import JumpPredictor
from impact_aware.impact.table_support import TableSupport
from impact_aware.impact.uncertainty import InputCovariance, predict_with_covariance
from impact_aware.robot import RobotModel
from impact_aware.task import load_task

SEED = 4242
ROBOT = RobotModel.from_profile("panda")
UP = [0.0, 0.0, 1.0]
SHAPES = {"box": Box((0.1, 0.065, 0.1)), "can": shape_named("cylinder", (0.06, 0.06, 0.1), ())}


def hit(generator, shape="box", friction=None, moving=False, restitution=0.0):
    """A tip at random on the side of an object on a table, that comes at random."""
    q = ROBOT.home + generator.normal(0.0, 0.2, ROBOT.n)
    normal = np.array([0.0, 1.0, 0.0])
    mu = generator.uniform(0.1, 0.8) if friction is None else friction
    contact = Contact(ROBOT.tool_frame, normal, radius=ROBOT.tool_radius, friction=mu, restitution=restitution)
    tip = ROBOT.placement(q).translation - ROBOT.tool_radius * normal
    half = SHAPES[shape].half_extents
    beside = [
        generator.uniform(-0.8, 0.8) * half[0] if shape == "box" else 0.0,
        -half[1],
        generator.uniform(-0.8, 0.8) * half[2],
    ]
    body = PlacedShape(SHAPES[shape], tip + beside, np.eye(3))
    box = body.free_object(generator.uniform(0.4, 3.0), [0.05 * moving, 0.1 * moving, 0.0, 0.0, 0.0, 0.0])
    wanted = np.array([*generator.normal(0.0, 0.15, 3), *generator.normal(0.0, 0.3, 3)]) - [0.0, 0.5, *[0.0] * 4]
    dq = np.linalg.pinv(ROBOT.frame_jacobian(q)) @ wanted
    return q, dq, contact, body, box


@pytest.mark.parametrize("lean", [0.0, 0.5 * np.pi])
@pytest.mark.parametrize("how", [{}, {"shape": "can"}, {"moving": True}, {"restitution": 0.4}, {"friction": 0.0}])
def test_it_is_the_law_of_simultaneous_contacts(how, lean):
    """Whether the base stands or leans on a wall: the table is below the object."""
    generator, base = np.random.default_rng(SEED), pin.utils.rotate("y", lean)
    robot, up = ROBOT.tilted(base), base.T @ UP
    for number in range(20):
        q, dq, contact, body, box = hit(generator, **how)
        mu = generator.uniform(0.0, 0.8)
        found = predict(robot, q, dq, contact, obstacle=box, table=TableSupport(body, box, mu, up))
        joint = predict_hit(robot, q, dq, contact, obstacle=box, shape=body, table_friction=mu)
        assert (found.mode, found.method, joint.method) == (joint.mode, "hit", "hit"), f"{number=}"
        # A table that moves is one of 1e9 kg there.
        error = 1e-6 if how.get("moving") else 1e-8
        for name in ("velocity_after", "impulse", "contact_velocity_after", "object_twist_after", "energy_loss"):
            np.testing.assert_allclose(
                getattr(found, name), getattr(joint, name), atol=error, err_msg=f"{number=} {name}"
            )


def test_jump_and_object_are_those_of_a_simulated_hit_high_on_the_box():
    """Without the table the object's velocity is 46 % off there, the jump 13 %."""
    own = load_task("hit_and_push")
    task = dataclasses.replace(own, arms=(dataclasses.replace(own.arms[0], impact_offset=(0.0, 0.0, 0.036)),))
    result = run_episode(task, EpisodeSettings(duration=1.1))
    truth = result.impacts[0]
    event = SimpleNamespace(time=truth.time, position=truth.q, velocity_before=truth.velocity_before)
    found = predict_impact(task, 0, ROBOT, result.field, event)
    jump = truth.velocity_after - truth.velocity_before
    assert np.linalg.norm(found.jump - jump) < 0.03 * np.linalg.norm(jump)
    moved = truth.object_twist_after[:3]
    assert np.linalg.norm(found.object_twist_after[:3] - moved) < 0.05 * np.linalg.norm(moved)


def test_the_predictor_takes_the_table_along_unless_another_map_or_contact_is_asked_for():
    q, dq, contact, body, box = hit(np.random.default_rng(SEED))
    known = {"object_mass": box.mass, "shape": body.shape, "object_position": body.position}
    predictor = JumpPredictor(ROBOT, contact, table_friction=0.3, covariance=InputCovariance(velocity=1e-4), **known)
    expected = predict(ROBOT, q, dq, contact, obstacle=box, table=TableSupport(body, box, 0.3, UP))
    found = predictor.predict(q, dq)
    np.testing.assert_allclose(found.outcome.velocity_after, expected.velocity_after, atol=1e-9)
    assert found.uncertain is not None and found.outcome.table is not None
    assert predictor.predict(q, dq, spread=False).outcome.table is not None
    free = predict(ROBOT, q, dq, contact, obstacle=box)
    assert np.abs(free.velocity_after - expected.velocity_after).max() > 1e-3
    for replaced in ({"contact": dataclasses.replace(contact)}, {"method": "frictionless"}):
        assert predictor.predict(q, dq, spread=False, **replaced).outcome.table is None


@pytest.mark.parametrize("table", [True, False])
def test_the_spread_covers_drawn_inputs_also_where_the_mode_changes(table):
    """First order in one mode has errors of 27 and 18 of its standard deviations here."""
    generator, edges, errors = np.random.default_rng(2), 0, []
    position, velocity, friction, mass = 1e-4, 1e-2, 0.08, 0.1
    for _ in range(60):
        q, dq, contact, body, box = hit(generator)
        support = TableSupport(body, box, 0.3, UP) if table else None
        known = InputCovariance(
            position=position**2, velocity=velocity**2, friction=friction**2, object_mass=mass**2
        )
        found = predict_with_covariance(ROBOT, q, dq, contact, known, obstacle=box, table=support)
        edges += found.mode_may_change
        std = np.sqrt(np.diag(found.velocity_after_covariance))
        for _ in range(20):
            really = dataclasses.replace(contact, friction=max(contact.friction + friction * generator.normal(), 0.0))
            state = q + position * generator.normal(size=7), dq + velocity * generator.normal(size=7)
            drawn = body.free_object((1.0 + mass * generator.normal()) * box.mass)
            under = TableSupport(body, drawn, 0.3, UP) if table else None
            after = predict(ROBOT, *state, really, obstacle=drawn, table=under).velocity_after
            errors.append(np.abs(after - found.prediction.velocity_after) / std)
    held = [(np.array(errors) < limit).mean() for limit in (1.0, 2.0)]
    assert edges > 15
    assert held == pytest.approx([0.683, 0.954], abs=0.03)
    assert np.max(errors) < 6.0


@pytest.mark.parametrize("restitution", [0.0, 0.3])
def test_the_objects_mass_reaches_the_answer_on_the_table_and_without_it(restitution):
    """One input alone: its spread is the outer product of the differences of predictions with the mass a little off."""
    generator, share, moved = np.random.default_rng(SEED), 1e-3, []
    for number in range(12):
        q, dq, contact, body, box = hit(generator, friction=0.3, restitution=restitution)
        for table in (True, False):

            def after(mass, q=q, dq=dq, contact=contact, body=body, table=table):
                box = body.free_object(mass)
                support = TableSupport(body, box, 0.3, UP) if table else None
                return predict(ROBOT, q, dq, contact, obstacle=box, table=support).velocity_after

            support = TableSupport(body, box, 0.3, UP) if table else None
            known = InputCovariance(object_mass=share**2)
            found = predict_with_covariance(ROBOT, q, dq, contact, known, obstacle=box, table=support)
            slope = (after((1.0 + share) * box.mass) - after((1.0 - share) * box.mass)) / (2.0 * share)
            moved.append(float(np.abs(slope).max()))
            if not found.mode_may_change:
                expected, spread = np.outer(slope, slope), found.velocity_after_covariance / share**2
                # Second order of a thousandth, and the solver's error over it.
                np.testing.assert_allclose(spread, expected, atol=0.02 * expected.max() + 1e-9, err_msg=f"{number=}")
    assert np.median(moved) > 0.01
