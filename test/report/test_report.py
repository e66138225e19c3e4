import errno
import re
import shutil
import subprocess
from dataclasses import replace
from html import escape
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from matplotlib.figure import Figure
from patience import LONGEST

from impact_aware import output_folder
from impact_aware.report import html as report
from impact_aware.report.html import ReportError, write_report
from impact_aware.report.view import short_names

VOID = {"meta", "link", "br", "path", "use", "rect", "circle"}


class Page(HTMLParser):
    """Checks that tags nest, and collects ids, links and what might be loaded."""

    def __init__(self, text):
        super().__init__()
        self.open, self.ids, self.links, self.loads, self.figures = [], [], [], [], []
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        if tag not in VOID:
            self.open.append(tag)
        if "id" in values:
            self.ids.append(values["id"])
        if tag == "a":
            self.links.append(values["href"])
        elif "href" in values and not values["href"].startswith("#"):
            self.loads.append(values["href"])
        self.loads += [values[name] for name in ("src", "srcset", "data", "action", "xlink:href") if name in values]
        if tag == "svg":
            self.figures.append(values)
        assert tag not in {"script", "iframe", "object", "embed", "img", "form"}

    def handle_startendtag(self, tag, attributes):
        if tag not in VOID:
            self.open.append(tag)
        self.handle_starttag(tag, attributes)
        if tag not in VOID:
            self.open = self.open[:-2]

    def handle_endtag(self, tag):
        if tag not in VOID:
            assert self.open.pop() == tag


@pytest.fixture(scope="module")
def analysis(make_analysis):
    return make_analysis({"left": [1.0], "right": [1.002]})


@pytest.fixture(scope="module")
def written(analysis, tmp_path_factory):
    folder = tmp_path_factory.mktemp("report")
    files = write_report(analysis, folder)
    return files, files[0].read_text()


def test_each_figure_is_drawn_once(make_analysis, tmp_path, monkeypatch):
    formats = []
    draw = Figure.savefig
    monkeypatch.setattr(
        Figure, "savefig", lambda self, *given, **how: formats.append(how["format"]) or draw(self, *given, **how)
    )
    files = write_report(make_analysis({"": [1.0]}), tmp_path)
    assert formats == ["svg"] * (len(files) - 1)


@pytest.mark.slow
def test_figures_are_files_too(written):
    files, _ = written
    assert files[0].name == "report.html"
    # Four figures for each of two impacts.
    assert len(files) == 1 + 2 * 3
    for path in files:
        assert path.stat().st_size > 1000
    assert {path.suffix for path in files[1:]} == {".svg"}
    assert all(ElementTree.parse(path).getroot().tag.endswith("svg") for path in files[1:])
    assert not [path for path in files[0].parent.rglob("*") if path.name.endswith(".part")]


FITS = """<body><script>onload = () => {
  const found = [];
  for (const frame of document.querySelectorAll("iframe"))
    for (const part of frame.contentDocument.querySelectorAll("main, .scroll"))
      if (part.scrollWidth > part.clientWidth + 1)
        found.push(`${part.ariaLabel} at ${frame.width}: ${part.scrollWidth} over ${part.clientWidth}`);
  document.body.innerHTML = `cut: [${found}]`;
}</script>"""
"""Page that lists the parts of the pages in its frames that are wider than their window."""


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("chromium") is None, reason="no chromium")
def test_no_table_is_cut_on_a_desk_on_a_tablet_or_on_a_phone(written, tmp_path):
    frame = f'<iframe width="%d" height="900" srcdoc="{escape(written[1]).replace("%", "%%")}"></iframe>'
    page = tmp_path / "page.html"
    page.write_text("\n".join(["<!doctype html>", *(frame % width for width in (1280, 768, 390)), FITS]))
    words = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}"]
    dump = [*words, "--virtual-time-budget=5000", "--dump-dom", page.as_uri()]
    shown = subprocess.run(dump, capture_output=True, text=True, check=True, timeout=LONGEST).stdout
    assert "cut: []" in shown, re.findall(r"cut: .*", shown)


def test_page_is_whole_and_loads_nothing(written):
    page = Page(written[1])
    assert page.loads == ["data:,"]
    assert len(page.ids) == len(set(page.ids))
    for link in page.links:
        assert link.startswith("#") and link[1:] in page.ids
    assert not re.search(r"https?:|url\((?!#)|@import", written[1])
    assert "default-src 'none'" in written[1]


