import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_programs import KINDS, optimality, random_program, reference

from impact_aware.control import qp
from impact_aware.control.active_set import POSITION_PENALTY, VELOCITY_PENALTY
from impact_aware.control.qp import AccelerationTask, LimitBounds, QpSolver, QpStatus, QuadraticProgram
from impact_aware.robot import RobotModel

SEED = 3
ROBOT = RobotModel.from_profile("panda")
# Both methods are exact but for rounding, which the condition of H, up to 1e9, enlarges.
ACCURACY = 1e-6


def limits(n, position=(-1e3, 1e3), velocity=(-1e3, 1e3), torque=(-1e3, 1e3)):
    return np.array([np.broadcast_to(bound, n) for kind in (position, velocity, torque) for bound in kind], dtype=float)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("sizes", [(7,), (14,), (7, 7), (3, 5)])
def test_the_minimum_is_that_of_another_solver_and_meets_the_conditions(sizes, kind):
    generator, solver = np.random.default_rng(SEED), QpSolver(sizes)
    ends = set()
    for _ in range(40):
        program = random_program(generator, sizes, kind)
        found = solver.solve(program)
        left, beyond, softened = optimality(program, sizes, found.acceleration)
        assert left < ACCURACY and beyond < ACCURACY, f"seed {SEED}"
        assert found.status is (QpStatus.SOFTENED if softened else QpStatus.SOLVED)
        if kind in ("regular", "ill-conditioned"):
            wanted = reference(program)
            size = max(1.0, np.abs(wanted).max())
            np.testing.assert_allclose(found.acceleration, wanted, atol=ACCURACY * size, err_msg=f"seed {SEED}")
        np.testing.assert_allclose(found.inertia_torque, program.mass_matrix @ found.acceleration, atol=ACCURACY)
        assert np.all((found.inertia_torque >= program.limits[4]) & (found.inertia_torque <= program.limits[5]))
        ends.add(found.status)
    assert QpStatus.SOFTENED in ends or kind != "conflicting"


def test_where_it_begins_changes_steps_and_not_the_minimum():
    generator, warm = np.random.default_rng(SEED), QpSolver((7,))
    base = random_program(generator, (7,), "regular")
    steps = []
    for _ in range(50):
        program = base._replace(gradient=base.gradient * (1.0 + 0.01 * generator.normal(size=7)))
        cold = QpSolver((7,))
        expected, found = cold.solve(program), warm.solve(program)
        np.testing.assert_allclose(found.acceleration, expected.acceleration, rtol=1e-8, atol=1e-8)
        assert warm.active == cold.active > 0
        steps.append((warm.steps, cold.steps))
    warm_steps, cold_steps = np.mean(steps[1:], axis=0)
    assert warm_steps < cold_steps


@pytest.mark.parametrize("row", range(6))
def test_every_bound_is_kept_on_its_own(row):
    """x = (1, 2, 3) and M x = (10, 4, 6), each against a bound that only its last entry leaves."""
    mass = np.diag([10.0, 2.0, 2.0])
    bounds = limits(3)
    kept = (3.1 if row % 2 == 0 else 2.9) * (2.0 if row >= 4 else 1.0)
    bounds[row, 2] = kept
    program = QuadraticProgram(np.eye(3), -np.arange(1.0, 4.0), mass, bounds)
    solver = QpSolver((3,))
    found = solver.solve(program)
    wanted = [1.0, 2.0, kept / (2.0 if row >= 4 else 1.0)]
    np.testing.assert_allclose(found.acceleration, wanted, atol=1e-12)
    np.testing.assert_allclose(found.inertia_torque, mass @ wanted, atol=1e-12)
    assert found.status is QpStatus.SOLVED and solver.active == 1


