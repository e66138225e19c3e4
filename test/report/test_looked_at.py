"""Reports are as they were when somebody last looked at them; see `test/support/looked_at.py`."""

import re

import pytest
from looked_at import ARMS, KEPT, report_page, run_texts

TAG = re.compile(r"<[^>]*>")
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[-+]?\d+)?")


def assert_same(text, name):
    """Words and their order to the letter, numbers to what a processor's last digits may change.

    Within tags stand coordinates, in hundredths of a point.
    """
    kept = (KEPT / name).read_text(encoding="utf-8")
    assert NUMBER.sub("#", TAG.sub("<>", text)) == NUMBER.sub("#", TAG.sub("<>", kept)), name
    assert numbers(TAG.sub("", text)) == pytest.approx(numbers(TAG.sub("", kept)), rel=1e-6, abs=1e-12), name
    for number, (tag, old) in enumerate(zip(TAG.findall(text), TAG.findall(kept), strict=True), start=1):
        assert NUMBER.sub("#", tag) == NUMBER.sub("#", old), f"{name}, tag {number}"
        assert numbers(tag) == pytest.approx(numbers(old), rel=1e-5, abs=0.011), f"{name}, tag {number}"


def numbers(text):
    return [float(number) for number in NUMBER.findall(text)]


def test_the_page_of_an_analysis():
    assert_same(report_page(), "report.html")


@pytest.mark.slow
@pytest.mark.parametrize("name", ARMS)
def test_table_summary_and_figure_of_a_run(name):
    texts = run_texts(name)
    assert len(texts) == 3
    for file, text in texts.items():
        assert_same(text, file)


def test_what_is_kept_is_what_is_compared():
    runs = {f"{name}.{suffix}" for name in ARMS for suffix in ("txt", "json", "svg")}
    assert {path.name for path in KEPT.iterdir()} == {"report.html"} | runs
