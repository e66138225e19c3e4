import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from impact_aware.control import qp
from impact_aware.control.constraints import AccelerationBounds, LimitBounds
from impact_aware.control.qp import QpSolver, QpStatus, QuadraticProgram
from impact_aware.control.tasks import AccelerationTask
from impact_aware.robot import RobotModel

SEED = 3
ROBOT = RobotModel.from_profile("panda")
# The solver stops at 1e-8 in its scaled residuals; multipliers and inertias are of order 10 to 1000.
ACCURACY = 1e-4


def random_program(generator, n, reach=20.0, effort=30.0):
    matrix = generator.normal(size=(n + 3, n))
    half = generator.normal(size=(n, n))
    wide = np.full(n, reach)
    bounds = AccelerationBounds(-wide, wide, -1.5 * wide, 1.5 * wide)
    force = np.full(n, effort)
    task = AccelerationTask(matrix, 40.0 * generator.normal(size=n + 3), 1.0, slice(0, n))
    return qp.build([task], bounds, half @ half.T + np.eye(n), (-force, force), 1e-6)


def violations(program, x):
    torque = program.mass_matrix @ x
    return np.concatenate(
        [
            program.effort_lower - torque,
            torque - program.effort_upper,
            program.bounds.position_lower - x,
            x - program.bounds.position_upper,
            program.bounds.velocity_lower - x,
            x - program.bounds.velocity_upper,
        ]
    )


@pytest.mark.parametrize("n", [7, 14])
def test_the_solution_is_feasible_and_no_feasible_step_improves_it(n):
    generator, solver = np.random.default_rng(SEED), QpSolver(n)
    for _ in range(30):
        program = random_program(generator, n)
        solution = solver.solve(program)
        assert solution.status is QpStatus.SOLVED
        x = solution.acceleration
        assert violations(program, x).max() < ACCURACY
        slope = program.hessian @ x + program.gradient
        scale = np.abs(program.gradient).max()
        for _ in range(200):
            # Any feasible point lies in a direction along which a convex cost does not fall.
            other = generator.uniform(-1.0, 1.0, n)
            if violations(program, other).max() < 0.0:
                assert slope @ (other - x) > -ACCURACY * scale * n, f"seed {SEED}"


def test_without_active_limits_the_tasks_are_met_exactly():
    generator = np.random.default_rng(SEED)
    program = random_program(generator, 7, reach=1e6, effort=1e6)
    solution = QpSolver(7).solve(program)
    np.testing.assert_allclose(program.hessian @ solution.acceleration, -program.gradient, atol=1e-9)


def test_position_bounds_give_way_before_velocity_bounds_and_torque_bounds_never_do():
    n, wide = 7, np.full(7, 100.0)
    for velocity_upper, softened in ((-5.0, False), (-30.0, True)):
        # Torque allows accelerations within +-10 only, and the position bound asks for -50.
        bounds = AccelerationBounds(-wide, np.full(n, -50.0), -wide, np.full(n, velocity_upper))
        program = QuadraticProgram(np.eye(n), np.zeros(n), bounds, np.eye(n), np.full(n, -10.0), np.full(n, 10.0))
        solution = QpSolver(n).solve(program)
        assert solution.status is QpStatus.SOFTENED
        x = solution.acceleration
        assert np.abs(x).max() <= 10.0 + ACCURACY
        # As near to the violated bounds as the torque allows.
        np.testing.assert_allclose(x, -10.0, atol=ACCURACY)
        assert bool(np.any(x > velocity_upper + ACCURACY)) is softened


def test_crossed_bounds_are_softened_too():
    n = 7
    bounds = AccelerationBounds(np.full(n, 5.0), np.full(n, 8.0), np.full(n, -1.0), np.full(n, 1.0))
    program = QuadraticProgram(np.eye(n), np.zeros(n), bounds, np.eye(n), np.full(n, -100.0), np.full(n, 100.0))
    solution = QpSolver(n).solve(program)
    assert solution.status is QpStatus.SOFTENED
    # The velocity bound stands, the position bound is missed by as little as it allows.
    np.testing.assert_allclose(solution.acceleration, 1.0, atol=ACCURACY)


def test_what_no_solver_can_digest_gives_a_finite_torque_within_its_range():
    n, wide = 7, np.full(7, 1e3)
    bounds = AccelerationBounds(-wide, wide, -wide, wide)
    for gradient in (np.full(n, np.nan), np.full(n, np.inf)):
        program = QuadraticProgram(np.eye(n), gradient, bounds, np.eye(n), np.full(n, -3.0), np.full(n, -1.0))
        solution = QpSolver(n).solve(program)
        assert solution.status is QpStatus.FAILED
        assert np.all((solution.inertia_torque >= -3.0) & (solution.inertia_torque <= -1.0))


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=60, deadline=None)
def test_torques_stay_in_their_range_whatever_the_state(seed):
    """States far outside every limit, singular postures, huge targets: finite, within torque and torque rate."""
    generator, robot = np.random.default_rng(seed), ROBOT
    limits, n = robot.limits, robot.n
    solver, limit_bounds = QpSolver(n), LimitBounds([limits], 0.001, 10.0)
    spread, step = limits.position_upper - limits.position_lower, limits.effort_rate * 0.001
    for _ in range(5):
        q = limits.position_lower + spread * generator.uniform(-0.2, 1.2, n)
        dq = limits.velocity * generator.normal(size=n) * generator.choice([0.1, 1.0, 5.0])
        previous = limits.effort * generator.uniform(-1.0, 1.0, n)
        matrix = np.vstack([robot.frame_jacobian(q), np.eye(n)[:1]])
        target = generator.normal(size=7) * 10.0 ** generator.uniform(-2, 4)
        mass, bias = robot.mass_matrix(q), robot.bias(q, dq)
        sent = np.maximum(previous - step, -limits.effort), np.minimum(previous + step, limits.effort)
        torques = limit_bounds.effort_range(sent, bias)
        task = AccelerationTask(matrix, target, 1.0, slice(0, n))
        program = qp.build([task], limit_bounds.acceleration(q, dq), mass, torques, 1e-6)
        solution = solver.solve(program)
        torque = solution.inertia_torque + bias
        assert np.isfinite(torque).all()
        # What the solver's tolerance leaves; the command filter takes it off.
        low, high = torques
        assert np.all(torque >= low + bias - 1e-3) and np.all(torque <= high + bias + 1e-3)
