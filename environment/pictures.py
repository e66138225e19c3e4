"""`make pictures`: draw docs/images and the notebook's figures, and list what is older than the code that draws it.

`pictures.py NAME ...` draws them and records a hash of that code in docs/images/made.json; `pictures.py` alone lists
them. RViz's come from Debian's `rviz` (packages `rviz xvfb xauth imagemagick python3-rospy python3-rosmaster
python3-visualization-msgs python3-tf2-msgs`), the report's and the terminal's from `chromium`, the printed page also
from `poppler-utils`; Rerun's from `pip install 'impact_aware[rerun]'`, `xvfb` and
`mesa-vulkan-drivers`. `foxglove.png` is a screenshot of Lichtblick, which no registry has, and is made by hand.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import html
import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
IMAGES = ROOT / "docs" / "images"
MADE = IMAGES / "made.json"
RUNS = ROOT / "build" / "pictures"
"""Results of the demos that are drawn."""

DEMOS = {
    "hit-and-push": "", "dual-arm-grab": "", "hit-and-push-can": "", "turned": "hit-and-push --turn 23",
    "seed-1": "hit-and-push-ball --plant rigid --seed 1", "seed-2": "hit-and-push-ball --plant rigid --seed 2",
}  # fmt: skip
"""Words after `demo` of each result; its own name where there are none."""

LABELS = {"hit-and-push": "seed 0", "seed-1": "seeds 1 and 2", "seed-2": "seeds 1 and 2"}
"""Demos of the report over three runs, and their labels (docs/analysis.md)."""


COLUMNS = 140
"""Width of the terminal that is drawn."""


@dataclass(frozen=True)
class Picture:
    """One picture.

    Attributes:
        rooms: Paths whose code draws it.
        demo: Recording it shows; empty for none.
        command: Words after `impact-aware`, with `{bag}` and `{out}`; "rviz", "copy FILE", "browser SIZE [ID]" with
            the id of one section, "printed PAGE", "terminal WORDS", "rerun OFFSET" from the impact, s, "campaign
            TASK PLOT", "validate NAME FILE", "readme" or "notebook".
    """

    rooms: tuple[str, ...]
    demo: str
    command: str


SCENE = ("impact_aware/markers", "impact_aware/render")
RVIZ = ("impact_aware/markers", "rviz", "environment/rviz_scenes.py", "environment/rviz_window.py")
REPORT = ("impact_aware/report",)
NOTEBOOK = "examples/through_one_impact.ipynb"
VALIDATION = "impact_aware/experiments/validation"
CAMPAIGN = ("impact_aware/experiments/campaign_plots.py", "impact_aware/experiments/campaign_report.py")
STATES = (
    "rviz_approach",
    "rviz_impact",
    "rviz_after",
    "rviz_two_arms_approach",
    "rviz_two_arms",
    "rviz_two_arms_after",
)
RENDER = "render {bag} --force --out {out}"
PICTURES = {
    **{f"{name}.png": Picture(RVIZ, "dual-arm-grab" if "two" in name else "hit-and-push", "rviz") for name in STATES},
    "impact.gif": Picture(SCENE, "hit-and-push", RENDER),
    "render_impact.png": Picture(SCENE, "hit-and-push", RENDER),
    "analysis-scene.png": Picture(SCENE, "dual-arm-grab", RENDER),
    "can.png": Picture(SCENE, "hit-and-push-can", RENDER),
    "turned_box.png": Picture(SCENE, "turned", RENDER + " --view top --time -0.05"),
    "franka.png": Picture((*SCENE, "rigs/impact_aware_rigs/franka"), "franka", RENDER),
    "rerun.png": Picture(SCENE, "hit-and-push", "rerun 0.13"),
    "jump_plot.png": Picture(("impact_aware/impact/prediction.py",), "", "readme"),
    "hit_and_push.png": Picture(("impact_aware/experiments/run_figures.py",), "hit-and-push", "copy impact.png"),
    "analysis-report.png": Picture(REPORT, "hit-and-push", "browser 1280,2100"),
    "analysis-phone.png": Picture(REPORT, "hit-and-push", "browser 390,1500"),
    "analysis-print.png": Picture(REPORT, "hit-and-push", "printed 1"),
    "analysis-terminal.png": Picture(
        (*REPORT, "impact_aware/cli/analyze.py"), "hit-and-push", "terminal analyze {bag} --out analysis --force"
    ),
    "analysis-ablation.png": Picture(REPORT, "three", "browser 1280,1150 ablation"),
    "campaign-hit-groups.png": Picture(CAMPAIGN, "", "campaign hit-and-push groups"),
    "campaign-hit-comparison.png": Picture(CAMPAIGN, "", "campaign hit-and-push comparison"),
    "campaign-dual-groups.png": Picture(CAMPAIGN, "", "campaign dual-arm-grab groups"),
    "campaign-dual-comparison.png": Picture(CAMPAIGN, "", "campaign dual-arm-grab comparison"),
    "friction_fixed_direction.png": Picture(
        (f"{VALIDATION}/coulomb_limit.py",), "", "validate coulomb friction_fixed_direction"
    ),
    "flexible_joint_velocities.png": Picture(
        (f"{VALIDATION}/flexible_arms.py",), "", "validate flexible-joint 000_figure_4_joint_velocities"
    ),
    NOTEBOOK: Picture((NOTEBOOK,), "", "notebook"),
}


def code_of(path: Path) -> bytes:
    """What a file does: Python without comments and docstrings, a notebook without outputs, others as they are."""
    if path.suffix == ".ipynb":
        return json.dumps([cell["source"] for cell in json.loads(path.read_bytes())["cells"]]).encode()
    if path.suffix != ".py":
        return path.read_bytes()
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            texts = [line for line in body if isinstance(line, ast.Expr) and isinstance(line.value, ast.Constant)]
            node.body = [line for line in body if line not in texts]  # type: ignore[attr-defined]
    return ast.dump(tree).encode()


def fingerprint(picture: Picture, root: Path = ROOT) -> str:
    """Hash of the code that draws a picture, and of its options."""
    total = hashlib.blake2b(f"{picture.demo} {picture.command}".encode(), digest_size=8)
    for room in picture.rooms:
        files = [root / room] if (root / room).is_file() else sorted((root / room).rglob("*"))
        for file in files:
            if file.is_file() and "__pycache__" not in file.parts:
                total.update(str(file.relative_to(root)).encode() + code_of(file))
    return total.hexdigest()


def old(root: Path = ROOT) -> list[str]:
    """Pictures drawn by other code than that of now."""
    made = json.loads((root / MADE.relative_to(ROOT)).read_text(encoding="utf-8"))
    return [name for name, picture in PICTURES.items() if made.get(name) != fingerprint(picture, root)]


def report() -> int:
    """Print the old pictures; returns how many."""
    found = old()
    for name in found:
        print(f"[pictures] {name} is older than the code that draws it: make pictures NAMES={name}")
    return len(found)


def command(*words: str) -> None:
    """Run `impact-aware` with its output shown."""
    print(f"[pictures] impact-aware {' '.join(words)}", flush=True)
    subprocess.run(["impact-aware", *words], check=True, cwd=ROOT)


def run_of(demo: str) -> Path:
    """Folder of a demo's result, run where it is not there yet."""
    folder = RUNS / demo
    if not (folder / "bag").is_dir():
        if demo == "franka":
            record_franka(folder / "bag")
        else:
            command("demo", *(DEMOS[demo] or demo).split(), "--out", str(folder))
    return folder


