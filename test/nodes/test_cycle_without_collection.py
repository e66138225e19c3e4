"""The garbage collector stays out of the way from a state to its torque."""

import gc
from types import SimpleNamespace

import pytest

from impact_aware.nodes.rs_controller import RsControllerNode


@pytest.mark.parametrize("fails", [False, True])
def test_nothing_is_collected_between_a_state_and_its_torque(fails):
    seen = []

    def receive(arm):
        seen.append((arm, gc.isenabled()))
        if fails:
            raise ValueError("no torque")
        return False

    node = SimpleNamespace(session=SimpleNamespace(receive=receive))
    if fails:
        with pytest.raises(ValueError, match="no torque"):
            RsControllerNode._on_state(node, 1, None)
    else:
        RsControllerNode._on_state(node, 1, None)
    assert seen == [(1, False)] and gc.isenabled()
