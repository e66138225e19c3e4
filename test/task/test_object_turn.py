"""The orientation that is made of many, each with its noise and in one of the ways in which a box looks the same."""

import numpy as np
import pinocchio as pin
import pytest

from impact_aware.contact.hull import Hull
from impact_aware.task.object_turn import ObjectTurn

TRUE = pin.utils.rotate("z", 0.4)


def seen(
    count: int, *, noise: float = 0.0, flips: tuple[str, ...] = ("",), true=TRUE, up=(0.0, 0.0, 1.0)
) -> ObjectTurn:
    random, own = np.random.default_rng(3), ObjectTurn(up)
    for step in range(count):
        rotation = true @ pin.exp3(noise * random.normal(size=3))
        flip = flips[step % len(flips)]
        own.take(0.01 * step, rotation @ pin.utils.rotate(flip, np.pi) if flip else rotation, -1.0)
    return own


def apart(own: ObjectTurn, true=TRUE) -> float:
    return float(np.linalg.norm(pin.log3(true.T @ own.rotation)))


def test_of_nothing_it_is_the_frame_s():
    np.testing.assert_array_equal(ObjectTurn().rotation, np.eye(3))
    assert ObjectTurn().change == 0.0


def test_the_mean_of_many_has_less_noise_than_one():
    # 0.5 deg about each axis: of 100 about the vertical 0.9 mrad, four standard deviations of it.
    assert apart(seen(100, noise=np.radians(0.5))) < 3.5e-3
    assert seen(100, noise=np.radians(0.5)).change < 0.01


def test_a_tracker_that_takes_any_of_the_equal_orientations_is_understood():
    own = seen(40, flips=("", "z", "x", "y"))
    assert apart(own) < 1e-9 and own.change < 1e-9


def test_a_box_seen_to_lean_a_little_stands_and_one_that_leans_more_does_not():
    assert apart(seen(5, true=pin.utils.rotate("x", 0.04) @ TRUE)) == pytest.approx(0.0, abs=1e-9)
    leaning = pin.utils.rotate("x", 0.1) @ TRUE
    assert apart(seen(5, true=leaning), leaning) == pytest.approx(0.0, abs=1e-9)
    # In a frame that lies on its side the same box does not lean about the vertical.
    up = pin.utils.rotate("y", 0.5 * np.pi)
    turned = seen(5, true=up @ pin.utils.rotate("x", 0.04) @ TRUE, up=up[:, 2])
    assert apart(turned, up @ TRUE) == pytest.approx(0.0, abs=1e-9)


def test_the_mean_of_what_is_far_apart_is_a_rotation():
    own = ObjectTurn()
    own.shape = Hull([[0.0, 0.0, 0.0], [0.2, 0.0, 0.0], [0.0, 0.3, 0.0], [0.05, 0.05, 0.4]])
    for step, axis in enumerate("xyz"):
        own.take(0.01 * step, pin.utils.rotate(axis, np.pi - 0.1), -1.0)
    assert np.linalg.det(own.rotation) == pytest.approx(1.0)


def test_what_is_older_is_forgotten():
    own = ObjectTurn()
    for step in range(10):
        own.take(0.1 * step, pin.utils.rotate("z", 0.2), 0.1 * step - 0.25)
    for step in range(10, 13):
        own.take(0.1 * step, TRUE, 0.1 * step - 0.25)
    assert apart(own) == pytest.approx(0.0, abs=1e-9)
    assert own.angle == pytest.approx(0.4)
