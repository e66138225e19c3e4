"""Every example and the notebook run as they are, and print what physics says."""

import json
import re
import runpy
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pytest

FOLDER = Path(__file__).resolve().parents[2] / "examples"
PRINTED = {
    "predict_a_jump.py": r"slide|stick",
    "palm_on_a_box.py": r"box: \[ ?0\.2\d+",
    "analyze_a_recording.py": r"contact at 0\.99",
    "evaluate_a_field.py": r"velocity at the impact \[ ?-?0\. +-0\.5 +-?0\. *\] m/s",
    "record_trials.py": r"trial_2\.csv: the tool hits the box at 1\.00\d s",
    "control_in_a_loop.py": r"post, the box is 0\.0[0-2]\d m from its goal",
}


@pytest.fixture(autouse=True)
def own_temporary_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.chdir(tmp_path)


def test_every_example_is_run() -> None:
    assert {path.name for path in FOLDER.glob("*.py")} == set(PRINTED)
    assert [path.name for path in FOLDER.glob("*.ipynb")] == ["through_one_impact.ipynb"]


@pytest.mark.slow
@pytest.mark.parametrize("name", PRINTED)
def test_an_example_runs_and_prints_what_it_promises(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    names = runpy.run_path(str(FOLDER / name), run_name="__main__")
    assert re.search(PRINTED[name], capsys.readouterr().out)
    if name == "analyze_a_recording.py":
        [impact] = names["analysis"].impacts
        jump = impact.velocity_after_estimated - impact.velocity_before
        # The prediction explains nine tenths of the jump, whose norm is far above the sensors' noise.
        assert np.linalg.norm(jump) > 0.5 and impact.verdict.error < 0.1 * impact.reference.jump_size
        assert names["page"].read_text(encoding="utf-8").startswith("<!doctype html>")
    if name == "palm_on_a_box.py":
        jump = names["jump"]
        # The palm loses along x what box and table get; the box goes on with less than the palm came with.
        assert 0.1 < jump.velocity_after["box"][0] < 0.4 and jump.energy_loss > 0.0
        gained = 2.0 * jump.velocity_after["box"][:3]
        np.testing.assert_allclose(gained, jump.impulse[4:].sum(axis=0) - jump.impulse[:4].sum(axis=0), atol=1e-9)
    if name == "predict_a_jump.py":
        # The tool neither stays on its way into the table nor rebounds: the Jacobian at the contact's point says so.
        jump = names["jump"]
        assert jump.contact_velocity_before[2] < -0.1 and abs(jump.contact_velocity_after[2]) < 1e-9


@pytest.mark.slow
def test_the_notebook_runs_from_top_to_bottom() -> None:
    notebook = json.loads((FOLDER / "through_one_impact.ipynb").read_text(encoding="utf-8"))
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    cells = ["".join(cell["source"]) for cell in code]
    names: dict[str, object] = {}
    try:
        for cell in cells:
            exec(compile(cell, "through_one_impact.ipynb", "exec"), names)
        kept = [output["data"]["image/png"] for cell in code for output in cell["outputs"]]
        assert len(plt.get_fignums()) == len(kept) == 5, "make pictures NAMES=examples/through_one_impact.ipynb"
        for number in plt.get_fignums():
            for axis in plt.figure(number).axes:
                assert re.search(r"\(.+\)|, rad/s$", axis.get_ylabel()), "an axis without a unit"
    finally:
        plt.close("all")