def record_franka(bag: Path) -> None:
    """Record a hit-and-push of the graph on a simulated Franka (`make test-franka` installs it)."""
    from impact_aware.control.command import Mode
    from impact_aware_rigs.franka.graph import FrankaGraph

    with FrankaGraph(bag=bag) as graph:
        graph.until(lambda: graph.link.mode is Mode.HOLD)


def report_of(demo: str) -> Path:
    """Report of a demo, or of three, analysed where it is not there yet."""
    folder = RUNS / f"analysis-{demo}"
    if not (folder / "report.html").is_file():
        bags = {str((run_of(name) / "bag").relative_to(ROOT)): label for name, label in LABELS.items()}
        words = [str((run_of(demo) / "bag").relative_to(ROOT))] if demo in DEMOS else [*bags, "--labels"]
        if demo not in DEMOS:
            labels = RUNS / "labels.yaml"
            labels.write_text("".join(f"{bag}: {label}\n" for bag, label in bags.items()), encoding="utf-8")
            words.append(str(labels))
        command("analyze", *words, "--out", str(folder))
    return folder / "report.html"


def browse(page: Path, *options: str) -> None:
    """Open a page in a browser without a window."""
    words = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", *options]
    subprocess.run([*words, page.resolve().as_uri()], check=True, capture_output=True)


