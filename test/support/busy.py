"""`make test-busy`: the tests that start nodes, again and again beside a process that keeps one core busy.

Writes one line per run, and the output of those that failed; exits with 1 if any did.
"""

import subprocess
import sys
import time

SPIN = "while True: pass"


def main() -> int:
    """Run them as often as the first argument says; the others are pytest's."""
    runs, words = int(sys.argv[1]), sys.argv[2:]
    failed = 0
    busy = subprocess.Popen([sys.executable, "-c", SPIN])
    try:
        for number in range(1, runs + 1):
            started = time.monotonic()
            command = [sys.executable, "-m", "pytest", "-q", "-m", "dds", "-p", "no:cacheprovider", *words]
            result = subprocess.run(command, capture_output=True, text=True)
            failed += result.returncode != 0
            if result.returncode != 0:
                print(result.stdout[-20_000:], flush=True)
            last = (result.stdout.strip().splitlines() or [result.stderr[-500:]])[-1]
            print(f"[busy {number}/{runs}] {last} ({time.monotonic() - started:.0f} s)", flush=True)
    finally:
        busy.kill()
        busy.wait()
    print(f"[busy] {failed} of {runs} runs failed")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
