"""A figure as SVG: a file, and an element of an HTML page that is coloured by the page's CSS variables."""

from __future__ import annotations

import re
from html import escape
from io import StringIO

import matplotlib
from matplotlib.figure import Figure

from impact_aware.report.figures import COLORS

_WHITE = '<rect width="100%" height="100%" fill="#ffffff"/>'

_NO_METADATA = {"Date": None, "Creator": None, "Format": None, "Type": None}


def svg_file(figure: Figure, name: str) -> str:
    """Text of an SVG file of the figure, on white.

    Args:
        figure: Drawn within `figure_style`.
        name: Unique within a page that `inline_svg` adds it to; keeps the ids of different figures apart.
    """
    text = StringIO()
    with matplotlib.rc_context({"svg.hashsalt": name}):
        figure.savefig(text, format="svg", metadata=_NO_METADATA, transparent=True)
    svg = text.getvalue()
    begin = svg.index(">", svg.index("<svg")) + 1
    return svg[:begin] + _WHITE + svg[begin:]


def inline_svg(svg: str, alt: str) -> str:
    """One `<svg>` element of a page, made from the text of `svg_file`.

    Args:
        svg: The file's text.
        alt: What the figure shows, for a screen reader.
    """
    svg = svg[svg.index("<svg") :].replace(_WHITE, "", 1)
    box = re.search(r'viewBox="([^"]+)"', svg)
    assert box is not None
    body = svg[svg.index(">") + 1 :]
    body = re.sub(r"<metadata>.*?</metadata>", "", body, flags=re.DOTALL)
    body = re.sub(r'<style type="text/css">.*?</style>', "", body, flags=re.DOTALL)
    body = re.sub(r"<!--.*?-->", "", body, flags=re.DOTALL)
    # Only what something refers to keeps its id: markers and clip paths.
    body = re.sub(r'<g id="[^"]*">', "<g>", body)
    body = body.replace("xlink:href", "href")
    body = re.sub(r"font-family: [^;\"]*;? ?", "", body)
    body = re.sub(r"font: ([\d.]+px) [^;\"]*", r"font-size: \1", body)
    body = re.sub(r"<[^>]*>", _shorten_numbers, body)
    for color, value in COLORS.items():
        body = re.sub(re.escape(value), f"var(--{color})", body, flags=re.IGNORECASE)
    body = re.sub(r"\s*\n\s*", "\n", body)
    return f'<svg viewBox="{box.group(1)}" role="img" aria-label="{escape(alt)}">{body.strip()}'


def _shorten_numbers(tag: re.Match[str]) -> str:
    """Coordinates to a hundredth of a point, finer than any screen; what stands between the tags is left alone."""
    return re.sub(r"(\d+\.\d\d)\d+", r"\1", tag.group())
