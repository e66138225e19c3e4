"""`make mutate`: small mistakes put into a room's code, one at a time; do the room's tests find them?

cosmic-ray makes the mutants and runs the tests, here on a copy of the clone. (mutmut 3 leaves out every decorated
function, so all that is compiled and every property.) A seeded sample is drawn by lines, so that a line with many
numbers weighs no more than one with a sign. Only test files that run the mutated line are started, the quickest first.
In `results/mutation` are left: a table, and per room its survivors as differences and cosmic-ray's own session, which
`cr-html` turns into a page.
"""

import argparse
import ast
import os
import random
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import cosmic_ray.plugins
import coverage
from cosmic_ray.commands import init
from cosmic_ray.mutating import mutate_and_test
from cosmic_ray.work_db import WorkDB, use_db
from cosmic_ray.work_item import MutationSpec, WorkItem, WorkResult

sys.path.insert(0, str(Path(__file__).resolve().parent))
from operators import OPERATORS, PROVIDER  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "results" / "mutation"
ROOMS = tuple(
    sorted(path.name for path in (ROOT / "impact_aware").iterdir() if (ROOT / "test" / path.name / "").is_dir())
)
"""Rooms that have tests of their own: all, without one on the command line."""

KEPT = re.compile(
    r"AddNot|NumberReplacer|ZeroIterationForLoop|Replace(And|Or|True|False|Break|Continue)With\w+"
    r"|ReplaceBinaryOperator_(Add_Sub|Sub_Add|Mul_Div|Div_Mul|Pow_Mul|Mod_Add|FloorDiv_Mul|Mul_Add|BitAnd_BitOr|BitOr_BitAnd)"
    r"|ReplaceComparisonOperator_(Eq_NotEq|NotEq_Eq|Is_IsNot|IsNot_Is|Lt_LtE|LtE_Lt|Gt_GtE|GtE_Gt|Lt_Gt|Gt_Lt|LtE_GtE|GtE_LtE)"
    r"|ReplaceUnaryOperator_(USub_UAdd|Delete_Not|Delete_USub)"
)
"""cosmic-ray's operators that write a mistake somebody could make; a `%` for a `*` only shows that the line is run."""

PYTEST = ["-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-p", "no:randomly", "-m", "not dds"]


