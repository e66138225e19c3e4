"""Compiled loops against the formula they stand for, written with NumPy."""

import signal

import numpy as np
import pytest

from impact_aware import compiled
from impact_aware.control.safety.command_filter import torque_range
from impact_aware.control.safety.contact_force import force_of_torque, observe_torque
from impact_aware.control.safety.state_guard import first_implausible, first_limit

SEED = 11
# Algebra on numbers of order 1 to 100.
ROUNDING = 1e-10


@pytest.fixture
def generator():
    return np.random.default_rng(SEED)


def test_the_force_is_the_least_squares_solution(generator):
    jacobian, torque = generator.normal(size=(6, 7)), generator.normal(size=7)
    rows = jacobian[:3]
    force = np.linalg.solve(rows @ rows.T + 1e-4 * np.eye(3), rows @ torque)
    for layout in (jacobian, np.asfortranarray(jacobian)):
        assert force_of_torque(layout, torque, 1e-4) == pytest.approx(np.linalg.norm(force), rel=1e-9)


def test_the_observer_step_is_its_formula(generator):
    n, interval, gain = 7, 0.001, 20.0
    mass, coriolis = generator.normal(size=(n, n)), generator.normal(size=(n, n))
    armature, dq, effort, bias, before, known = generator.normal(size=(6, n))
    integral, external = known.copy(), before.copy()
    observe_torque(mass, armature, coriolis, dq, effort, bias, interval, gain, integral, external)
    wanted = known + interval * (effort + coriolis.T @ dq + coriolis @ dq - bias + before)
    np.testing.assert_allclose(integral, wanted, atol=ROUNDING)
    np.testing.assert_allclose(external, gain * (mass @ dq - armature * dq - wanted), atol=ROUNDING)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_value_that_is_not_finite_passes_no_limit(bad):
    one, zero, spoilt = np.ones(3), np.zeros(3), np.array([0.0, bad, 0.0])
    assert first_implausible(zero, spoilt, zero, one, 3.0, 1.0, 0.0) == 1
    assert first_implausible(spoilt, zero, zero, one, 3.0, 1.0, 0.0) == 4
    assert first_limit(zero, spoilt, -one, one, one, one) in (1, 4, 7)


def test_arrays_that_are_read_only_are_read():
    frozen = np.ones(3)
    frozen.setflags(write=False)
    assert first_limit(np.zeros(3), frozen, -2.0 * frozen, 2.0 * frozen, frozen, 0.5 * frozen) == -1


def test_other_types_are_refused_before_anything_is_read():
    with pytest.raises(TypeError, match="No matching definition"):
        first_limit([0.0], np.zeros(1), np.zeros(1), np.zeros(1), np.zeros(1), np.zeros(1))


def test_an_interrupt_in_the_middle_of_a_translation_comes_right_after_it(monkeypatch):
    real = compiled.njit

    def interrupted(*given, **options):
        signal.raise_signal(signal.SIGINT)
        return real(*given, **options)

    monkeypatch.setattr(compiled, "njit", interrupted)
    # A shell lets what it starts in the background ignore interrupts.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            compiled.compiled(compiled.NUMBER, compiled.NUMBER)(lambda value: 2.0 * value)
    finally:
        signal.signal(signal.SIGINT, before)
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, set())


def test_where_nothing_can_be_kept_it_is_translated_all_the_same(monkeypatch):
    real = compiled.njit

    def nowhere(*given, cache=False, **options):
        if cache:
            # What Numba says to a service without a home whose package is read-only.
            raise RuntimeError("cannot cache function: no locator available")
        return real(*given, **options)

    monkeypatch.setattr(compiled, "njit", nowhere)
    monkeypatch.setattr(compiled, "_cache_folder", lambda: None)
    double = compiled.compiled(compiled.NUMBER, compiled.NUMBER)(lambda value: 2.0 * value)
    assert double(21.0) == 42.0


def test_the_torque_range_is_its_formula_and_never_empty(generator):
    n = 2000
    previous, gravity = generator.uniform(-5.0, 5.0, n), generator.normal(scale=3.0, size=n)
    limit, step = np.full(n, 5.0), generator.uniform(0.1, 2.0, n)
    carried = generator.integers(0, 2, n).astype(float)
    lower, upper = np.empty(n), np.empty(n)
    torque_range(previous, limit, step, carried, gravity, lower, upper)
    assert np.all(lower <= upper)
    added = carried * gravity
    # What is sent keeps its rate at both ends; the whole torque and what is sent keep the limit wherever the rate lets.
    assert np.all(np.abs(lower - added - previous) <= step + ROUNDING)
    assert np.all(np.abs(upper - added - previous) <= step + ROUNDING)
    low = np.maximum.reduce([-limit, -limit + added, previous - step + added])
    high = np.minimum.reduce([limit, limit + added, previous + step + added])
    possible = low <= high
    assert 0.5 < possible.mean() < 1.0
    np.testing.assert_allclose(lower[possible], low[possible], atol=ROUNDING)
    np.testing.assert_allclose(upper[possible], high[possible], atol=ROUNDING)
