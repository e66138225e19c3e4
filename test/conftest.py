"""The same examples in every run: a failure must be one that anybody can repeat.

`HYPOTHESIS_PROFILE=explore make test` draws new ones.
"""

import os

import pytest
from hypothesis import settings

pytest_plugins = ("analysis_fixtures", "launch_started", "node_fixtures")

settings.register_profile("repeatable", derandomize=True)
settings.register_profile("explore")
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))


@pytest.fixture(scope="session", autouse=True)
def ros_domain():
    """A ROS domain for this run of the tests alone, on this machine alone."""
    from impact_aware.bringup.domain import own_domain

    with own_domain() as domain:
        os.environ |= {"ROS_DOMAIN_ID": str(domain), "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST"}
        yield domain