def test_without_active_limits_the_tasks_are_met_exactly():
    generator = np.random.default_rng(SEED)
    task = AccelerationTask(generator.normal(size=(10, 7)), 40.0 * generator.normal(size=10), 1.0, slice(0, 7))
    program = qp.ProgramBuilder(7, 1e-6).build([task], limits(7), np.eye(7))
    solver = QpSolver((7,))
    solution = solver.solve(program)
    np.testing.assert_allclose(program.hessian @ solution.acceleration, -program.gradient, atol=1e-9)
    assert (solver.active, solver.steps) == (0, 0)


@pytest.mark.parametrize("velocity_upper", [-5.0, -30.0])
def test_position_bounds_give_way_before_velocity_bounds_and_torque_bounds_never_do(velocity_upper):
    n = 7
    # Torque allows accelerations within +-10 only, and the position bound asks for -50.
    bounds = limits(n, position=(-100.0, -50.0), velocity=(-100.0, velocity_upper), torque=(-10.0, 10.0))
    solution = QpSolver((n,)).solve(QuadraticProgram(np.eye(n), np.zeros(n), np.eye(n), bounds))
    assert solution.status is QpStatus.SOFTENED
    # As near to the violated bounds as the torque allows, and not beyond it at all.
    np.testing.assert_allclose(solution.acceleration, -10.0, atol=1e-9)
    assert np.abs(solution.inertia_torque).max() <= 10.0


def test_a_soft_bound_gives_way_by_its_multiplier_over_its_penalty():
    """One variable, mass 1: min 1/2 x^2 within x >= 5 (position), x <= 1 (velocity), then also M x >= 2."""
    program = QuadraticProgram(np.eye(1), np.zeros(1), np.eye(1), limits(1, (5.0, 9.0), (-9.0, 1.0)))
    solution = QpSolver((1,)).solve(program)
    # The velocity bound stands, the position bound is missed by as little as it allows.
    assert solution.status is QpStatus.SOFTENED
    np.testing.assert_allclose(solution.acceleration, 1.0, atol=1e-12)
    program = QuadraticProgram(np.eye(1), np.zeros(1), np.eye(1), limits(1, (5.0, 9.0), (-9.0, 1.0), (2.0, 9.0)))
    found = QpSolver((1,)).solve(program).acceleration[0]
    # The cost x^2 / 2 + p (5 - x)^2 / 2 + v (x - 1)^2 / 2 grows at x = 2, where the torque holds it.
    assert found == pytest.approx(2.0, abs=1e-12)
    program = QuadraticProgram(np.eye(1), np.zeros(1), np.eye(1), limits(1, (5.0, 9.0), (-9.0, 1.0), (1.001, 9.0)))
    found = QpSolver((1,)).solve(program).acceleration[0]
    balance = (5.0 * POSITION_PENALTY + VELOCITY_PENALTY) / (1.0 + POSITION_PENALTY + VELOCITY_PENALTY)
    assert found == pytest.approx(balance, abs=1e-9) and found > 1.03


@pytest.mark.parametrize("kind", ["position", "velocity"])
def test_bounds_of_one_kind_that_exclude_each_other_meet_in_the_middle(kind):
    program = QuadraticProgram(np.eye(2), np.array([3.0, -4.0]), np.eye(2), limits(2, **{kind: (6.0, -2.0)}))
    solution = QpSolver((2,)).solve(program)
    assert solution.status is QpStatus.SOFTENED
    # 2 and what the cost pulls: 1 / (1 + penalty) of it at most.
    np.testing.assert_allclose(solution.acceleration, 2.0, atol=7.0 / POSITION_PENALTY)


