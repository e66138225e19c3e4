"""The report of an analysis: one HTML file that opens anywhere without a network, and its figures as files."""

from __future__ import annotations

from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from impact_aware.errors import ImpactAwareError
from impact_aware.output_folder import write_whole
from impact_aware.recordings.results import Analysis, AnalyzedImpact
from impact_aware.report.ablation import ablation_tables
from impact_aware.report.figures import figure_style, impact_figures
from impact_aware.report.svg import inline_svg, svg_file
from impact_aware.report.view import (
    arm_view,
    event_rows,
    headline,
    impact_view,
    limitation_rows,
    settings_rows,
    short_names,
)

TEMPLATES = Path(__file__).with_name("templates")

MOST_FIGURES = 24
"""Impacts with a section of their own; each adds 0.2 MB to the page."""

MOST_ROWS = 2000
"""Rows of the table of impacts."""


class ReportError(ImpactAwareError):
    """A report can't be written."""


def write_report(analysis: Analysis, folder: Path) -> list[Path]:
    """Write `report.html` and the figures of the impacts into a folder, which is made when missing.

    Every file is written under another name first and renamed when it is whole; the page comes last. The first
    `MOST_FIGURES` impacts get figures and a table of joints; the rest stay rows of the table of impacts.

    Args:
        analysis: What `analyze` found.
        folder: Where the files go.

    Returns:
        The files, the page first.

    Raises:
        ReportError: A file can't be written.
    """
    shown = analysis.impacts[:MOST_FIGURES]
    page = folder / "report.html"
    written: list[Path] = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if shown:
            (folder / "figures").mkdir(exist_ok=True)
        drawings = [_draw(number, impact, folder / "figures", written) for number, impact in enumerate(shown, start=1)]
        text = _render(analysis, drawings)
        write_whole(page, text)
    except OSError as error:
        raise ReportError(f"{folder}: the report can't be written ({error.strerror or error})") from error
    return [page, *written]


def _draw(number: int, impact: AnalyzedImpact, folder: Path, written: list[Path]) -> list[dict[str, object]]:
    """Draw one impact: the files, and what the page needs of each figure."""
    arm = "".join(letter if letter.isalnum() else "_" for letter in impact.arm)
    drawings: list[dict[str, object]] = []
    with figure_style():
        for entry in impact_figures(impact):
            svg = svg_file(entry.draw(), f"{entry.name}-{number}")
            drawings.append({"name": entry.name, "title": entry.title, "svg": Markup(inline_svg(svg, entry.alt))})
            path = folder / f"impact-{number:03d}-{arm + '-' if arm else ''}{entry.name}.svg"
            write_whole(path, svg)
            written.append(path)
    return drawings


def _render(analysis: Analysis, drawings: list[list[dict[str, object]]]) -> str:
    impacts = analysis.impacts
    numbers = {id(impact): number for number, impact in enumerate(impacts, start=1)}
    names = short_names(analysis.files)
    views = [impact_view(number, impact, names) for number, impact in enumerate(impacts[:MOST_ROWS], start=1)]
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("report.html.j2").render(
        headline=headline(analysis),
        files=[str(file) for file in analysis.files],
        notes=analysis.notes,
        arms=[arm_view(arm, numbers, len(drawings), names) for arm in analysis.arms],
        impacts=views,
        found=len(impacts),
        detailed=list(zip(views, drawings, strict=False)),
        several_arms=len({impact.arm for impact in impacts}) > 1,
        several_files=len(analysis.files) > 1,
        labelled=any(impact.label for impact in impacts),
        events=event_rows(analysis),
        limitations=limitation_rows(analysis),
        tables=ablation_tables(analysis.ablation_groups),
        settings=settings_rows(analysis.settings),
        versions=settings_rows(analysis.versions),
        seconds=f"{analysis.seconds:.1f}",
        style=Markup((TEMPLATES / "report.css").read_text(encoding="utf-8")),
    )
