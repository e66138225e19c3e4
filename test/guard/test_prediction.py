"""Calls and times of predictions, and what a process loads after everything was made."""

import resource
import subprocess
import sys

import numpy as np
import pinocchio as pin
import pytest

import impact_aware as ia
from impact_aware.impact.jump_predictor import JumpPredictor

DQ = [0, 0.18, 0, -0.42, 0, 0.6, 0]

MOST_CALLS = 65
MOST_OVER_PINOCCHIO = 3.3
"""The aim is 3: it is 2.1 on an AMD EPYC, and 3.05 on an Intel Xeon, where Pinocchio alone is quicker. A regression of
one half exceeds this on the second."""

MOST_PROCESSOR_TIME_OVER_IMPORT = 3.2
"""Whole `impact-aware predict` over a process that imports Pinocchio, which is half of it."""


@pytest.fixture(scope="module")
def table(robot):
    return ia.Contact(robot.tool_frame, normal=[0, 0, 1], friction=0.3, radius=robot.tool_radius)


def test_a_prediction_as_the_readme_has_it(robot, table, calls, least_times):
    """Beside `pin.impulseDynamics` with its kinematics."""
    model, data, dq = robot.model, robot.data, np.array(DQ, dtype=float)

    def pinocchios():
        pin.computeAllTerms(model, data, robot.home, dq)
        pin.updateFramePlacements(model, data)
        jacobian = pin.getFrameJacobian(model, data, robot.tool_frame_id, pin.LOCAL_WORLD_ALIGNED)
        pin.impulseDynamics(model, data, dq, table.normal.dot(jacobian[:3])[None], 0.0, 0.0)

    def ours():
        return ia.predict(robot, robot.home, DQ, table)

    assert ours().mode == "slide"
    assert calls(ours) <= MOST_CALLS
    least = least_times({"ours": ours, "pinocchio's": pinocchios}, repeats=50)
    assert least["ours"] <= MOST_OVER_PINOCCHIO * least["pinocchio's"]


@pytest.mark.parametrize("name", ["ImpactPredictor", "JumpPredictor"])
def test_calls_of_a_predictors_answer(robot, table, calls, name):
    predictor = {"ImpactPredictor": ia.ImpactPredictor, "JumpPredictor": JumpPredictor}[name](robot, table)
    answer = predictor if name == "ImpactPredictor" else predictor.predict
    q, dq = robot.home, np.array(DQ, dtype=float)
    answer(q, dq)
    assert calls(lambda: answer(q, dq)) <= {"ImpactPredictor": 16, "JumpPredictor": 40}[name]


PREDICT = ["predict", "--robot", "panda", "--dq", *map(str, DQ), "--normal", "0", "0", "1", "--json"]


def test_the_command_takes_little_more_than_its_libraries():
    """Children's processor time, least of some, in turn."""
    command = f"import sys; sys.argv[1:] = {PREDICT}; from impact_aware.cli.main import main; sys.exit(main())"
    least = dict.fromkeys((command, "import pinocchio"), float("inf"))
    for _ in range(8):
        for program in least:
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            least[program] = min(least[program], used)
    assert least[command] <= MOST_PROCESSOR_TIME_OVER_IMPORT * least["import pinocchio"]


LATER = """
import sys
from numba.core import event
import impact_aware as ia

class Compiled(event.Listener):
    def on_start(self, event): assert False, f"translated in the motion: {event}"
    def on_end(self, event): pass

class Imported:
    def find_spec(self, name, path, target=None): assert False, f"imported in the motion: {name}"

task = ia.load_task("hit_and_push")
robot = ia.load_robot(task.arms[0].robot)
field = ia.make_field(task, [robot])
session = ia.ControlSession(robot, field=field)
ia.warm_up(session)
detector = ia.make_detector("adaptive_window", robot.n)
contact = ia.Contact(robot.tool_frame, normal=field.arms[0].normal)
predictor, predict_impact = ia.ImpactPredictor(robot, contact), ia.predict_impact
plant = ia.task_plant(task, ia.EpisodeSettings(), [robot])
state = plant.reset(ia.start_posture(task.arms[0], robot))
session.start(state.time, plant.reading.q)
event.register("numba:compile", Compiled())
sys.meta_path.insert(0, Imported())
hits = 0
while state.time < 1.2:
    reading = plant.reading
    event = detector.update(ia.JointSample(reading.time, reading.q, reading.dq, reading.effort))
    if event is not None and session.mode is ia.Mode.ANTE:
        predictor(reading.q, reading.dq)
        box = ia.predict_impact(task, 0, robot, field, event).object_twist_after
        hits += session.events.notify_impact(event.time, reading.time, box[:3])
    state = plant.step(session.cycle(reading.time, reading.q, reading.dq, effort=reading.effort).effort)
assert hits == 1 and session.mode in (ia.Mode.INTERIM, ia.Mode.POST), (hits, session.mode)
"""


def test_nothing_is_loaded_or_translated_in_a_motion_through_an_impact():
    done = subprocess.run([sys.executable, "-c", LATER], capture_output=True, text=True, check=False)
    assert not done.returncode, done.stderr


def test_a_benchmark_called_predict_is_the_plugins_and_has_the_compiler():
    code = "import sys; sys.argv[1:] = ['bench', 'predict', '--help']; from impact_aware.cli.main import main; main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert not done.returncode and "--batch" in done.stdout, done.stderr
