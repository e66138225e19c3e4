"""The controller's quadratic programs, random ones: our minimum against another solver's, and the time of several."""

from __future__ import annotations

import argparse
import importlib
import sys
import time
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np
from tqdm import tqdm

from impact_aware.arrays import Array
from impact_aware.control.qp import QpSolver, QpStatus, QuadraticProgram
from impact_aware.errors import InvalidInputError
from impact_aware_rigs.bench.random_programs import KINDS, optimality, random_program, reference

SIZES = {"one_arm": (7,), "two_arms": (7, 7)}

Solve = Callable[[QuadraticProgram], Array]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare how much to compare."""
    parser.add_argument("--programs", type=int, default=1000, metavar="N", help="of each kind; default 1000")
    parser.add_argument("--timed", type=int, default=300, metavar="N", help="of these, timed by all; default 300")
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="seed of the programs; default 0")


def run(args: argparse.Namespace) -> dict[str, Any]:
    """Compare: largest difference to the reference, violations, steps; microseconds of processor time per solve.

    Raises:
        InvalidInputError: No program.
        ImpactAwareError: Without PIQP, which gives the reference.
    """
    if args.programs < 1 or args.timed < 1:
        raise InvalidInputError("--programs, --timed", (args.programs, args.timed), "numbers >= 1")
    result: dict[str, Any] = {"programs_of_each_kind": args.programs}
    for label, sizes in SIZES.items():
        result[label] = {kind: _compared(sizes, kind, args.programs, args.seed) for kind in KINDS}
    result["processor_us"] = {
        label: {kind: _timed(sizes, kind, min(args.timed, args.programs), args.seed) for kind in KINDS[:3]}
        for label, sizes in SIZES.items()
    }
    names = ("quadprog", "piqp", "proxsuite", "daqp")
    result["versions"] = ", ".join(f"{name} {_version(name)}" for name in names)
    return result


def _compared(sizes: tuple[int, ...], kind: str, count: int, seed: int) -> dict[str, Any]:
    generator, solver = np.random.default_rng(seed), QpSolver(sizes)
    difference, left, beyond, over, longest, compared = 0.0, 0.0, 0.0, 0, 0, 0
    ends = dict.fromkeys(QpStatus, 0)
    for _ in tqdm(range(count), desc=f"{sizes} {kind}", unit="program", disable=not sys.stderr.isatty()):
        program = random_program(generator, sizes, kind)
        found = solver.solve(program)
        slope, violation, softened = optimality(program, sizes, found.acceleration)
        left, beyond, longest = max(left, slope), max(beyond, violation), max(longest, solver.steps)
        wanted = reference(program) if kind in KINDS[1:3] else None
        if wanted is not None:
            apart = float(np.abs(found.acceleration - wanted).max() / max(1.0, np.abs(wanted).max()))
            difference, compared = max(difference, apart), compared + 1
        ends[found.status] += 1
        over += (found.status is QpStatus.SOFTENED) != softened
        torque, limits = found.inertia_torque, program.limits
        beyond = max(beyond, float((limits[4] - torque).max()), float((torque - limits[5]).max()))
    return {
        "compared_with_piqp": compared,
        "largest_relative_difference": difference,
        "largest_slope_left": left,
        "largest_violation": beyond,
        "ends_that_differ": over,
        "largest_steps": longest,
    } | {status.name.lower(): number for status, number in ends.items()}


def _timed(sizes: tuple[int, ...], kind: str, count: int, seed: int) -> dict[str, Any]:
    """Programs whose bounds don't exclude each other, given to every solver as it likes them."""
    generator = np.random.default_rng(seed)
    programs = [random_program(generator, sizes, kind) for _ in range(count)]
    own = QpSolver(sizes)
    solvers: dict[str, Solve] = {"ours": lambda program: own.solve(program).acceleration}
    for name, make in (("quadprog", _quadprog), ("piqp", _piqp), ("proxqp", _proxqp), ("daqp", _daqp)):
        try:
            solvers[name] = make(sum(sizes))
        except ImportError:
            continue
    answers = [own.solve(program).acceleration for program in programs]
    result = {}
    for name, solve in solvers.items():
        solve(programs[0])
        times, wrong = [], 0
        for program, answer in zip(programs, answers, strict=True):
            begin = time.thread_time()
            found = solve(program)
            times.append(time.thread_time() - begin)
            wrong += not np.allclose(found, answer, rtol=1e-4, atol=1e-4)
        p50, p99 = 1e6 * np.percentile(times, [50, 99])
        result[name] = {"p50": float(p50), "p99": float(p99), "other_answers": wrong}
    return result


def _rows(program: QuadraticProgram) -> tuple[Array, Array, Array]:
    """Bounds on x, the tighter of two, and on M x: lower and upper (2 n,), and the two-sided rows' matrix (n, n)."""
    limits = program.limits
    lower = np.concatenate([np.maximum(limits[0], limits[2]), limits[4]])
    return lower, np.concatenate([np.minimum(limits[1], limits[3]), limits[5]]), program.mass_matrix


def _quadprog(n: int) -> Solve:
    quadprog = importlib.import_module("quadprog")
    both = np.eye(n)

    def solve(program: QuadraticProgram) -> Array:
        lower, upper, mass = _rows(program)
        rows = np.hstack([both, mass.T, -both, -mass.T])
        return np.asarray(
            quadprog.solve_qp(program.hessian, -program.gradient, rows, np.concatenate([lower, -upper]))[0]
        )

    return solve


def _piqp(n: int) -> Solve:
    piqp = importlib.import_module("piqp")
    solver = piqp.DenseSolver()
    solver.settings.eps_abs = solver.settings.eps_rel = 1e-8
    solver.settings.compute_timings = False
    return _kept(n, solver, solver.setup, lambda: solver.result.x)


def _proxqp(n: int) -> Solve:
    proxqp = importlib.import_module("proxsuite").proxqp
    solver = proxqp.dense.QP(n, 0, n, True)
    solver.settings.eps_abs = 1e-8
    solver.settings.initial_guess = proxqp.InitialGuess.NO_INITIAL_GUESS
    return _kept(n, solver, solver.init, lambda: solver.results.x)


def _kept(n: int, solver: Any, begin: Callable[..., object], result: Callable[[], Array]) -> Solve:
    """A solver whose memory is set up by the first program and updated by the others."""
    begun: list[bool] = []

    def solve(program: QuadraticProgram) -> Array:
        lower, upper, mass = _rows(program)
        give = solver.update if begun else begin
        give(program.hessian, program.gradient, None, None, mass, lower[n:], upper[n:], lower[:n], upper[:n])
        begun[:] = [True]
        solver.solve()
        return np.array(result())

    return solve


def _daqp(n: int) -> Solve:
    daqp = importlib.import_module("daqp")
    sense = np.zeros(2 * n, dtype=np.int32)

    def solve(program: QuadraticProgram) -> Array:
        lower, upper, mass = _rows(program)
        return np.asarray(daqp.solve(program.hessian, program.gradient, mass, upper, lower, sense, primal_tol=1e-8)[0])

    return solve


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"