def test_one_arm_whose_limits_exclude_each_other_changes_nothing_of_the_other():
    generator = np.random.default_rng(SEED)
    calm, stuck = (random_program(generator, (7,), kind) for kind in ("regular", "conflicting"))
    blocks = np.zeros((2, 14, 14))
    for index, program in enumerate((calm, stuck)):
        joints = slice(7 * index, 7 * index + 7)
        blocks[:, joints, joints] = program.hessian, program.mass_matrix
    both = QuadraticProgram(
        blocks[0], np.append(calm.gradient, stuck.gradient), blocks[1], np.hstack([calm.limits, stuck.limits])
    )
    found = QpSolver((7, 7)).solve(both)
    assert found.status is QpStatus.SOFTENED
    for index, program in enumerate((calm, stuck)):
        alone = QpSolver((7,)).solve(program)
        assert alone.status is (QpStatus.SOLVED, QpStatus.SOFTENED)[index]
        np.testing.assert_array_equal(found.inertia_torque[7 * index : 7 * index + 7], alone.inertia_torque)


def test_out_of_steps_the_torque_is_cut_to_its_range_and_it_is_said():
    generator = np.random.default_rng(SEED)
    full = QpSolver((7,))
    program = random_program(generator, (7,), "regular")
    full.solve(program)
    assert full.steps > 3
    short = QpSolver((7,), most_steps=2)
    found = short.solve(program)
    assert found.status is QpStatus.CUT and short.steps == 3
    assert np.all((found.inertia_torque >= program.limits[4]) & (found.inertia_torque <= program.limits[5]))
    assert np.any(np.isin(found.inertia_torque, program.limits[4:]))
    # With as many steps as it takes, it is done; from where the short one came to, in fewer.
    assert QpSolver((7,), most_steps=full.steps).solve(program).status is QpStatus.SOLVED


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("where", ["gradient", "hessian", "mass_matrix"])
def test_numbers_that_are_not_finite_give_a_torque_within_its_range(where, bad):
    n = 7
    program = QuadraticProgram(np.eye(n), np.ones(n), np.eye(n), limits(n, torque=(-3.0, -1.0)))
    getattr(program, where).flat[0] = bad
    solver = QpSolver((n,))
    solution = solver.solve(program)
    assert solution.status is QpStatus.FAILED
    assert np.all((solution.inertia_torque >= -3.0) & (solution.inertia_torque <= -1.0))
    # And nothing of it stays.
    good = QuadraticProgram(np.eye(n), np.ones(n), np.eye(n), limits(n, torque=(-3.0, -1.0)))
    again = solver.solve(good)
    assert again.status is QpStatus.SOLVED
    np.testing.assert_array_equal(again.inertia_torque, -1.0)


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=60)
def test_torques_stay_in_their_range_whatever_the_state(seed):
    """States far outside every limit, singular postures, huge targets: finite, within torque and torque rate."""
    generator, robot = np.random.default_rng(seed), ROBOT
    limits, n = robot.limits, robot.n
    solver, limit_bounds = QpSolver((n,)), LimitBounds([limits], 0.001, 10.0)
    spread, step = limits.position_upper - limits.position_lower, limits.effort_rate * 0.001
    for _ in range(5):
        q = limits.position_lower + spread * generator.uniform(-0.2, 1.2, n)
        dq = limits.velocity * generator.normal(size=n) * generator.choice([0.1, 1.0, 5.0])
        previous = limits.effort * generator.uniform(-1.0, 1.0, n)
        matrix = np.vstack([robot.frame_jacobian(q), np.eye(n)[:1]])
        target = generator.normal(size=7) * 10.0 ** generator.uniform(-2, 4)
        mass, bias = robot.mass_matrix(q), robot.bias(q, dq)
        sent = np.maximum(previous - step, -limits.effort), np.minimum(previous + step, limits.effort)
        bounds = limit_bounds.limits(q, dq, bias, sent)
        task = AccelerationTask(matrix, target, 1.0, slice(0, n))
        program = qp.ProgramBuilder(n, 1e-6).build([task], bounds, mass)
        solution = solver.solve(program)
        torque = solution.inertia_torque + bias
        assert np.isfinite(torque).all()
        assert solution.status in (QpStatus.SOLVED, QpStatus.SOFTENED)
        assert np.all(solution.inertia_torque >= bounds[4]) and np.all(solution.inertia_torque <= bounds[5])
