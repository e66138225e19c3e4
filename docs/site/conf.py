"""How Sphinx makes pages of this clone: its Markdown as it is, its notebook executed, its names from docstrings."""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx

import impact_aware

project = "impact_aware"
author = "impact_aware developers"
release = version = impact_aware.__version__

# The source folder is the clone, so that every link between its pages holds here too.
root_doc = "docs/site/index"
include_patterns = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "examples/*.ipynb"]
include_patterns += ["docs/*.md", "docs/robots/*.md", "docs/site/*.md"]
exclude_patterns = [".venv*", "build", "results", "install", "log", "msg", "test"]

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.viewcode"]
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 4
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_show_tb = True
suppress_warnings = ["misc.highlighting_failure"]  # the language of the block ```arrows is our own

autodoc_member_order = "bysource"
autodoc_typehints = "signature"  # the docstrings add shapes and units
autodoc_typehints_format = "short"
autodoc_type_aliases = {"Array": "Array", "ArrayLike": "ArrayLike"}
autodoc_default_options = {"members": True, "undoc-members": False}
napoleon_google_docstring = True
napoleon_use_ivar = True
napoleon_use_rtype = False
napoleon_attr_annotations = False
default_role = "literal"

html_theme = "furo"
html_math_renderer = "mathml"
html_title = f"impact_aware {release}"
html_show_sphinx = False


def plain(app: Sphinx, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Take docstrings for what they are, plain text with `code`: nothing else in them is markup."""
    for index, line in enumerate(lines):
        parts = re.split(r"(`[^`]*`)", line)
        for place in range(0, len(parts), 2):
            start, text = re.match(r"(\s*\*{0,2}(?=\w+:))?(.*)", parts[place], flags=re.DOTALL).groups("")  # type: ignore[union-attr]
            parts[place] = start + re.sub(r"([*|\\])|(?<=\w)(_)(?!\w)", lambda found: f"\\{found[0]}", text)
        lines[index] = "".join(f"`{part}`" if place % 2 else part for place, part in enumerate(parts))


def of_a_tuple(app: Sphinx, what: str, name: str, thing: Any, skip: bool, options: Any) -> bool | None:
    """Leave out the fields of named tuples: what Python says of them is their number, the class says the rest."""
    return True if type(thing).__name__ == "_tuplegetter" else None


def inline_formula(writer: Any, node: nodes.math) -> None:
    """A formula within a line, as MathML, which browsers draw without a script."""
    writer.body.append(tex2mathml(node.astext(), as_block=False))
    raise nodes.SkipNode


def formula(writer: Any, node: nodes.math_block) -> None:
    """A formula of its own, as MathML."""
    writer.body.append(
        f'<div style="overflow: visible; margin: 1em 0">{tex2mathml(node.astext(), as_block=True)}</div>'
    )
    raise nodes.SkipNode


def setup(app: Sphinx) -> None:
    """Connect them; docstrings are made plain before napoleon reads their sections."""
    app.connect("autodoc-process-docstring", plain, priority=400)
    app.connect("autodoc-skip-member", of_a_tuple)
    app.add_html_math_renderer("mathml", inline_renderers=(inline_formula, None), block_renderers=(formula, None))
