"""What holds for all tests: repeatable examples, a ROS domain of their own, and which of them start processes.

`HYPOTHESIS_PROFILE=explore make test` draws new examples.
"""

import functools
import os
import re
from pathlib import Path

import pytest
from hypothesis import settings

pytest_plugins = ("analysis_fixtures", "node_harness", "controller_bench", "launch_started", "node_fixtures")

# No deadline of an example: a busy machine would break it.
settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.register_profile("explore", deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))

STARTING = {"suite", "zygote", "forked_nodes"}
"""Fixtures by which processes with ROS nodes are started."""


@functools.cache
def starts_nodes(path):
    """Whether a test file has tests that start nodes as processes."""
    text = Path(path).read_text(encoding="utf-8")
    return bool(re.search(rf"mark\.dds|\bdef test_\w+\([^)]*\b({'|'.join(STARTING)})\b", text))


def pytest_collection_modifyitems(items):
    """Mark what starts nodes as processes, and let the files with it go first."""
    for item in items:
        if STARTING & set(item.fixturenames):
            item.add_marker("dds")
    items.sort(key=lambda item: not starts_nodes(item.path))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """On several workers: a file stays on one of them, and all files that start nodes stay on the same one.

    (xdist 3.8 has `--dist loadgroup` for this, but pytest 9.2 does not hand its groups on.)
    """
    from xdist.scheduler import LoadScopeScheduling

    class ByFile(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            file = nodeid.partition("::")[0]
            return "dds" if starts_nodes(config.rootpath / file) else file

    return ByFile(config, log)


@pytest.fixture(autouse=True)
def node_processes_only_where_marked(request, monkeypatch):
    """A test without the marker `dds` starts no node as a process: `make test-fast` relies on it."""
    if request.node.get_closest_marker("dds") is None:
        from impact_aware.bringup.processes import NodeProcess

        def refuse(self, *args, **kwargs):
            pytest.fail(f"{request.node.nodeid} starts a node as a process: mark it dds")

        monkeypatch.setattr(NodeProcess, "__init__", refuse)


@pytest.fixture(scope="session")
def robot():
    """The Panda. A file that needs another robot has a fixture of this name of its own."""
    from impact_aware.robot.model import RobotModel

    return RobotModel.from_profile("panda")


@pytest.fixture(scope="session", autouse=True)
def ros_domain():
    """A ROS domain for this run of the tests alone, on this machine alone."""
    from impact_aware.bringup.domain import own_domain
    from impact_aware.bringup.middleware import choose_transport

    with own_domain() as domain:
        os.environ |= {"ROS_DOMAIN_ID": str(domain), "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST"}
        choose_transport(os.environ)
        yield domain
