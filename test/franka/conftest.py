"""Tests against a simulated Franka are skipped, with the reason, where its packages are not installed."""

import pytest

from impact_aware_rigs.franka import SimulatedFranka, missing_packages

WITHOUT_ARM = ("test_channel.py", "test_driver_without_arm.py")


def pytest_collection_modifyitems(items):
    if reason := missing_packages():
        for item in items:
            if item.path.parent.name == "franka" and item.path.name not in WITHOUT_ARM:
                item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture(scope="module")
def arm():
    """An arm without an object, one for the tests of a file: each leaves it idle."""
    with SimulatedFranka(task="") as found:
        yield found


@pytest.fixture
def robot(arm):
    """A client of the arm, which leaves it idle and without errors."""
    import pylibfranka

    client = pylibfranka.Robot(arm.address, pylibfranka.RealtimeConfig.kIgnore)
    yield client
    # A client that a failed test keeps alive would keep the next one out.
    arm.reset()