def test_every_reference_inside_a_figure_has_its_target(written):
    text = written[1]
    targets = set(re.findall(r'\bid="([^"]+)"', text))
    used = set(re.findall(r'<use href="#([^"]+)"', text)) | set(re.findall(r"url\(#([^)]+)\)", text))
    assert used and used <= targets


def test_every_figure_says_what_it_shows(written, analysis):
    page = Page(written[1])
    assert len(page.figures) == 6
    for figure in page.figures:
        assert figure["role"] == "img" and len(figure["aria-label"]) > 40
    impact = analysis.impacts[0]
    joint = int(np.argmax(np.abs(impact.velocity_after_estimated - impact.velocity_before)))
    assert f"The largest jump is that of {impact.joint_names[joint]}" in page.figures[0]["aria-label"]


def test_figures_follow_the_colours_of_the_page(written):
    svg = re.search(r"<svg.*?</svg>", written[1], re.DOTALL).group()
    assert "var(--estimated)" in svg
    # Black would vanish on a dark page; paths without a fill of their own get one from the style sheet of the figure.
    assert "#000000" not in svg


@pytest.mark.slow
def test_many_impacts_keep_the_page_small(make_analysis, tmp_path, monkeypatch):
    monkeypatch.setattr(report, "MOST_FIGURES", 1)
    analysis = make_analysis({"": [0.5 + 0.3 * index for index in range(200)]})
    analysis = replace(analysis, ablation_groups=())
    files = write_report(analysis, tmp_path)
    text = files[0].read_text()
    assert files[0] == tmp_path / "report.html" and len(files) == 1 + 3
    assert "200 impacts: the first 1 have figures" in text
    assert text.count("<svg") == 3
    # 0.2 MB for an impact with figures and less than 1 kB for each of the others.
    assert len(text) < 0.4e6
    Page(text)


def test_without_an_impact(make_analysis, tmp_path):
    text = write_report(make_analysis({"": []}), tmp_path)[0].read_text()
    assert "No impact was found." in text
    Page(text)


def test_without_model_and_estimate(make_analysis, tmp_path):
    analysis = make_analysis({"": [1.0]})
    window = replace(analysis.impacts[0].window, velocities=None)
    unknown = dict.fromkeys(["estimate", "prediction", "prediction_std"])
    bare = replace(analysis.impacts[0], window=window, ablation=(), **unknown)
    analysis = replace(analysis, arms=(replace(analysis.arms[0], impacts=(bare,)),), ablation_groups=())
    files = write_report(analysis, tmp_path)
    text = files[0].read_text()
    assert [path.name for path in files[1:]] == ["impact-001-velocities.svg", "impact-001-positions.svg"]
    assert "differentiated positions" in text and 'id="ablation"' not in text
    Page(text)


@pytest.mark.slow
def test_names_from_a_recording_are_text_not_markup(make_analysis, tmp_path):
    analysis = make_analysis({"<script>alert(1)</script>": [1.0]}, file=Path("a<b>&.mcap"))
    files = write_report(replace(analysis, notes=("<b>note</b>",)), tmp_path)
    text = files[0].read_text()
    assert "a&lt;b&gt;&amp;.mcap" in text and "&lt;b&gt;note" in text
    Page(text)
    for path in files[1:]:
        assert path.parent == tmp_path / "figures"


def test_a_full_disk_leaves_nothing_half_written(make_analysis, tmp_path, monkeypatch):
    analysis = make_analysis({"": []})
    page = write_report(analysis, tmp_path)[0]
    before = page.read_text()

    def full(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(output_folder.os, "fsync", full)
    with pytest.raises(ReportError, match="No space left on device"):
        write_report(replace(analysis, notes=("new",)), tmp_path)
    assert page.read_text() == before
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]


def test_recordings_of_the_same_name_are_told_apart():
    files = [Path("a/x/bag"), Path("b/x/bag"), Path("b/y/bag")]
    assert list(short_names(files).values()) == ["a/x/bag", "b/x/bag", "b/y/bag"]
    assert list(short_names(files[1:]).values()) == ["x/bag", "y/bag"]
    assert short_names(files[:1] * 2) == {files[0]: "bag"}
    assert short_names([]) == {}
