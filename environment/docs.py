"""`make docs`: the pages of docs/ and of the library's names as HTML in build/docs/html, warnings as errors.

The tools for it are no part of the environment: the first call installs them beside it, as environment/docs.txt pins
them.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import figures
import pictures
from steps import ROOT, SetupError, Stamp, fingerprint, run, say

HERE = Path(__file__).resolve().parent
BUILD = ROOT / "build" / "docs"
TOOLS = BUILD / "tools"
HTML = BUILD / "html"


def install_tools(log: Path) -> None:
    """Install what environment/docs.txt pins, unless it is there."""
    pins = HERE / "docs.txt"
    key = fingerprint([pins], sys.version)
    stamp = Stamp(BUILD / "tools.stamp")
    if stamp.matches(key):
        return
    stamp.clear()
    shutil.rmtree(TOOLS, ignore_errors=True)
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--no-deps"]
    run("tools of the documentation", [*pip, "--require-hashes", "--target", TOOLS, "-r", pins], log)
    stamp.write(key)


def main() -> int:
    """Build; returns the exit status."""
    log = BUILD / "docs.log"
    log.unlink(missing_ok=True)
    environment = dict(os.environ)
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, [str(TOOLS), os.environ.get("PYTHONPATH", "")]))
    # The notebook's figures are to be shown on its page, whatever the caller draws with.
    environment["MPLBACKEND"] = "module://matplotlib_inline.backend_inline"
    words = [
        sys.executable,
        "-m",
        "sphinx",
        "--fail-on-warning",
        "--keep-going",
        "--fresh-env",
        "--write-all",
        "-b",
        "html",
    ]
    words += ["--conf-dir", str(ROOT / "docs" / "site"), "--doctree-dir", str(BUILD / "doctrees"), str(ROOT), str(HTML)]
    figures.write_pages()
    figures.report()
    pictures.report()
    try:
        install_tools(log)
        run("pages", words, log, environment)
    except SetupError as error:
        print(f"[docs] error: {error}", file=sys.stderr)
        return 1
    say(f"the first page is {HTML.relative_to(ROOT) / 'docs' / 'site' / 'index.html'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
