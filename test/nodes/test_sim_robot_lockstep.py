"""When the simulator in lockstep goes on: after everybody's answer and a command for every arm, and not before."""

import numpy as np
import pytest
from impact_aware_msgs.msg import StepDone
from node_harness import status
from std_msgs.msg import Float64MultiArray

from impact_aware.nodes.sim_robot import SimRobotNode
from impact_aware.ros.messages import stamp
from impact_aware.simulation import DriveMode

PARTICIPANTS = ["left/impact_detector", "right/impact_detector", "rs_controller"]


class Bench:
    """A simulator of two arms whose partners are played by the test."""

    def __init__(self, node: SimRobotNode) -> None:
        self.node = node
        # Nobody is subscribed here, nor is it of interest whether another plant is.
        self.node._graph_complete = self.node._begun = True

    @property
    def time(self) -> float:
        return round(self.node.plant.state.time, 6)

    def answer(self, *names: str, late: float = 0.0) -> None:
        now = stamp(self.node._settings.start_time + self.node.plant.reading.time - late)
        for name in names or PARTICIPANTS:
            self.node._gate._on_step_done(StepDone(node=f"/{name}", stamp=now))

    def command(self, *arms: str, values: float = 0.0) -> None:
        for arm in arms or ("left", "right"):
            self.node.arms[arm].input._receive(Float64MultiArray(data=np.full(7, values)))

    def tick(self, waited: float = 0.0) -> None:
        """Look at the clock when the last step was `waited` seconds ago."""
        self.node._last_step -= waited
        self.node._on_tick()

    def drive(self) -> None:
        self.tick(waited=1.0)
        self.answer()
        self.command()


@pytest.fixture
def bench(make):
    return Bench(make(SimRobotNode, task="dual_arm_grab", lockstep=True, lockstep_participants=PARTICIPANTS))


def test_it_waits_for_every_answer_and_a_command_for_each_arm(bench):
    bench.drive()
    begin = bench.time
    bench.command("left")
    bench.answer()
    assert bench.time == begin
    bench.command("right")
    assert bench.time == round(begin + 0.001, 6)
    bench.command()
    bench.answer("left/impact_detector", "rs_controller")
    assert bench.time == round(begin + 0.001, 6)
    bench.answer("right/impact_detector")
    assert bench.time == round(begin + 0.002, 6)


def test_an_answer_to_an_older_state_does_not_count(bench):
    bench.drive()
    begin = bench.time
    bench.command()
    bench.answer(late=0.001)
    assert bench.time == begin
    assert bench.node._missing() == ", ".join(PARTICIPANTS)


def test_nothing_moves_and_nothing_is_waited_for_until_everybody_has_answered_once(bench):
    """DDS may have found the answers of a node before that node hears the states."""
    bench.tick(waited=1.0)
    begin = bench.time
    for count in range(1, 4):
        bench.answer("left/impact_detector", "rs_controller")
        bench.command(values=1.0)
        bench.tick(waited=1.0)
        assert bench.time == pytest.approx(begin + 0.001 * count)
        assert set(bench.node.plant.modes.values()) == {DriveMode.HOLD}
    bench.answer()
    bench.command(values=1.0)
    assert set(bench.node.plant.modes.values()) == {DriveMode.TORQUE}


def test_it_says_whom_it_waits_for(bench):
    bench.drive()
    bench.answer("left/impact_detector")
    bench.command("right")
    assert bench.node._missing() == "right/impact_detector, rs_controller, a command for left"


def test_when_nobody_commands_any_more_the_arms_keep_themselves_and_time_goes_on(bench):
    bench.drive()
    assert bench.node._driven
    begin = bench.time
    bench.answer()
    bench.tick(waited=0.5)
    assert bench.time == begin, "a slow controller is no silent one"
    bench.tick(waited=1.0)
    assert bench.time > begin
    assert set(bench.node.plant.modes.values()) == {DriveMode.BRAKE}
    for _ in range(3):
        bench.answer()
        bench.tick()
    assert bench.time == pytest.approx(begin + 0.004)
    bench.command()
    bench.answer()
    assert set(bench.node.plant.modes.values()) == {DriveMode.TORQUE}


def test_a_command_that_is_not_usable_is_dropped_and_counted(bench):
    bench.drive()
    bench.command("left", values=np.nan)
    assert not bench.node.arms["left"].input.is_new(0.0)
    assert status(bench.node)[2]["rejected_commands"] == "1"


def test_a_lost_participant_ends_the_lockstep(bench):
    bench.drive()
    bench.node._gate._on_loss()
    assert not bench.node._waiting


def test_who_died_before_anybody_commanded_ends_it_as_soon_as_it_is_waited_for(bench):
    bench.tick(waited=1.0)
    bench.answer()
    bench.node._gate._lost.add("rs_controller")
    bench.node._gate._look()
    assert bench.node._waiting, "nothing moves yet"
    bench.command()
    assert bench.node._driven
    bench.node._gate._look()
    assert not bench.node._waiting


def test_free_running_only_the_arm_without_commands_brakes(bench):
    bench.drive()
    bench.node._break_lockstep("the test says so")
    for _ in range(150):
        bench.command("left")
        bench.node._step()
    assert bench.node.plant.modes == {"left": DriveMode.TORQUE, "right": DriveMode.BRAKE}
    assert status(bench.node)[1] == "commands stopped: braking right"


def test_the_object_stands_in_the_frame_of_both_arms(bench):
    sent = []
    bench.node._pose_publisher.publish = sent.append
    bench.node._publish_object()
    assert sent[0].header.frame_id == "world"
    position = sent[0].pose.position
    assert [position.x, position.y, position.z] == pytest.approx([0.55, 0.0, 0.4], abs=1e-6)
