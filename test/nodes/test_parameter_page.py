"""docs/parameters.md is what `make parameters` writes."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_page_of_parameters_is_up_to_date():
    made = subprocess.run(
        [sys.executable, ROOT / "environment" / "parameter_page.py"], capture_output=True, text=True, check=True
    )
    assert (ROOT / "docs" / "parameters.md").read_text() == made.stdout, "run make parameters"
