import pytest
import yaml

from impact_aware.detection import make_detector
from impact_aware.detection.tuning import load_parameters
from impact_aware.errors import InvalidInputError


def test_parameters_come_back_and_make_a_detector(tmp_path):
    path = tmp_path / "detector.yaml"
    path.write_text(yaml.safe_dump({"detector": "adaptive_window", "parameters": {"encoder_resolution": 2e-5}}))
    parameters = load_parameters(path, "adaptive_window")
    assert parameters == {"encoder_resolution": 2e-5}
    assert make_detector("adaptive_window", 7, **parameters).joint_count == 7


@pytest.mark.parametrize(
    ("content", "word"),
    [
        ("detector: fusion\nparameters: {}\n", "made for fusion"),
        ("- 1\n", "mapping"),
        ("detector: adaptive_window\n", "parameters"),
        ("a: [", "valid YAML"),
        ("detector: adaptive_window\nparameters: {source: velocity}\n", "'source', expected one of"),
        ("detector: adaptive_window\nparameters: {encoder_resolution: -1.0}\n", "encoder_resolution: got -1.0"),
    ],
)
def test_what_is_no_tuning_is_refused(tmp_path, content, word):
    path = tmp_path / "detector.yaml"
    path.write_text(content)
    with pytest.raises(InvalidInputError, match=word):
        load_parameters(path, "adaptive_window")


def test_a_missing_file_is_refused(tmp_path):
    with pytest.raises(InvalidInputError, match="readable YAML file \\(No such file"):
        load_parameters(tmp_path / "none.yaml", "adaptive_window")
