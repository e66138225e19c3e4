"""What holds for all tests: repeatable examples, a ROS domain of their own, and which of them start processes.

`HYPOTHESIS_PROFILE=explore make test` draws new examples.
"""

import os
from pathlib import Path

import pytest
from hypothesis import settings

pytest_plugins = ("analysis_fixtures", "launch_started", "node_fixtures")

settings.register_profile("repeatable", derandomize=True)
settings.register_profile("explore")
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))

STARTING = {"suite", "zygote", "forked_nodes"}
"""Fixtures by which processes with ROS nodes are started."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Mark what starts nodes as processes, and let it go first and one after the other where tests run side by side."""
    for item in items:
        if STARTING & set(item.fixturenames):
            item.add_marker("dds")
        # Other files are kept together too: what a file's tests share is made once.
        group = "dds" if item.get_closest_marker("dds") else str(Path(item.path).relative_to(item.config.rootpath))
        item.add_marker(pytest.mark.xdist_group(group))
    items.sort(key=lambda item: item.get_closest_marker("dds") is None)


@pytest.fixture(autouse=True)
def node_processes_only_where_marked(request, monkeypatch):
    """A test without the marker `dds` starts no node as a process: `make test-fast` relies on it."""
    if request.node.get_closest_marker("dds") is None:
        from impact_aware.bringup.processes import NodeProcess

        def refuse(self, *args, **kwargs):
            pytest.fail(f"{request.node.nodeid} starts a node as a process: mark it dds")

        monkeypatch.setattr(NodeProcess, "__init__", refuse)


@pytest.fixture(scope="session", autouse=True)
def ros_domain():
    """A ROS domain for this run of the tests alone, on this machine alone."""
    from impact_aware.bringup.domain import own_domain

    with own_domain() as domain:
        os.environ |= {"ROS_DOMAIN_ID": str(domain), "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST"}
        yield domain