def photograph(name: str, size: str, section: str = "") -> None:
    """Draw a report, or one section of it, as a browser shows it in a window of this size."""
    # In a frame, because a browser's window has a least width that is larger than a phone's.
    width, height = size.split(",")
    text = report_of(PICTURES[name].demo).read_text(encoding="utf-8")
    if section:
        alone = f"body>:not(main),main>:not(#{section}){{display:none}} main{{padding-top:20px}}"
        text = text.replace("</head>", f"<style>{alone}</style></head>")
    frame = f'<iframe width="{width}" height="{height}" style="border:0;display:block" srcdoc="{html.escape(text)}">'
    page = RUNS / "page.html"
    page.write_text(f'<body style="margin:0">{frame}</iframe>', encoding="utf-8")
    browse(page, f"--window-size={max(int(width), 500)},{height}", f"--screenshot={IMAGES / name}")
    subprocess.run(["convert", IMAGES / name, "-crop", f"{width}x{height}+0+0", "+repage", IMAGES / name], check=True)


def print_page(name: str, number: str) -> None:
    """Draw one page of a report as a browser prints it."""
    paper = RUNS / "report.pdf"
    browse(report_of(PICTURES[name].demo), "--no-pdf-header-footer", f"--print-to-pdf={paper}")
    pages = ["-f", number, "-l", number, "-r", "100", "-singlefile"]
    subprocess.run(["pdftoppm", "-png", *pages, paper, (IMAGES / name).with_suffix("")], check=True)


def show_terminal(name: str, words: list[str]) -> None:
    """Draw a command and its output as a terminal of `COLUMNS` columns shows them."""
    run = subprocess.run(["impact-aware", *words], check=True, cwd=RUNS, capture_output=True, text=True)
    shown = " ".join(["$ impact-aware", *words]).removesuffix(" --force") + "\n" + run.stdout
    lines = [line[k : k + COLUMNS] for line in shown.splitlines() for k in range(0, max(len(line), 1), COLUMNS)]
    style = "margin:0;padding:16px;font:14px/20px 'DejaVu Sans Mono',monospace;background:#1e1e1e;color:#e6e6e6"
    page = RUNS / "page.html"
    page.write_text(f'<body style="margin:0"><pre style="{style}">{html.escape(chr(10).join(lines))}</pre>', "utf-8")
    size = f"--window-size={32 + round(8.43 * COLUMNS)},{32 + 20 * len(lines)}"
    browse(page, size, f"--screenshot={IMAGES / name}")


def show_rerun(name: str, offset: float) -> None:
    """Draw what Rerun's viewer shows a moment after it has opened the time around an impact."""
    demo, file = PICTURES[name].demo, RUNS / "impact.rrd"
    time = str(impact_time(demo) + offset)
    command("render", str(run_of(demo) / "bag"), "--time", time, "--out", str(file), "--force")
    words = ["xvfb-run", "-a", "-s", "-screen 0 1300x800x24", "rerun", "--port", "auto", "--bind", "127.0.0.1"]
    words += ["--renderer", "vulkan", "--window-size", "1100x620", "--hide-welcome-screen"]
    subprocess.run([*words, "--screenshot-to", IMAGES / name, file], check=True, capture_output=True)
    shrink = ["-resize", "1400x", "-colors", "128", f"PNG8:{IMAGES / name}"]
    subprocess.run(["convert", IMAGES / name, *shrink], check=True)


def draw_campaign(name: str, task: str, which: str) -> None:
    """Groups from the recorded figures of the page, or the comparison of one setup, simulated anew."""
    from impact_aware.control import VARIANTS
    from impact_aware.experiments.campaign import RunOptions, keep_maps, simulate
    from impact_aware.experiments.campaign_plan import CAMPAIGNS, plan
    from impact_aware.experiments.campaign_plots import plot_comparison, plot_groups
    from impact_aware.experiments.campaign_report import FACTORS, LABELS
    from impact_aware.library_settings import figure_settings

    with figure_settings():
        if which == "groups":
            table = json.loads((ROOT / "docs" / "figures" / f"campaign-{task}.json").read_text(encoding="utf-8"))
            names = [key for label in table["columns"][1:] for key, value in LABELS.items() if value == label]
            groups: dict[str, dict[str, dict[str, float]]] = {factor: {} for factor in FACTORS}
            for label, *means in table["rows"]:
                factor, _, value = label.partition(" ")
                if factor in groups:
                    groups[factor][value] = dict(zip(names, means, strict=True))
            figure = plot_groups({"success_rate": dict.fromkeys(names), "groups": groups}, task)
        else:
            RUNS.mkdir(parents=True, exist_ok=True)
            options = RunOptions(0, maps=str(RUNS))
            shown = (*CAMPAIGNS[task].shown, 0, 0)
            setups = [
                one
                for one in plan(task, 1, list(VARIANTS))
                if (one.object, one.displacement, one.start, one.repeat) == shown
            ]
            keep_maps(setups, options)
            figure = plot_comparison({setup.controller: simulate(setup, options) for setup in setups})
        figure.savefig(IMAGES / name, dpi=110)


