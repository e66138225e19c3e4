"""The window of the plant: refused where there is no screen; with one it shows the plant and never moves it."""

import os
import shutil
import subprocess
import sys

import pytest
from patience import LONGEST

from impact_aware.cli.main import main
from impact_aware.errors import InvalidInputError
from impact_aware.screen import SCREENS, check_screen
from impact_aware.simulation import MujocoPlant, Scene

SHOW = """
import time
import numpy as np
from impact_aware.simulation import MujocoPlant, Scene

plant = MujocoPlant(Scene())
viewer = plant.open_viewer()
start = time.monotonic()
while time.monotonic() < start + 0.3:
    viewer.show()
shown, before = viewer._data, plant.state
np.testing.assert_array_equal(shown.qpos, plant._data.qpos)
# Base to joints to tool: rods between what is more than a radius apart.
print("rods", viewer._window.user_scn.ngeom)
# What a mouse does to the window's copy is not the plant's.
shown.qpos[:] += 0.5
shown.xfrc_applied[:] = 100.0
plant.step(np.zeros(plant.n))
other = MujocoPlant(Scene())
other.step(np.zeros(other.n))
np.testing.assert_array_equal(plant.state.q, other.state.q)
viewer.close()
print("closed", not viewer.open)
viewer.show()
"""


@pytest.fixture
def no_screen(monkeypatch):
    for name in SCREENS:
        monkeypatch.delenv(name, raising=False)


def test_without_a_screen_no_window_is_opened(no_screen, monkeypatch):
    with pytest.raises(InvalidInputError, match="parameter viewer: got no screen"):
        MujocoPlant(Scene()).open_viewer()
    monkeypatch.setenv("WAYLAND_DISPLAY", "wayland-0")
    check_screen("anybody")


def test_a_demo_that_is_to_be_watched_says_so_before_it_starts(no_screen, capsys, tmp_path):
    assert main(["demo", "hit-and-push", "--watch", "--out", str(tmp_path / "run")]) == 2
    assert capsys.readouterr().err.startswith("impact-aware: error: --watch: got no screen, expected DISPLAY")
    assert not (tmp_path / "run").exists()


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("xvfb-run") is None, reason="needs a screen, or xvfb")
def test_the_window_shows_the_plant_and_does_not_move_it():
    words = ["xvfb-run", "-a", sys.executable, "-c", SHOW]
    done = subprocess.run(words, capture_output=True, text=True, timeout=LONGEST, check=False, env=dict(os.environ))
    if "GLFW" in done.stderr or "OpenGL" in done.stderr:
        pytest.skip("no OpenGL here")
    assert (done.returncode, done.stdout.split()) == (0, ["rods", "6", "closed", "True"]), done.stderr
