"""Processes of the package that import nothing: each is forked from one that has imported everything once.

A node imports for two seconds of processor time, a demo starts nine. What the tests are about begins after that, and is
the same in a forked process: its own signals, standard streams, environment, DDS participant and exit status.
Tests of the start itself, and a whole demo, start Python as a user does.
"""

import atexit
import contextlib
import ctypes
import gc
import importlib
import json
import os
import random
import runpy
import signal
import socket
import subprocess
import sys
import time
import traceback
import types
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn
from unittest import mock

SET_PDEATHSIG, SET_CHILD_SUBREAPER, SET_NAME = 1, 36, 15
ALSO = ("impact_aware.cli.demo", "impact_aware_rigs.faults.dds")
"""Imported beside the nodes."""


def prctl(option: int, value: Any) -> None:
    """Ask Linux for something about this process."""
    ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def become(arguments: Sequence[str], environment: dict[str, str], streams: Sequence[int]) -> NoReturn:
    """Go on, in a process just forked, as `python -m MODULE ...` would."""
    status = 1
    try:
        os.setsid()
        prctl(SET_PDEATHSIG, signal.SIGTERM)
        for target, stream in enumerate(streams):
            os.dup2(stream, target)
        os.environ.clear()
        os.environ.update(environment)
        sys.stdin = open(0, closefd=False)
        sys.stdout, sys.stderr = (open(number, "w", buffering=1, closefd=False) for number in (1, 2))
        for number, handler in ((signal.SIGINT, signal.default_int_handler), (signal.SIGTERM, signal.SIG_DFL)):
            signal.signal(number, handler)
        random.seed()
        _, _, module, *words = arguments
        name = words[0] if words and module.endswith("bringup.start") else module.rpartition(".")[2]
        prctl(SET_NAME, name[:15].encode())
        if module.startswith("impact_aware.cli"):
            replace_starts(ForkedHere).start()
        sys.argv = [module, *words]
        warnings.filterwarnings("ignore", category=RuntimeWarning, module="runpy")
        runpy.run_module(module, run_name="__main__", alter_sys=True)
        status = 0
    except SystemExit as end:
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
    finally:
        atexit._run_exitfuncs()
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        os._exit(status)


class Forked(subprocess.Popen):
    """`subprocess.Popen` of `[python, "-m", MODULE, ...]`, by a fork instead of a new interpreter."""

    def _execute_child(self, args, executable, preexec_fn, close_fds, pass_fds, cwd, env, *rest):  # type: ignore[no-untyped-def]
        _, _, _, p2cread, p2cwrite, c2pread, c2pwrite, errread, errwrite, *_ = rest
        streams = [number if own == -1 else own for number, own in enumerate((p2cread, c2pwrite, errwrite))]
        self.pid = self.fork([str(word) for word in args], dict(os.environ if env is None else env), streams)
        self._child_created = True
        self._close_pipe_fds(p2cread, p2cwrite, c2pread, c2pwrite, errread, errwrite)  # type: ignore[attr-defined]

    def fork(self, arguments: list[str], environment: dict[str, str], streams: list[int]) -> int:
        """The new process's id."""
        raise NotImplementedError


class ForkedHere(Forked):
    """A fork of this very process, which has imported everything."""

    def fork(self, arguments: list[str], environment: dict[str, str], streams: list[int]) -> int:
        """Fork; the streams are pipes and files of this process."""
        pid = os.fork()
        if pid == 0:
            become(arguments, environment, streams)
        return pid


def replace_starts(kind: type[Forked]) -> Any:
    """A patch by which `NodeProcess` starts its nodes as `kind`."""
    from impact_aware.bringup import processes

    names = {name: getattr(subprocess, name) for name in ("PIPE", "DEVNULL", "STDOUT")}
    return mock.patch.object(processes, "subprocess", types.SimpleNamespace(Popen=kind, **names))


class Zygote:
    """The process that forks; the forked ones become children of this one."""

    def __init__(self) -> None:
        """Start it; it imports while the tests go on."""
        here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        # Orphans, as which the forked processes begin, go to the nearest process that asked for them.
        prctl(SET_CHILD_SUBREAPER, 1)
        self._process = subprocess.Popen(
            [sys.executable, __file__, str(there.fileno())], pass_fds=[there.fileno()], stdin=subprocess.DEVNULL
        )
        there.close()
        self._socket = here

        class ForkedThere(Forked):
            """A fork of the zygote."""

            def fork(_, arguments: list[str], environment: dict[str, str], streams: list[int]) -> int:  # noqa: N805
                return self._ask(arguments, environment, streams)

        self.Popen: type[Forked] = ForkedThere

    def _ask(self, arguments: list[str], environment: dict[str, str], streams: list[int]) -> int:
        socket.send_fds(self._socket, [json.dumps([arguments, environment]).encode()], streams)
        answer = self._socket.recv(64)
        if not answer:
            raise RuntimeError(f"the process that forks ended with {self._process.wait()}")
        return int(answer)

    def run(self, arguments: Sequence[str], timeout: float = 200.0) -> subprocess.CompletedProcess[str]:
        """As `subprocess.run` of `python -m ...`, with what it wrote as text."""
        with self.Popen(
            [sys.executable, "-m", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as process:
            try:
                output, errors = process.communicate(timeout=timeout)
            except BaseException:
                process.kill()
                raise
        return subprocess.CompletedProcess(arguments, process.returncode, output, errors)

    @contextmanager
    def nodes(self) -> Iterator[None]:
        """Inside, `NodeProcess` forks."""
        with replace_starts(self.Popen):
            yield

    def close(self) -> None:
        """End it; what it forked is not its own."""
        self._socket.close()
        self._process.wait(timeout=600.0)


def serve(channel: socket.socket) -> None:
    """Import everything, then fork for whoever asks, until nobody can any more."""
    from impact_aware.bringup.start import executables

    for module in (*executables().values(), *ALSO):
        # A list of the rigs' nodes that was installed earlier may name some that are gone.
        with contextlib.suppress(ModuleNotFoundError):
            importlib.import_module(module)
    # What is run as the main module must not be there yet.
    del sys.modules["impact_aware.bringup.start"]
    gc.collect()
    gc.freeze()
    while True:
        message, streams, _, _ = socket.recv_fds(channel, 1 << 20, 3)
        if not message:
            return
        arguments, environment = json.loads(message)
        between = os.getpid()
        reading, writing = os.pipe()
        if (middle := os.fork()) == 0:
            middle_pid = os.getpid()
            pid = os.fork()
            if pid == 0:
                channel.close()
                os.close(reading)
                os.close(writing)
                while os.getppid() in (middle_pid, between):
                    time.sleep(0.001)
                become(arguments, environment, streams)
            os.write(writing, str(pid).encode())
            os._exit(0)
        os.waitpid(middle, 0)
        channel.send(os.read(reading, 64))
        for descriptor in (reading, writing, *streams):
            os.close(descriptor)


if __name__ == "__main__":
    with contextlib.suppress(ValueError):
        # Not there where PYTHONSAFEPATH is set.
        sys.path.remove(os.path.dirname(os.path.abspath(__file__)))
    sys.modules["zygote"] = sys.modules["__main__"]
    serve(socket.socket(fileno=int(sys.argv[1])))
