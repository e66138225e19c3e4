from pathlib import Path

from impact_aware.nodes.ros.parameter_page import page


def test_the_page_of_parameters_is_up_to_date():
    written = Path(__file__).parents[2] / "docs" / "parameters.md"
    assert written.read_text() == page(), "run make parameters"
