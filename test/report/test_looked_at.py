"""Reports are as they were when somebody last looked at them; see `test/support/looked_at.py`."""

import pytest
from kept_texts import assert_same
from looked_at import ARMS, KEPT, report_page, result_texts, run_texts


def test_the_page_of_an_analysis():
    assert_same(report_page(), KEPT / "report.html")


def test_the_files_of_an_analysis():
    for file, text in result_texts().items():
        assert_same(text, KEPT / file)


@pytest.mark.slow
@pytest.mark.parametrize("name", ARMS)
def test_table_summary_and_figure_of_a_run(name):
    texts = run_texts(name)
    assert len(texts) == 3
    for file, text in texts.items():
        assert_same(text, KEPT / file)


def test_what_is_kept_is_what_is_compared():
    runs = {f"{name}.{suffix}" for name in ARMS for suffix in ("txt", "json", "svg")}
    assert {path.name for path in KEPT.iterdir()} == {"report.html", *result_texts()} | runs
