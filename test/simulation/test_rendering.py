import matplotlib.image
import numpy as np
import pytest

from impact_aware.errors import InvalidInputError
from impact_aware.simulation import MujocoPlant, load_scene
from impact_aware.simulation.rendering import Camera, render_key_frames


@pytest.fixture(scope="module")
def plant():
    return MujocoPlant(load_scene("dual_arm_grab"))


@pytest.mark.parametrize("sticks", [False, True])
def test_picture_shows_something(plant, tmp_path, sticks):
    path = render_key_frames(
        plant.scene, plant.robots, [plant.state] * 2, tmp_path / "new" / "frames.png", sticks=sticks
    )
    image = matplotlib.image.imread(path)
    # Two frames side by side, and neither blank.
    assert image.shape[1] > 1.5 * image.shape[0]
    for half in np.array_split(image[..., :3], 2, axis=1):
        assert half.std() > 0.01


def test_camera_looks_between_bases_and_object_unless_told(plant):
    assert np.allclose(Camera(target=(1.0, 2.0, 3.0)).target_in(plant.scene), [1.0, 2.0, 3.0])
    assert 0.0 < Camera().target_in(plant.scene)[0] < plant.scene.object_placement.translation[0]


def test_senseless_requests_are_refused(plant, tmp_path):
    with pytest.raises(InvalidInputError, match="states"):
        render_key_frames(plant.scene, plant.robots, [], tmp_path / "none.png")
    with pytest.raises(InvalidInputError, match="titles"):
        render_key_frames(plant.scene, plant.robots, [plant.state], tmp_path / "none.png", titles=["a", "b"])
    assert not (tmp_path / "none.png").exists()
