"""`make kills`: real commands ended by SIGKILL at random moments; the target holds one whole result, old or new.

Prints one JSON object per command; exits with 1 if a result was torn, lost or done twice, or a process was left.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from matplotlib.image import imread

from impact_aware.bags.bag import Bag
from impact_aware.experiments.campaign import RANDOM_COLUMNS, RunOptions
from impact_aware.experiments.campaign_store import CampaignStore
from impact_aware.impact.sampled_map import ImpactMap
from impact_aware.output_folder import MARKER, marker_of

COMMAND = (sys.executable, "-m", "impact_aware.cli.main")
LEAVE = 60.0
"""Time that what a killed command has started may take to end, s."""

TIMED = ("wall_s", "cpu_s")
"""Columns of a campaign's row that no two runs share."""


class Torn(AssertionError):  # noqa: N818 - as AssertionError
    """A target holds neither the old result whole nor the new one."""


class Case(NamedTuple):
    """A command that writes a target.

    Attributes:
        words: Its words after `impact-aware`, of the target and the number of the attempt.
        whole: Raises when the target's content is not one whole result, given that of an undisturbed run.
        once: Whether the target must not be there before.
    """

    words: Callable[[Path, int], Sequence[str]]
    whole: Callable[[Path, Path], None]
    once: bool = False


def start(*words: str) -> subprocess.Popen[str]:
    """Start the command, silent, with nothing to read."""
    return subprocess.Popen(
        [*COMMAND, *words], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )


def finish(*words: str) -> float:
    """Run the command to its end; returns how long it took, s."""
    begin = time.monotonic()
    process = start(*words)
    _, error = process.communicate()
    if process.returncode != 0:
        raise Torn(f"{' '.join(words)}: status {process.returncode}: {error[-300:]}")
    return time.monotonic() - begin


def descendants(pid: int) -> set[int]:
    """Processes below one, as Linux lists them."""
    found: set[int] = set()
    with contextlib.suppress(OSError):
        for listed in Path(f"/proc/{pid}/task").glob("*/children"):
            found |= {int(word) for word in listed.read_text().split()}
    return found | {below for child in found for below in descendants(child)}


def left(pids: set[int]) -> set[int]:
    """Those that still run after `LEAVE` at most."""
    deadline = time.monotonic() + LEAVE
    while (pids := {pid for pid in pids if runs(pid)}) and time.monotonic() < deadline:
        time.sleep(0.05)
    return pids


