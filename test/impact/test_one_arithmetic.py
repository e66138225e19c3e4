"""Predictions are equal to the last bit whatever a process imported, and whether it has the compiler or not."""

import json
import os
import subprocess
import sys

import pytest

PROGRAM = """
import json, sys
import numpy as np
{first}
import impact_aware as ia
from impact_aware.impact import IMPACT_MAPS

generator, answers = np.random.default_rng(5), []
robot = ia.load_robot("panda")
for k in range(40):
    q = generator.uniform(robot.limits.position_lower, robot.limits.position_upper)
    dq = generator.uniform(-1.0, 1.0, robot.n)
    friction, restitution = (0.0, 0.2, 0.8)[k % 3], (0.0, 0.4)[k % 2]
    contact = ia.Contact("tool", generator.normal(size=3), friction=friction, restitution=restitution, radius=0.03)
    box = ia.FreeObject(2.2, np.diag([0.02, 0.03, 0.01]), generator.uniform(-0.5, 0.5, 3)) if k % 4 == 0 else None
    for method in IMPACT_MAPS:
        found = ia.predict(robot, q, dq, contact, obstacle=box, method=method)
        answers.append([*found.velocity_after, *found.contact_impulse[:3], *found.space.problem.ravel()])
for k in range(100):
    root = generator.uniform(-1.0, 1.0, (3, 3))
    delassus, velocity = (root @ root.T + 0.02 * np.eye(3)).tolist(), generator.normal(size=3).tolist()
    for solve in IMPACT_MAPS.values():
        answers.append(solve(delassus, velocity, (0.2, 1.5)[k % 2], 0.3)[:3])
compiled = "numba" in sys.modules
print(json.dumps([compiled, [[float(value).hex() for value in row] for row in answers]]))
"""

FIRST = {
    "nothing": "",
    "batches": "import impact_aware.impact.batch",
    "a session": "from impact_aware.control import ControlSession",
    "no compiler": "from impact_aware.library_settings import without_compiler; without_compiler()",
}


def answers_after(first):
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(first=FIRST[first])],
        capture_output=True, text=True, check=True, env=os.environ | {"OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def plain():
    return answers_after("nothing")


@pytest.mark.parametrize("first", list(FIRST)[1:])
def test_answers_are_equal_to_the_last_bit(plain, first):
    compiled, answers = answers_after(first)
    assert plain[0] and compiled == (first != "no compiler")
    assert answers == plain[1]