def plot_jump(name: str) -> None:
    """Draw `jump.plot()` of the README's lines of Python."""
    from matplotlib.figure import Figure

    lines = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    names: dict[str, Any] = {}
    exec(lines[0], names)  # the project's own page
    figure = Figure(figsize=(6.4, 3.2), layout="constrained")
    names["jump"].plot(figure.add_subplot())
    figure.savefig(IMAGES / name, dpi=110)


def execute(name: str) -> None:
    """Execute a notebook in place, with the tools of `make docs`; its outputs keep no times and no other formats."""
    import docs

    docs.install_tools(RUNS / "tools.log")
    environment = dict(os.environ, PYTHONPATH=str(docs.TOOLS), MPLBACKEND="module://matplotlib_inline.backend_inline")
    words = [sys.executable, "-c", "from nbclient.cli import main; main()", "--inplace", str(ROOT / name)]
    subprocess.run(words, check=True, env=environment)
    notebook = json.loads((ROOT / name).read_text(encoding="utf-8"))
    notebook["metadata"]["language_info"] = {"name": "python"}
    for cell in notebook["cells"]:
        cell["metadata"] = {}
        for output in cell.get("outputs", []):
            output.get("data", {}).pop("text/plain", None)
    (ROOT / name).write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def draw(name: str) -> None:
    """Draw one picture that is not RViz's."""
    picture = PICTURES[name]
    kind, _, rest = picture.command.partition(" ")
    if kind == "browser":
        photograph(name, *rest.split())
    elif kind == "printed":
        print_page(name, rest)
    elif kind == "terminal":
        bag = (run_of(picture.demo) / "bag").relative_to(RUNS)
        show_terminal(name, [word.format(bag=bag) for word in rest.split()])
    elif kind == "rerun":
        show_rerun(name, float(rest))
    elif kind == "campaign":
        draw_campaign(name, *rest.split())
    elif kind == "validate":
        validation, file = rest.split()
        command("validate", validation, "--out", str(RUNS / validation))
        [found] = (RUNS / validation).rglob(f"{file}.png")
        shutil.copy(found, IMAGES / name)
    elif kind == "readme":
        plot_jump(name)
    elif kind == "notebook":
        execute(name)
    elif kind == "copy":
        shutil.copy(run_of(picture.demo) / rest, IMAGES / name)
    else:
        words = picture.command.split()
        if "--time" in words:
            place = words.index("--time") + 1
            words[place] = str(impact_time(picture.demo) + float(words[place]))
        command(*(word.format(bag=run_of(picture.demo) / "bag", out=IMAGES / name) for word in words))


def impact_time(demo: str) -> float:
    """Time of the first impact of a demo, s."""
    from impact_aware.bags.bag import Bag
    from impact_aware.render import read_scene

    with Bag(run_of(demo) / "bag") as bag:
        return read_scene(bag).time


def make(names: list[str]) -> None:
    """Draw pictures and record the code that drew them."""
    import rviz_scenes

    # Those of the RViz window last: they take longest.
    for name in sorted(names, key=lambda name: PICTURES[name].command == "rviz"):
        if PICTURES[name].command == "rviz":
            run_of(PICTURES[name].demo)
            rviz_scenes.draw([Path(name).stem], RUNS, IMAGES)
        else:
            draw(name)
        made = json.loads(MADE.read_text(encoding="utf-8")) if MADE.is_file() else {}
        made[name] = fingerprint(PICTURES[name])
        MADE.write_text(json.dumps(made, indent=1, sort_keys=True) + "\n", encoding="utf-8")
        print(f"[pictures] {name}", flush=True)


def main() -> int:
    """Draw the named pictures, or list the old ones."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"all, {', '.join(PICTURES)}")
    names = parser.parse_args().names
    names = list(PICTURES) if names == ["all"] else names
    if unknown := set(names) - set(PICTURES):
        parser.error(f"no such picture: {', '.join(sorted(unknown))}")
    if names:
        make(names)
    else:
        count = report()
        print("[pictures] foxglove.png is not drawn by a command: no package registry has Lichtblick or Foxglove")
        print(f"{len(PICTURES) - count} of {len(PICTURES)} pictures are up to date")
        return min(count, 1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
