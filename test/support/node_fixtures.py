"""rclpy for tests that need a node but no other process, and for those that need real ones."""

import sys
import time
import weakref

import pytest
from patience import patient

SETTLED, HEARD = 0.02, 3.0
"""Time in which a callback of the discovery ends, and the longest one until all have heard that a node has gone, s."""


@pytest.fixture(scope="session", autouse=True)
def discovery_ends_first():
    """A node of a test's own process ends when its middleware has heard of those that came or went before.

    In the middle of that Fast DDS 2.14 can wait for itself for ever (eProsima/Fast-DDS#6513): a participant that is
    deleted while it hears that another one of the process has gone. Processes that are nodes end themselves
    (`impact_aware/ros/timers.py`); one that runs tests has to go on, and waits until it was heard.
    """
    try:
        from rclpy.node import Node
    except ImportError:
        yield
        return
    begin, destroy = Node.__init__, Node.destroy_node
    there = weakref.WeakSet()

    def begin_listed(self, *words, **options):
        begin(self, *words, **options)
        there.add(self)

    def destroy_later(self):
        time.sleep(SETTLED)
        gone = self.get_name(), self.get_namespace()
        there.discard(self)
        result = destroy(self)
        others = [node for node in there if node.context is not self.context and node.context.ok()]
        until = time.monotonic() + HEARD
        while any(_lists(node, gone) for node in others) and time.monotonic() < until:
            time.sleep(0.005)
        return result

    Node.__init__, Node.destroy_node = begin_listed, destroy_later
    yield
    Node.__init__, Node.destroy_node = begin, destroy


def _lists(node, gone):
    try:
        return gone in node.get_node_names_and_namespaces()
    except Exception:  # One that ends by another way than this.
        return False


@pytest.fixture(scope="session")
def ros_context():
    import rclpy

    rclpy.init()
    yield
    rclpy.try_shutdown()


@pytest.fixture(scope="session")
def zygote():
    """Starts processes of the package that need not import anything any more."""
    from zygote import Zygote

    made = Zygote()
    yield made
    made.close()


@pytest.fixture
def forked_nodes(zygote):
    """Node processes that the test's own process asks for are forked."""
    with zygote.nodes():
        yield


@pytest.fixture(autouse=True)
def no_failures_of_earlier_tests():
    """A process counts the callbacks that failed in it."""
    yield
    supervision = sys.modules.get("impact_aware.ros.supervision")
    if supervision is not None:
        supervision.SUPERVISION.failures.clear()


@pytest.fixture
def node(ros_context):
    from rclpy.node import Node

    node = Node("test_node")
    yield node
    node.destroy_node()


class Suite:
    """Real node processes in a domain of their own, and a robot that stands still behind its driver, played by a test.

    The driver's clock goes on by 1 ms per state, however long that takes: how fast the machine is does not matter.
    """

    def __init__(self, folder, domain, zygote):
        import rclpy
        from diagnostic_msgs.msg import DiagnosticArray
        from rclpy.context import Context
        from rclpy.executors import SingleThreadedExecutor
        from rclpy.node import Node
        from sensor_msgs.msg import JointState
        from std_msgs.msg import Float64MultiArray

        from impact_aware.robot import RobotModel
        from impact_aware.ros.qos import COMMAND_QOS, state_qos
        from impact_aware.task import load_task, start_posture

        self.folder, self.domain, self.zygote = folder, domain, zygote
        self.processes = []
        self.context = Context()
        rclpy.init(context=self.context, domain_id=domain)
        self.node = Node("driver", context=self.context)
        self.executor = SingleThreadedExecutor(context=self.context)
        self.executor.add_node(self.node)
        robot = RobotModel.from_profile("panda")
        self.time = 1.0
        self.driving = True
        self._state = JointState(
            name=list(robot.joint_names),
            position=start_posture(load_task("hit_and_push").arms[0], robot),
            velocity=[0.0] * robot.n,
        )
        self._states = self.node.create_publisher(JointState, "joint_states", state_qos(reliable=True))
        self.commands = 0
        self.node.create_subscription(Float64MultiArray, "effort_controller/commands", self._on_command, COMMAND_QOS)
        self._latest = {}
        self.node.create_subscription(DiagnosticArray, "/diagnostics", self._on_diagnostics, 50)

    def _on_command(self, _message):
        self.commands += 1

    def _on_diagnostics(self, message):
        for status in message.status:
            self._latest[status.name.lstrip("/").partition(":")[0]] = {
                entry.key: entry.value for entry in status.values
            }

    def start(self, executable, name=None, domain=None, members=(), **parameters):
        """Start a node, or several as `members` of one process, with a log of its own."""
        from impact_aware.bringup.node_spec import NodeSpec
        from impact_aware.bringup.processes import NodeProcess, quiet_environment

        folder = self.folder / str(len(self.processes))
        folder.mkdir()
        environment = quiet_environment(self.domain if domain is None else domain) | {"ROS_LOG_DIR": str(folder)}
        spec = NodeSpec(executable, name or executable, parameters=parameters, members=tuple(members))
        with self.zygote.nodes():
            process = NodeProcess(spec, environment, folder)
        self.processes.append(process)
        return process

    def until(self, condition, what, patience=90.0):
        """Play the driver until something is so."""
        from impact_aware.ros.messages import stamp

        deadline = time.monotonic() + patient(patience)
        while not condition():
            if time.monotonic() > deadline:
                logs = "\n".join(f"{process.spec.name}: {process.last_lines(3)}" for process in self.processes)
                pytest.fail(f"not within {patience:g} s: {what}\n{logs}")
            if self.driving:
                self.time += 0.001
                self._state.header.stamp = stamp(self.time)
                self._states.publish(self._state)
            until = time.monotonic() + 0.01
            while (left := until - time.monotonic()) > 0.0:
                self.executor.spin_once(timeout_sec=left)

    def drain(self):
        """Take the commands that are still on their way; no state is published meanwhile."""
        quiet = 0
        while quiet < 20:
            before = self.commands
            self.executor.spin_once(timeout_sec=0.01)
            quiet = quiet + 1 if self.commands == before else 0

    def until_said(self, process, words):
        """Until a node's log has these words; returns how many of its lines do."""
        self.until(lambda: words in process.log.read_text(), f"{process.spec.name} says '{words}'")
        return sum(words in line for line in process.log.read_text().splitlines())

    def until_mode(self, mode):
        self.until(lambda: self.diagnosed("rs_controller", "mode") == mode, f"mode {mode}")

    def diagnosed(self, name, key):
        """What a node's last diagnostics have under a name."""
        return self._latest.get(name, {}).get(key, "")

    def call(self, kind, service, request):
        """The answer of a service."""
        client = self.node.create_client(kind, service)
        self.until(client.service_is_ready, f"service {service}")
        future = client.call_async(request)
        self.until(future.done, f"an answer of {service}")
        self.node.destroy_client(client)
        return future.result()

    def close(self):
        from impact_aware.bringup.processes import end_processes

        killed = end_processes(self.processes)
        for process in self.processes:
            process.close()
        self.executor.shutdown()
        self.node.destroy_node()
        self.context.shutdown()
        logs = {own.spec.full_name: own.log.read_text()[-2000:] for own in self.processes}
        assert killed == [], f"every node ends by itself, not {[(name, logs[name]) for name in killed]}"


@pytest.fixture
def suite(tmp_path, ros_domain, zygote):
    made = Suite(tmp_path, ros_domain, zygote)
    yield made
    made.close()
