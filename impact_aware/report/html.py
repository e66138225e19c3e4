"""The report of an analysis: one HTML file that opens anywhere without a network, and its figures as files."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from matplotlib.backends.backend_agg import FigureCanvasAgg

from impact_aware.errors import ImpactAwareError, InvalidInputError
from impact_aware.recordings.results import Analysis, AnalyzedImpact
from impact_aware.report.ablation import ablation_tables
from impact_aware.report.figures import ImpactFigure, figure_style, impact_figures
from impact_aware.report.svg import inline_svg
from impact_aware.report.view import arm_view, headline, impact_view, settings_rows, short_names

TEMPLATES = Path(__file__).with_name("templates")

FIGURE_FORMATS = ("png", "svg", "pdf")

MOST_FIGURES = 24
"""Impacts with a section of their own; each adds 0.2 MB to the page."""

MOST_ROWS = 2000
"""Rows of the table of impacts."""


class ReportError(ImpactAwareError):
    """A report can't be written."""


def write_report(
    analysis: Analysis,
    folder: Path,
    *,
    figure_formats: Sequence[str] = ("png",),
    most_figures: int = MOST_FIGURES,
    progress: Callable[[int, int], None] | None = None,
) -> list[Path]:
    """Write `report.html` and the figures of the impacts into a folder, which is made when missing.

    Every file is written under another name first and renamed when it is whole; the page comes last.

    Args:
        analysis: What to report.
        folder: Where to.
        figure_formats: Formats of the figure files, of `FIGURE_FORMATS`; none when empty.
        most_figures: So many impacts get figures and a table of joints; the rest stay rows of the table of impacts.
        progress: Called with the figures drawn and the figures to draw.

    Returns:
        The files, the page first.

    Raises:
        InvalidInputError: An unknown format.
        ReportError: A file can't be written.
    """
    for name in figure_formats:
        if name not in FIGURE_FORMATS:
            raise InvalidInputError("figure format", name, "one of " + ", ".join(FIGURE_FORMATS))
    impacts = analysis.impacts
    shown = impacts[: max(most_figures, 0)]
    page = folder / "report.html"
    written: list[Path] = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if shown and figure_formats:
            (folder / "figures").mkdir(exist_ok=True)
        drawings: list[list[dict[str, object]]] = []
        for number, impact in enumerate(shown, start=1):
            if progress is not None:
                progress(number - 1, len(shown))
            drawings.append(_draw(number, impact, folder / "figures", figure_formats, written))
        if progress is not None:
            progress(len(shown), len(shown))
        text = _render(analysis, drawings)
        _write(page, lambda path: path.write_text(text, encoding="utf-8"))
    except OSError as error:
        raise ReportError(f"{folder}: the report can't be written ({error.strerror or error})") from error
    return [page, *written]


def _draw(
    number: int, impact: AnalyzedImpact, folder: Path, formats: Sequence[str], written: list[Path]
) -> list[dict[str, object]]:
    """Draw one impact: the files, and what the page needs of each figure."""
    drawings: list[dict[str, object]] = []
    with figure_style():
        for entry in impact_figures(impact):
            figure = entry.draw()
            svg = inline_svg(figure, f"{entry.name}-{number}", entry.alt)
            drawings.append({"name": entry.name, "title": entry.title, "svg": Markup(svg)})
            FigureCanvasAgg(figure)
            for format_name in formats:
                path = folder / _file_name(number, impact, entry, format_name)
                _write(path, partial(figure.savefig, format=format_name, dpi=160))
                written.append(path)
    return drawings


def _file_name(number: int, impact: AnalyzedImpact, entry: ImpactFigure, format_name: str) -> str:
    arm = "".join(letter if letter.isalnum() else "_" for letter in impact.arm)
    return f"impact-{number:03d}-{arm + '-' if arm else ''}{entry.name}.{format_name}"


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
        tables=ablation_tables(analysis.ablation_groups),
        settings=settings_rows(analysis.settings),
        versions=settings_rows(analysis.versions),
        seconds=f"{analysis.seconds:.1f}",
        style=Markup((TEMPLATES / "report.css").read_text(encoding="utf-8")),
    )


def _write(path: Path, write: Callable[[Path], object]) -> None:
    """Write a file under a name beside it and rename it when it is whole."""
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        write(part)
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)
