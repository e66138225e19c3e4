"""Fuzzing for as long as asked, steered by coverage (atheris): `make fuzz MINUTES=30 TARGETS="urdf set_task"`.

An input that fails is kept in build/fuzz/TARGET; once mended, it goes to test/fuzz/kept/TARGET for `make test` to try.
"""

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
from collections import deque
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "build" / "fuzz"
KEPT = Path(__file__).with_name("kept")

LONGEST_RUN = 10
"""Time that one input may take, s."""

MOST_MEMORY = 2048
"""Memory that it may take, MB; the libraries alone take some 300."""

KEPT_LINES = 5000
"""Lines of the output that are kept: libraries print many in half an hour."""

INSTRUMENTED = ["impact_aware", "rosbags", "mcap", "yaml"]


def fuzz_one(name: str, seconds: float, words: list[str]) -> None:
    """Fuzz a target in this process for so much of its processor time; ends it."""
    import atheris

    sys.path.insert(0, str(ROOT / "test" / "support"))
    with atheris.instrument_imports(include=INSTRUMENTED):
        import targets

    def call(data: bytes) -> None:
        targets.run(name, data)
        if sum(os.times()[:4]) > seconds:  # of its children, too
            os.kill(os.getpid(), signal.SIGUSR1)  # libFuzzer prints its figures and ends

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
    limits = [f"-timeout={LONGEST_RUN}", f"-rss_limit_mb={MOST_MEMORY}", f"-seed={seed}"]
    limits += [f"-max_len={4 * len(seed_input) + 4096}", f"-artifact_prefix={folder}/", "-print_final_stats=1"]
    command = [sys.executable, str(Path(__file__)), "--one", name, str(seconds), *limits, str(corpus)]
    # Numba can't translate functions that count their branches.
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    last: deque[str] = deque(maxlen=KEPT_LINES)
    covered = "?"
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", env=environment
    ) as process:
        for line in process.stdout:
            last.append(line)
            covered = match[1] if (match := re.match(r"#\d+\s.*\bcov: (\d+)", line)) else covered
    log = "".join(last)
    (folder / "log").write_text(log)
    count = re.findall(r"number_of_executed_units:\s*(\d+)", log)
    peak = re.findall(r"peak_rss_mb:\s*(\d+)", log)
    figures = f"{count[-1] if count else '?'} inputs, {covered} branches"
    print(f"{name:<16} {figures}, {peak[-1] if peak else '?'} MB at most, status {process.returncode}", flush=True)
    if process.returncode == 0:
        return None
    reason = next((line for line in last if re.search(r"\w(Error|Exception)\b|ERROR: libFuzzer", line)), "no reason")
    return f"{name}: {reason.strip()[:300]} (see {folder}/log)"


def main() -> int:
    """Fuzz one target after the other, the time shared between them."""
    if sys.argv[1:2] == ["--one"]:
        fuzz_one(sys.argv[2], float(sys.argv[3]), sys.argv[4:])
    sys.path.insert(0, str(ROOT / "test" / "support"))
    import targets

    parser = argparse.ArgumentParser(description=__doc__)
    known = ", ".join(targets.TARGETS)
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=f"of {known}; all when absent")
    parser.add_argument("--minutes", type=float, default=30.0, help="processor time per target (default: %(default)s)")
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
