"""Fuzzing for as long as asked, steered by coverage (atheris): `make fuzz MINUTES=30 TARGETS="urdf set_task"`.

An input that fails is kept in build/fuzz/TARGET; once mended, it goes to test/fuzz/kept/TARGET for `make test` to try.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "build" / "fuzz"
KEPT = Path(__file__).with_name("kept")

LONGEST_RUN = 10
"""Time that one input may take, s."""

MOST_MEMORY = 2048
"""Memory that it may take, MB; the libraries alone take some 300."""

INSTRUMENTED = ["impact_aware", "rosbags", "mcap", "yaml"]


def fuzz_one(name: str, words: list[str]) -> None:
    """Fuzz a target in this process; ends it."""
    import atheris

    sys.path.insert(0, str(ROOT / "test" / "support"))
    with atheris.instrument_imports(include=INSTRUMENTED):
        import targets

    def call(data: bytes) -> None:
        targets.run(name, data)

    atheris.Setup([sys.argv[0], *words], call)
    atheris.Fuzz()


def run(name: str, seed_input: bytes, seconds: int, seed: int) -> str | None:
    """Fuzz a target in a process of its own; returns what it found, None for nothing."""
    folder = FOLDER / name
    corpus = folder / "corpus"
    corpus.mkdir(parents=True, exist_ok=True)
    (corpus / "good").write_bytes(seed_input)
    for kept in (KEPT / name).glob("*"):
        shutil.copy(kept, corpus)
    limits = [f"-max_total_time={seconds}", f"-timeout={LONGEST_RUN}", f"-rss_limit_mb={MOST_MEMORY}", f"-seed={seed}"]
    limits += [f"-max_len={4 * len(seed_input) + 4096}", f"-artifact_prefix={folder}/", "-print_final_stats=1"]
    command = [sys.executable, str(Path(__file__)), "--one", name, *limits, str(corpus)]
    # Numba can't translate functions that count their branches.
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", env=environment
    )
    (folder / "log").write_text(done.stdout)
    count = re.findall(r"number_of_executed_units:\s*(\d+)", done.stdout)
    peak = re.findall(r"peak_rss_mb:\s*(\d+)", done.stdout)
    covered = re.findall(r"\bcov: (\d+)", done.stdout)
    figures = f"{count[-1] if count else '?'} inputs, {covered[-1] if covered else '?'} branches"
    print(f"{name:<16} {figures}, {peak[-1] if peak else '?'} MB at most, status {done.returncode}", flush=True)
    if done.returncode == 0:
        return None
    lines = [line for line in done.stdout.splitlines() if line.strip()]
    said = next((line for line in lines if re.search(r"Error|Exception|ERROR: libFuzzer|assert", line)), "no reason")
    return f"{name}: {said.strip()[:300]} (see {folder}/log)"


def main() -> int:
    """Fuzz one target after the other, the time shared between them."""
    if sys.argv[1:2] == ["--one"]:
        fuzz_one(sys.argv[2], sys.argv[3:])
    sys.path.insert(0, str(ROOT / "test" / "support"))
    import targets

    parser = argparse.ArgumentParser(description=__doc__)
    known = ", ".join(targets.TARGETS)
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=f"of {known}; all when absent")
    parser.add_argument("--minutes", type=float, default=30.0, help="for each target (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="default: %(default)s")
    arguments = parser.parse_args()
    for name in arguments.targets:
        if name not in targets.TARGETS:
            parser.error(f"unknown target {name}: one of {known}")
    found = []
    for name in arguments.targets or targets.TARGETS:
        found.append(run(name, targets.TARGETS[name][2](), int(60 * arguments.minutes), arguments.seed))
    failures = [line for line in found if line is not None]
    print("\n".join(failures) or "nothing was found")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