def runs(pid: int) -> bool:
    """Whether there is such a process and it is no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def kill(process: subprocess.Popen[str], victims: Sequence[int] = ()) -> set[int]:
    """Kill the command, or `victims` in place of it; returns what was left of its processes."""
    below = descendants(process.pid)
    for pid in victims or (process.pid,):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    if victims:
        return set()
    process.communicate()
    return left(below)


def content(target: Path) -> str | None:
    """A digest of all that a target holds, None without one."""
    if not target.exists():
        return None
    digest = hashlib.sha256()
    for path in sorted(target.rglob("*")) if target.is_dir() else [target]:
        digest.update(f"{path.relative_to(target.parent)}\0".encode())
        if path.is_file():
            digest.update(path.read_bytes())
    return digest.hexdigest()


def same_files(target: Path, reference: Path) -> None:
    """A folder with the marker of a whole result, the files of the undisturbed one, and each of them readable."""
    files, wanted = ({str(path.relative_to(top)) for path in top.rglob("*")} for top in (target, reference))
    # The number of a log, and that of a split recording, is chance.
    if files != wanted or not (marker_of(target) or {}).get("complete"):
        raise Torn(f"{target.name}: lacks {sorted(wanted - files)}, has {sorted(files - wanted)}, {marker_of(target)}")
    for name in sorted(files):
        path = target / name
        if path.suffix == ".json":
            json.loads(path.read_text())
        elif path.suffix == ".html" and not path.read_text().rstrip().endswith("</html>"):
            raise Torn(f"{name} is cut off")
        elif path.suffix == ".png":
            imread(path)
        elif path.suffix == ".csv" and path.read_bytes() != (reference / name).read_bytes():
            raise Torn(f"{name} is another one")
        elif path.suffix == ".mcap":
            with Bag(path) as recording:
                if not any(recording.records()) or recording.damage:
                    raise Torn(f"{name}: {recording.damage}")


def same_map(target: Path, reference: Path) -> None:
    """The map of the undisturbed run."""
    np.testing.assert_array_equal(ImpactMap.load(target).values, ImpactMap.load(reference).values)


def cases(recording: Path) -> dict[str, Case]:
    """The commands by their names."""
    analyze = ("analyze", str(recording), "--robot", "panda", "--normal", "0", "1", "0", "--force", "--out")
    return {
        "analyze": Case(lambda target, number: (*analyze, str(target)), same_files),
        "demo": Case(lambda target, number: ("demo", "hit-and-push", "--seed", "1", "--out", str(target)), same_files),
        "sample-map": Case(lambda target, number: ("sample-map", str(target), "--count", "3"), same_map, once=True),
    }


def kill_command(name: str, case: Case, folder: Path, count: int, generator: random.Random) -> dict[str, Any]:
    """Kill a command `count` times, and let it end once more."""
    suffix = ".npz" if case.once else ""
    reference, target = folder / f"reference{suffix}", folder / "there" / f"out{suffix}"
    target.parent.mkdir()
    seconds = finish(*case.words(reference, 0))
    outcomes: Counter[str] = Counter()
    kept, orphans, moments = set(), 0, []
    for number in range(count):
        if case.once:
            target.unlink(missing_ok=True)
        before = content(target)
        moments.append(round(generator.uniform(0.0, 1.1 * seconds), 2))
        process = start(*case.words(target, number))
        time.sleep(moments[-1])
        orphans += len(kill(process))
        after = content(target)
        outcome = "none" if after is None else "old" if after == before else "new"
        if outcome == "none" and before is not None:
            raise Torn(f"{name}: the old result is gone, killed after {moments[-1]} s")
        if outcome == "new":
            case.whole(target, reference)
            kept.add(after)
        outcomes[outcome] += 1
    if case.once:
        target.unlink(missing_ok=True)
    finish(*case.words(target, count))
    case.whole(target, reference)
    names = sorted(path.name for path in target.parent.iterdir())
    hidden = [own for own in names if own.startswith(".")]
    if hidden:
        raise Torn(f"{name}: {hidden} were left")
    return {"kills": count, "outcomes": dict(outcomes), "processes_left": orphans, "seconds": round(seconds, 2),
            "moments_s": moments, "folders": names}  # fmt: skip


def rows_of(folder: Path, seed: int) -> dict[str, dict[str, str]]:
    """The finished runs of a campaign by their key, without how long they took."""
    store = CampaignStore(folder, RunOptions(seed=seed, maps=str(folder)).head("hit-and-push", random=True),
                          RANDOM_COLUMNS)  # fmt: skip
    store.close()
    return {
        key: {name: repr(value) for name, value in row.items() if name not in TIMED}
        for key, row in store.rows.items()
    }


def campaign_words(out: Path, runs_wanted: int, seed: int) -> tuple[str, ...]:
    """A campaign of random trials by two workers."""
    return ("campaign", "hit-and-push", "--random", str(runs_wanted), "--workers", "2", "--seed", str(seed),
            "--no-figures", "--out", str(out))  # fmt: skip


def kill_campaign(folder: Path, count: int, generator: random.Random, size: int = 8) -> dict[str, Any]:
    """Kill a worker, the parent, or both, `count` times each; whatever is finished is as in an undisturbed run."""
    seed = 3
    seconds = finish(*campaign_words(folder / "reference", size, seed))
    wanted = rows_of(folder / "reference", seed)
    if len(wanted) != size:
        raise Torn(f"{len(wanted)} of {size} runs")
    result: dict[str, Any] = {"runs": size, "seconds": round(seconds, 2)}
    for whom in ("worker", "parent", "both"):
        moments, orphans, done, out = [], 0, Counter[str](), folder / f"{whom}-0"
        for number in range(count):
            begun = len(rows_of(out, seed)) if out.exists() else 0
            if begun == size:
                out = folder / f"{whom}-{number}"
            moments.append(round(generator.uniform(0.3, 1.0) * seconds, 2))
            process = start(*campaign_words(out, size, seed))
            time.sleep(moments[-1])
            workers = sorted(pid for pid in descendants(process.pid) if is_worker(pid))
            chosen = workers[:1] if whom == "worker" else [*workers[:1], process.pid]
            if whom == "parent":
                orphans += len(kill(process))
            else:
                below = descendants(process.pid)
                kill(process, chosen)
                _, error = process.communicate()
                orphans += len(left(below))
                if whom == "worker" and process.returncode != 0:
                    raise Torn(f"a worker was killed: status {process.returncode}: {error[-300:]}")
            done["a worker was there" if workers else "before or after"] += 1
            check_rows(out, seed, wanted, whole=whom == "worker")
        finish(*campaign_words(out, size, seed))
        check_rows(out, seed, wanted, whole=True)
        result[whom] = {"kills": count, "moments": dict(done), "processes_left": orphans, "moments_s": moments}
    result["two_at_once"] = two_at_once(folder / "twice", seed, size, wanted)
    return result


def is_worker(pid: int) -> bool:
    """Whether a process is one of those that do runs."""
    with contextlib.suppress(OSError):
        return b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes()
    return False


def check_rows(out: Path, seed: int, wanted: Mapping[str, Mapping[str, str]], *, whole: bool) -> None:
    """Every finished run is one of the undisturbed campaign, with its numbers; all of them when `whole`."""
    if not (out / MARKER).exists() and not whole:
        return
    found = rows_of(out, seed)
    strange = [key for key, row in found.items() if wanted.get(key) != row]
    if strange or (whole and set(found) != set(wanted)):
        raise Torn(f"{out.name}: {len(found)} of {len(wanted)} runs, of which {strange} are others")


def two_at_once(out: Path, seed: int, size: int, wanted: Mapping[str, Mapping[str, str]]) -> dict[str, Any]:
    """Start two campaigns in one folder in the same moment: one does it, the other is refused in one line."""
    processes = [start(*campaign_words(out, size, seed)) for _ in range(2)]
    said = [process.communicate()[1].strip() for process in processes]
    status = sorted(process.returncode for process in processes)
    refused = [text for text, process in zip(said, processes, strict=True) if process.returncode == 2]
    if status != [0, 2] or len(refused[0].splitlines()) != 1:
        raise Torn(f"two at once: status {status}, {refused}")
    check_rows(out, seed, wanted, whole=True)
    return {"status": status, "refused": refused[0].partition(": got")[0]}


def write_recording(path: Path) -> Path:
    """A table of a Panda whose joints all change their velocity once, at 0.6 s."""
    joints = [f"panda_joint{number}" for number in range(1, 8)]
    home = np.array([0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785])
    since = np.arange(0.0, 1.2, 0.001)[:, None] - 0.6
    jump = np.where(since < 0.0, 0.1 * since, -0.05 * since) * np.array([1.0, 2.0, -1.0, 1.0, -2.0, 1.0, 1.0])
    rows = np.hstack([since + 100.6, home + jump])
    header = ",".join(["time", *(f"q_{joint}" for joint in joints)])
    np.savetxt(path, rows, delimiter=",", header=header, comments="", fmt="%.9f")
    return path


def main() -> int:
    """Kill the commands that are named, or all of them."""
    parser = argparse.ArgumentParser(description=__doc__)
    known = ("analyze", "sample-map", "campaign", "demo")
    parser.add_argument("commands", nargs="*", choices=[[], *known], metavar="COMMAND", help=", ".join(known))
    parser.add_argument("--count", type=int, default=20, help="kills of each (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="of the moments (default: %(default)s)")
    arguments = parser.parse_args()
    os.environ |= {"PYTHONSAFEPATH": "1", "MPLBACKEND": "Agg", "OMP_NUM_THREADS": "1"}
    failed = False
    for name in arguments.commands or known:
        with tempfile.TemporaryDirectory(prefix="impact_aware_kills_") as scratch:
            folder, generator = Path(scratch), random.Random(f"{arguments.seed} {name}")
            try:
                if name == "campaign":
                    found = kill_campaign(folder, arguments.count, generator)
                else:
                    case = cases(write_recording(folder / "run.csv"))[name]
                    found = kill_command(name, case, folder, arguments.count, generator)
            except AssertionError as error:
                found, failed = {"torn": str(error)}, True
            failed = failed or any(
                part.get("processes_left") for part in (found, *found.values()) if isinstance(part, dict)
            )
            print(json.dumps({"command": name, **found}), flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
