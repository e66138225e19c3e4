"""`make figures`: measure what the pages of docs/ claim, and write the claims into docs/figures and the pages.

`figures.py record NAME ...` runs the command of a claim (claims.py) and writes docs/figures/NAME.json: the table, and
the commit, date, processor and load of the measurement. `figures.py pages` writes the tables into the marked blocks of
the pages. `figures.py` alone lists the claims, and those that are older than the code that they measure.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from claims import CLAIMS

ROOT = Path(__file__).resolve().parents[1]
BLOCK = re.compile(r"<!-- figures: ([\w-]+) -->\n.*?<!-- end of figures -->", flags=re.DOTALL)


def file_of(name: str, root: Path = ROOT) -> Path:
    """The file of a claim."""
    return root / "docs" / "figures" / f"{name}.json"


def git(*words: str, root: Path = ROOT) -> str | None:
    """Output of a git command in the clone; None where there is no git or no repository."""
    try:
        answer = subprocess.run(["git", *words], cwd=root, capture_output=True, text=True)
    except OSError:
        return None
    return answer.stdout.strip() if answer.returncode == 0 else None


def processor() -> str:
    """Name of this machine's processor and the number of its cores that may be used."""
    text = Path("/proc/cpuinfo").read_text(encoding="utf-8") if Path("/proc/cpuinfo").exists() else ""
    found = re.search(r"^model name\s*:\s*(.+)$", text, flags=re.MULTILINE)
    return f"{found.group(1).strip() if found else 'unknown processor'}, {len(os.sched_getaffinity(0))} cores"


def circumstances(rooms: tuple[str, ...], root: Path = ROOT) -> dict[str, Any]:
    """Commit, date, processor and load of a measurement that begins now."""
    changed = git("status", "--porcelain", "--", *rooms, root=root)
    # The last commit that changed what is measured: later ones, and a rebase of them, do not make the figures old.
    commit = git("log", "-1", "--format=%h", "--abbrev=10", "--", *rooms, root=root)
    return {
        "commit": (commit or "unknown") + (" and changes" if changed else ""),
        "date": datetime.date.today().isoformat(),
        "processor": processor(),
        "load": round(os.getloadavg()[0], 1),
    }


def record(name: str, options: list[str], root: Path = ROOT) -> None:
    """Measure one claim and write its file.

    Raises:
        subprocess.CalledProcessError: The command failed; a status of 1 with results is a result, too.
    """
    claim = CLAIMS[name]
    words = ["impact-aware", *shlex.split(claim.command), *options, "--json"]
    around = circumstances(claim.rooms, root)
    if "--out" in words:
        # A campaign whose folder is there would go on, and show runs of older code.
        shutil.rmtree(root / words[words.index("--out") + 1], ignore_errors=True)
    print(f"[figures] {shlex.join(words)}", flush=True)
    answer = subprocess.run(words, stdout=subprocess.PIPE, text=True, cwd=root)
    if answer.returncode not in (0, 1) or not answer.stdout.strip():
        raise subprocess.CalledProcessError(answer.returncode, words)
    content = {
        "command": shlex.join(words[:-1]),
        **around,
        "rooms": list(claim.rooms),
        "columns": list(claim.columns),
        "rows": claim.rows(json.loads(answer.stdout)),
    }
    file_of(name, root).parent.mkdir(parents=True, exist_ok=True)
    file_of(name, root).write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def cell(value: object) -> str:
    """A value of a table as text: numbers with three significant digits, nothing for None."""
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.3g}"
    return str(value).replace("|", "\\|")


def block(name: str, content: Mapping[str, Any]) -> str:
    """The marked block of a page."""
    lines = [content["columns"], ["---"] * len(content["columns"]), *content["rows"]]
    table = "\n".join("| " + " | ".join(cell(value) for value in line) + " |" for line in lines)
    source = f"`{content['command']}`, commit {content['commit']}, {content['date']}, {content['processor']}"
    if content["load"] is not None:
        source += f", load {content['load']}"
    return f"<!-- figures: {name} -->\n{table}\n\n*{source}.*\n<!-- end of figures -->"


def with_figures(text: str, root: Path = ROOT) -> str:
    """The text of a page with all blocks as their files have them; a claim without a file stays as it is."""

    def new(found: re.Match[str]) -> str:
        path = file_of(found.group(1), root)
        if not path.is_file():
            return found.group(0)
        return block(found.group(1), json.loads(path.read_text(encoding="utf-8")))

    return BLOCK.sub(new, text)


def write_pages(root: Path = ROOT) -> None:
    """Write the tables into the pages."""
    for page in sorted([*(root / "docs").glob("*.md"), *(root / "docs" / "robots").glob("*.md")]):
        text = page.read_text(encoding="utf-8")
        if (new := with_figures(text, root)) != text:
            page.write_text(new, encoding="utf-8")
            print(f"[figures] {page.relative_to(root)}", flush=True)


def age(name: str, root: Path = ROOT) -> str:
    """Why the figures of a claim have to be measured anew; empty when they are up to date or git does not know."""
    path = file_of(name, root)
    if not path.is_file():
        return "never recorded"
    content = json.loads(path.read_text(encoding="utf-8"))
    commit, _, changes = content["commit"].partition(" ")
    if changes:
        return "recorded with changes that were not committed"
    newer = git("log", "--format=%h", f"{commit}..HEAD", "--", *content["rooms"], root=root)
    if newer is None:
        return "" if git("rev-parse", "HEAD", root=root) is None else f"its commit {commit} is not in this repository"
    count = len(newer.split())
    return f"{count} later commit{'s' * (count > 1)} changed {', '.join(content['rooms'])}" if count else ""


def report(root: Path = ROOT) -> int:
    """Print the claims that are old; returns how many."""
    old = {name: why for name in CLAIMS if (why := age(name, root))}
    for name, why in old.items():
        print(f"[figures] {name} is old: {why}; make figures NAMES={name}")
    return len(old)


def main() -> int:
    """Do what the command line wants; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="?", choices=("record", "pages", "list"), default="list")
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(CLAIMS))
    parser.add_argument("--options", default="", help="further options of the command, in one word")
    arguments = parser.parse_args()
    if unknown := set(arguments.names) - set(CLAIMS):
        parser.error(f"no such claim: {', '.join(sorted(unknown))}; there are {', '.join(CLAIMS)}")
    if arguments.what == "record":
        for name in arguments.names or CLAIMS:
            record(name, shlex.split(arguments.options))
    if arguments.what == "list":
        print(f"{len(CLAIMS) - report()} of {len(CLAIMS)} claims are up to date")
    else:
        write_pages()
    return 0


if __name__ == "__main__":
    sys.exit(main())
