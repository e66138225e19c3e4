"""Settings of libraries: the project's own, never those of a file that lies in the current folder.

Numba reads `.numba_config.yaml` there, Matplotlib `matplotlibrc`, Fast DDS `DEFAULT_FASTRTPS_PROFILES.xml`. The folder
may be one with downloaded recordings, and each of the three could choose code to run or addresses to listen on.
"""

from __future__ import annotations

import contextlib
import os
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any


@contextlib.contextmanager
def numba_without_files() -> Iterator[None]:
    """Import Numba such that it reads its environment variables only, now and at each later compilation."""
    if "numba" in sys.modules:
        yield
        return
    # Numba reads the file while it is imported, and only where it finds PyYAML.
    absent = object()
    before = sys.modules.get("yaml", absent)
    sys.modules["yaml"] = None  # type: ignore[assignment]
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "A Numba config file is found")
            yield
            sys.modules["numba.core.config"]._config_fname = ""  # type: ignore[attr-defined]
    finally:
        del sys.modules["yaml"]
        if before is not absent:
            sys.modules["yaml"] = before  # type: ignore[assignment]


def shield_process() -> None:
    """Keep files of the current folder from configuring this process and those that it starts; call it first.

    Standard streams that were closed by the parent process are opened: otherwise a result file would get their
    descriptor, and what libraries print would go into it.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode))
    # Python takes no module from the current folder, and Fast DDS no profiles.
    os.environ.update(PYTHONSAFEPATH="1", SKIP_DEFAULT_XML_FILE="1")
    # Matrices are small here: further threads of BLAS take processor time and save none.
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, "1")
    if os.path.lexists("matplotlibrc"):
        # Matplotlib reads the file when it is imported, and never again.
        before = os.open(".", os.O_RDONLY)
        os.chdir("/")
        try:
            import matplotlib  # noqa: F401
        finally:
            os.fchdir(before)
            os.close(before)


@contextlib.contextmanager
def figure_settings(*styles: dict[str, Any] | Path) -> Iterator[None]:
    """Draw and save with Matplotlib's defaults and these styles on top, whatever a `matplotlibrc` of the user holds."""
    import matplotlib.style

    # Names of joints and arms are texts as they are, whatever stands between their dollar signs.
    with matplotlib.style.context(["default", {"text.parse_math": False}, *styles]):
        yield


_compiler = [True]


def without_compiler() -> None:
    """Let the interpreter run what `compiled` would translate, in modules that are imported from now on.

    Loading the compiler takes longer than hundreds of predictions by the interpreter.
    """
    _compiler[0] = False


def compiler_is_wanted() -> bool:
    """Return whether `compiled` translates functions."""
    return _compiler[0]
