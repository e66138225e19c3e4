"""Compiled loops against the formula they stand for, written with NumPy."""

import signal

import numpy as np
import pytest

from impact_aware import compiled
from impact_aware.control import kernels

SEED = 11
# Algebra on numbers of order 1 to 100.
ROUNDING = 1e-10


@pytest.fixture
def generator():
    return np.random.default_rng(SEED)


def wide(n):
    far = np.full(n, 1e9)
    return -far, far, -far, far, -far, far


@pytest.mark.parametrize("n", [1, 7, 14])
def test_the_free_minimum_solves_the_normal_equations(generator, n):
    half, mass = generator.normal(size=(n + 2, n)), generator.normal(size=(n, n))
    hessian, gradient = half.T @ half + np.eye(n), generator.normal(size=n)
    found, torque = np.empty(n), np.empty(n)
    assert kernels.free_minimum(hessian, gradient, mass, *wide(n), np.empty((n, n)), found, torque)
    np.testing.assert_allclose(found, np.linalg.solve(hessian, -gradient), atol=ROUNDING)
    np.testing.assert_allclose(torque, mass @ found, atol=ROUNDING)


@pytest.mark.parametrize("row", range(6))
def test_every_bound_is_looked_at_on_its_own(row):
    """x = (1, 2, 3) and M x = 10 x, each against a bound that only its last entry leaves."""
    bounds = [values.copy() for values in wide(3)]
    bounds[row][2] = (3.1 if row % 2 == 0 else 2.9) * (10.0 if row >= 4 else 1.0)
    found, torque = np.empty(3), np.empty(3)
    wanted = -np.arange(1.0, 4.0)
    assert not kernels.free_minimum(np.eye(3), wanted, 10.0 * np.eye(3), *bounds, np.empty((3, 3)), found, torque)
    bounds[row][2] = 3.0 * (10.0 if row >= 4 else 1.0)
    assert kernels.free_minimum(np.eye(3), wanted, 10.0 * np.eye(3), *bounds, np.empty((3, 3)), found, torque)


@pytest.mark.parametrize("hessian", [np.zeros((2, 2)), -np.eye(2), np.full((2, 2), np.nan), np.ones((2, 2))])
def test_what_has_no_single_minimum_gives_no_acceleration(hessian):
    found, torque = np.full(2, 9.0), np.full(2, 9.0)
    kernels.free_minimum(hessian, np.ones(2), np.eye(2), *wide(2), np.empty((2, 2)), found, torque)
    np.testing.assert_array_equal(found, 0.0)
    np.testing.assert_array_equal(torque, 0.0)


def test_a_gradient_that_is_not_a_number_is_within_no_bounds():
    found, torque = np.empty(2), np.empty(2)
    gradient = np.array([np.nan, 0.0])
    assert not kernels.free_minimum(np.eye(2), gradient, np.eye(2), *wide(2), np.empty((2, 2)), found, torque)


def test_the_force_is_the_least_squares_solution(generator):
    jacobian, torque = generator.normal(size=(6, 7)), generator.normal(size=7)
    rows = jacobian[:3]
    force = np.linalg.solve(rows @ rows.T + 1e-4 * np.eye(3), rows @ torque)
    for layout in (jacobian, np.asfortranarray(jacobian)):
        assert kernels.force_of_torque(layout, torque, 1e-4) == pytest.approx(np.linalg.norm(force), rel=1e-9)


def test_the_observer_step_is_its_formula(generator):
    n, interval, gain = 7, 0.001, 20.0
    mass, coriolis = generator.normal(size=(n, n)), generator.normal(size=(n, n))
    armature, dq, effort, bias, before, known = generator.normal(size=(6, n))
    integral, external = known.copy(), before.copy()
    kernels.observe_torque(mass, armature, coriolis, dq, effort, bias, interval, gain, integral, external)
    wanted = known + interval * (effort + coriolis.T @ dq + coriolis @ dq - bias + before)
    np.testing.assert_allclose(integral, wanted, atol=ROUNDING)
    np.testing.assert_allclose(external, gain * (mass @ dq - armature * dq - wanted), atol=ROUNDING)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_value_that_is_not_finite_passes_no_limit(bad):
    one, zero, spoilt = np.ones(3), np.zeros(3), np.array([0.0, bad, 0.0])
    assert kernels.first_implausible(zero, spoilt, zero, one, 3.0, 1.0, 0.0) == 1
    assert kernels.first_implausible(spoilt, zero, zero, one, 3.0, 1.0, 0.0) == 4
    assert kernels.first_limit(zero, spoilt, -one, one, one, one) in (1, 4, 7)


def test_arrays_that_are_read_only_are_read():
    frozen = np.ones(3)
    frozen.setflags(write=False)
    assert kernels.first_limit(np.zeros(3), frozen, -2.0 * frozen, 2.0 * frozen, frozen, 0.5 * frozen) == -1


def test_other_types_are_refused_before_anything_is_read():
    with pytest.raises(TypeError, match="No matching definition"):
        kernels.first_limit([0.0], np.zeros(1), np.zeros(1), np.zeros(1), np.zeros(1), np.zeros(1))


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
    double = compiled.compiled(compiled.NUMBER, compiled.NUMBER)(lambda value: 2.0 * value)
    assert double(21.0) == 42.0


def test_the_torque_range_is_its_formula_and_never_empty(generator):
    n = 2000
    previous, gravity = generator.uniform(-5.0, 5.0, n), generator.normal(scale=3.0, size=n)
    limit, step = np.full(n, 5.0), generator.uniform(0.1, 2.0, n)
    carried = generator.integers(0, 2, n).astype(float)
    lower, upper = np.empty(n), np.empty(n)
    kernels.torque_range(previous, limit, step, carried, gravity, lower, upper)
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