def main() -> int:
    """Mutate the rooms one after the other; returns 0, whatever survives."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--room", action="append", help=f"a room (repeatable; default: {', '.join(ROOMS)})")
    parser.add_argument("--most", type=int, default=20, help="mutants of a room (default: %(default)s)")
    parser.add_argument("--minutes", type=float, default=15.0, help="longest time for a room (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="of the sample (default: %(default)s)")
    parser.add_argument("--module", default="", help="only modules whose path has this in it")
    args = parser.parse_args()
    providers = cosmic_ray.plugins.OPERATOR_PROVIDERS
    # Without those that are not kept every file is searched several times faster.
    kept = {name: providers["core"][name] for name in providers["core"] if KEPT.fullmatch(name)}
    providers.update({"core": kept, PROVIDER: OPERATORS})
    RESULTS.mkdir(parents=True, exist_ok=True)
    counts = {}
    for room in args.room or ROOMS:
        if not (ROOT / "impact_aware" / room).is_dir() or not (ROOT / "test" / room).is_dir():
            parser.error(f"--room: got {room}, expected a folder of impact_aware/ that has one in test/")
        counts[room] = Room(room, args.seed).run(args.most, 60.0 * args.minutes, args.module)
        (RESULTS / "table.txt").write_text(table(counts), encoding="utf-8")
    print(table(counts), end="")
    print(f"survivors: {RESULTS}")
    return 0


def table(counts: dict[str, Counter[str]]) -> str:
    """Killed and survived, room by room."""
    lines = [f"{'room':<12} {'mutants':>8} {'killed':>8} {'survived':>9} {'killed %':>9}"]
    total: Counter[str] = Counter()
    for room, count in counts.items():
        total += count
        lines.append(row(room, count))
    return "\n".join([*lines, row("all", total)]) + "\n"


def row(name: str, count: Counter[str]) -> str:
    """One line of the table."""
    tried = count["killed"] + count["survived"]
    share = 100.0 * count["killed"] / tried if tried else float("nan")
    return f"{name:<12} {tried:>8} {count['killed']:>8} {count['survived']:>9} {share:>9.0f}"


class Baseline(NamedTuple):
    """The room's tests without any mutant.

    Attributes:
        deselected: Words for pytest that leave out the tests that fail.
        seconds: That all of them take.
        seconds_of: The same by test file.
        contexts: Module -> line -> tests that run it, as coverage writes them.
    """

    deselected: list[str]
    seconds: float
    seconds_of: Counter[str]
    contexts: dict[Path, dict[int, list[str]]]


class Room:
    """One room's mutants and its tests, in a copy of the clone."""

    def __init__(self, name: str, seed: int) -> None:
        """Copy what git has or would have."""
        self.name = name
        self._random = random.Random(f"{seed} {name}")
        self._copy = ROOT / "build" / "mutation" / name
        shutil.rmtree(self._copy, ignore_errors=True)
        listing = subprocess.run(
            ["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=True
        )
        for line in listing.stdout.splitlines():
            if (ROOT / line).is_file():
                (self._copy / line).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / line, self._copy / line)
        self._baselines: dict[str, Baseline] = {}

    def run(self, most: int, seconds: float, module: str) -> Counter[str]:
        """Try a sample of the mutants; returns how many were killed and how many survived."""
        os.chdir(self._copy)
        os.environ["PYTHONPATH"] = str(self._copy)
        os.environ["NUMBA_CACHE_DIR"] = str(self._copy / "build" / "numba")
        session = RESULTS / f"{self.name}.sqlite"
        session.unlink(missing_ok=True)
        modules = [path for path in sorted(Path("impact_aware", self.name).rglob("*.py")) if module in str(path)]
        counts: Counter[str] = Counter()
        survivors = [f"# {self.name}: survivors of `{' '.join(sys.argv)}`"]
        with use_db(session, WorkDB.Mode.create) as database:
            init(modules, database, {})
            sample = self._sample(database.work_items)
            deadline = time.monotonic() + seconds
            for number, item in enumerate(sample):
                if number >= most or time.monotonic() > deadline:
                    break
                result = self._try(item)
                outcome = "killed" if result.is_killed else "survived"
                counts[outcome] += 1
                database.set_result(item.job_id, result)
                (spec,) = item.mutations
                print(
                    f"[{self.name} {number + 1}/{min(most, len(sample))}] {outcome:<8} "
                    f"{spec.module_path}:{spec.start_pos[0]} {spec.operator_name.partition('/')[2]}",
                    flush=True,
                )
                if outcome == "survived":
                    survivors.append(result.diff or "")
                    (RESULTS / f"survivors_{self.name}.diff").write_text("\n".join(survivors) + "\n", encoding="utf-8")
        os.chdir(ROOT)
        return counts

    def _sample(self, items: tuple[WorkItem, ...]) -> list[WorkItem]:
        """One mutant of each line that has any, the lines in random order."""
        paths = {item.mutations[0].module_path for item in items}
        excluded = {path: excluded_spans(path) for path in paths}
        sources = {path: path.read_text(encoding="utf-8") for path in paths}
        lines: dict[tuple[Path, int], list[WorkItem]] = {}
        for item in items:
            (spec,) = item.mutations
            provider, _, operator = spec.operator_name.partition("/")
            wanted = provider == PROVIDER or KEPT.fullmatch(operator)
            if is_star(sources[spec.module_path], spec):
                continue
            if wanted and not any(first <= spec.start_pos < last for first, last in excluded[spec.module_path]):
                lines.setdefault((spec.module_path, spec.start_pos[0]), []).append(item)
        order = sorted(lines)
        self._random.shuffle(order)
        return [self._random.choice(sorted(lines[line], key=key)) for line in order]

    def _try(self, item: WorkItem) -> WorkResult:
        (spec,) = item.mutations
        interpreted = is_compiled(spec.module_path)
        # What Numba kept of a mutant, or of another module that calls it, must not answer for this one.
        os.environ["NUMBA_DISABLE_JIT"] = "1" if interpreted else "0"
        mode = os.environ["NUMBA_DISABLE_JIT"]
        if mode not in self._baselines:
            self._baselines[mode] = self._baseline(mode)
        baseline = self._baselines[mode]
        files = covering_files(baseline, spec.module_path, spec.start_pos[0])
        # Where no test runs the line, nothing can fail.
        command = [sys.executable, *PYTEST, *baseline.deselected, *files] if files else [sys.executable, "-c", ""]
        return mutate_and_test(item.mutations, shlex.join(command), 60.0 + 4.0 * baseline.seconds)

    def _baseline(self, mode: str) -> Baseline:
        """Run the tests without any mutant."""
        words = [word for word in PYTEST if word != "-x"]
        words += [f"--cov=impact_aware/{self.name}", "--cov-context=test", "--cov-report=", "--durations=0", "-rfE"]
        data = self._copy / f"coverage-{mode}"
        os.environ["COVERAGE_FILE"] = str(data)
        started = time.monotonic()
        result = subprocess.run(
            [sys.executable, *words, f"test/{self.name}"], capture_output=True, text=True, check=False
        )
        seconds = time.monotonic() - started
        failing = re.findall(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", result.stdout, flags=re.MULTILINE)
        seconds_of: Counter[str] = Counter()
        for taken, path in re.findall(r"^([\d.]+)s \w+ +(.+?)::", result.stdout, flags=re.MULTILINE):
            seconds_of[path] += float(taken)
        found = coverage.CoverageData(str(data))
        found.read()
        contexts = {
            Path(file).relative_to(self._copy): found.contexts_by_lineno(file) for file in found.measured_files()
        }
        told = f"; without {len(failing)} that fail unmutated: {', '.join(failing)}" if failing else ""
        how = "interpreted" if mode == "1" else "compiled"
        print(f"[{self.name}] the room's tests, {how}: {seconds:.0f} s{told}", flush=True)
        return Baseline([word for test in failing for word in ("--deselect", test)], seconds, seconds_of, contexts)


def covering_files(baseline: Baseline, module: Path, line: int) -> list[str]:
    """The test files that run a line, the quickest first.

    Of what an import or a fixture runs, which other files may share, those that run any line of the module.
    """
    contexts = baseline.contexts.get(module, {})
    own = {context for number in statement_lines(module, line) for context in contexts.get(number, [])}
    if any(not context or context.endswith("|setup") for context in own):
        own = {context for found in contexts.values() for context in found}
    files = {context.partition("::")[0] for context in own if context}
    return sorted(files, key=lambda path: (baseline.seconds_of[path], path))


def statement_lines(module: Path, line: int) -> range:
    """The lines of the innermost statement that a line belongs to; of a block, those up to its first statement."""
    found = range(line, line + 1)
    for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
        if isinstance(node, ast.stmt):
            body = getattr(node, "body", None)
            last = body[0].lineno - 1 if body else node.end_lineno or node.lineno
            if node.lineno <= line <= max(last, node.lineno):
                found = range(node.lineno, max(last, node.lineno) + 1)
    return found


def is_star(source: str, spec: MutationSpec) -> bool:
    """Whether what looks like a product is the star of an argument."""
    row, column = spec.start_pos
    lines = source.splitlines()
    before = "".join(lines[: row - 1])[-200:] + lines[row - 1][:column]
    return re.search(r"Operator_(Mul|Pow)_", spec.operator_name) is not None and before.rstrip()[-1:] in "([{,:="


def key(item: WorkItem) -> tuple[str, int]:
    """Order of the mutants of a line that is the same in every run."""
    (spec,) = item.mutations
    return spec.operator_name, spec.occurrence


def is_compiled(path: Path) -> bool:
    """Whether a module has compiled functions."""
    return "\n@compiled(" in path.read_text(encoding="utf-8")


def excluded_spans(path: Path) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """Where a mutant changes nothing or only words: annotations, decorators, refusals, slots of a module's `main`."""
    spans = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        inner: list[ast.AST | None] = []
        if isinstance(node, ast.arg | ast.AnnAssign):
            inner = [node.annotation]
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            inner = [node.returns, *node.decorator_list]
        elif isinstance(node, ast.ClassDef):
            inner = [*node.decorator_list, *node.bases]
        elif isinstance(node, ast.Raise):
            inner = [node]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("isinstance", "cast"):
            inner = list(node.args)
        spans += [
            ((part.lineno, part.col_offset), (part.end_lineno, part.end_col_offset))
            for part in inner
            if part is not None
        ]
    return spans


if __name__ == "__main__":
    sys.exit(main())
