"""An impact map as samples with an interpolation between them (van Steen 2024, III-B1 and eqs. (40)-(41)).

When one prediction is costly, as for a simultaneous impact, or comes from elsewhere, such as another engine or
recordings, it is evaluated beforehand on a grid of impact states and interpolated while the robot moves. One file
holds a map.
"""

from __future__ import annotations

import io
import itertools
import json
import zipfile
import zlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from impact_aware.arrays import Array
from impact_aware.errors import InvalidInputError, NoSolutionError, check_name
from impact_aware.output_folder import write_whole
from impact_aware.ranges import check_scalar
from impact_aware.resources import check_unpacked, read_bytes

Trend: TypeAlias = Literal["linear", "none"]

TRENDS: tuple[Trend, ...] = ("linear", "none")
LARGEST = 20_000_000
"""Distances between samples, by coordinate: samples times samples times coordinates of a state."""

LARGEST_FILE = 1 << 26
"""Size of a map's file, bytes, packed and unpacked."""

_FORMAT = 1
# Above this condition number the weights carry fewer than five digits.
_LARGEST_CONDITION = 1e11


class ImpactMap:
    """Interpolates outputs between sampled impact states with Gaussian radial basis functions.

    Distances are measured in units of `scale`, so that one `shape` serves metres and radians alike; with a scale of one
    and no trend this is van Steen 2024's map. By default the functions carry only what a plane through the samples
    leaves, because Gaussians reproduce a constant or a slope badly between their centres. States outside the samples'
    box are taken to its border: out there the functions fade away.

    Attributes:
        input_names: (d,) What an impact state consists of, with units.
        output_names: (k,) What the map answers, with units.
        states: (N, d) Sampled impact states.
        values: (N, k) Sampled answers.
        scale: (d,) Unit of each coordinate.
        shape: The paper's rho, per unit of scale: larger is narrower.
        trend: `linear` for a plane under the functions, `none` for eqs. (40)-(41) as printed.
        notes: Where the samples come from; anything that JSON can hold.
    """

    def __init__(
        self,
        states: ArrayLike,
        values: ArrayLike,
        *,
        input_names: Sequence[str],
        output_names: Sequence[str],
        scale: ArrayLike | None = None,
        shape: float = 0.5,
        trend: Trend = "linear",
        notes: Mapping[str, Any] | None = None,
    ) -> None:
        """Find the weights, eq. (40).

        Args:
            states: (N, d), N >= 1, all different.
            values: (N, k).
            input_names: (d,).
            output_names: (k,).
            scale: (d,) Positive; ones when None.
            shape: Positive.
            trend: `linear` or `none`.
            notes: Kept with the map.

        Raises:
            InvalidInputError: Arrays of the wrong shape or not finite.
            NoSolutionError: The samples are too close for this shape, so the weights are undetermined.
        """
        self.states, self.values = _table("states", states), _table("values", values)
        self.input_names, self.output_names = tuple(input_names), tuple(output_names)
        if len(self.states) == 0 or len(self.states) != len(self.values):
            raise InvalidInputError(
                "values", f"{len(self.values)} rows", f"{len(self.states)}, one per state, at least 1"
            )
        for field, names, table in (
            ("input_names", self.input_names, self.states),
            ("output_names", self.output_names, self.values),
        ):
            if len(names) != table.shape[1]:
                raise InvalidInputError(field, f"{len(names)} names", f"{table.shape[1]}, one per column")
        self.scale = np.ones(self.states.shape[1]) if scale is None else np.array(scale, dtype=float)
        if self.scale.shape != (self.states.shape[1],) or not (np.isfinite(self.scale) & (self.scale > 0.0)).all():
            raise InvalidInputError("scale", np.asarray(scale).tolist(), f"{self.states.shape[1]} positive numbers")
        check_scalar("shape", shape, 0.0, 1000.0, open_below=True)
        if self.states.shape[0] * self.states.size > LARGEST:
            most = f"{LARGEST} in samples x samples x coordinates at most"
            raise InvalidInputError("states", f"shape {self.states.shape}", most)
        self.shape = float(shape)
        check_name("trend", trend, TRENDS)
        self.trend: Trend = trend
        self.notes = dict(notes or {})
        self._lower, self._upper = self.states.min(axis=0), self.states.max(axis=0)
        basis = self._basis(self.states)
        condition = float(np.linalg.cond(basis))
        if not condition < _LARGEST_CONDITION:
            raise NoSolutionError(
                f"samples too close for shape {self.shape:g} (condition {condition:.0e}): "
                "use a larger shape or a coarser grid"
            )
        self._plane = np.zeros((1 + self.states.shape[1], self.values.shape[1]))
        if trend == "linear":
            # The smallest plane where a coordinate has too few values to fix its slope.
            self._plane = np.linalg.lstsq(self._affine(self.states), self.values, rcond=None)[0]
        self._weights = np.linalg.solve(basis, self.values - self._affine(self.states) @ self._plane)

    @classmethod
    def sample(
        cls,
        predict: Callable[[Array], ArrayLike],
        grid: Mapping[str, ArrayLike],
        output_names: Sequence[str],
        *,
        shape: float = 0.5,
        notes: Mapping[str, Any] | None = None,
    ) -> ImpactMap:
        """Evaluate `predict` on every point of a grid.

        Args:
            predict: Maps an impact state (d,) to the answer (k,).
            grid: Increasing values of each coordinate, by name; their mean spacing becomes the scale.
            output_names: (k,).
            shape: As in the constructor.
            notes: As in the constructor.

        Raises:
            InvalidInputError: A coordinate without values, or not increasing; else as the constructor.
        """
        axes = {name: np.atleast_1d(np.array(values, dtype=float)) for name, values in grid.items()}
        if not axes:
            raise InvalidInputError("grid", "no coordinate", "at least one")
        for name, values in axes.items():
            if values.ndim != 1 or values.size == 0 or not (np.diff(values) > 0.0).all():
                raise InvalidInputError(f"grid: {name}", values.tolist(), "increasing values")
        states = np.array(list(itertools.product(*axes.values())))
        spacing = [float(np.diff(values).mean()) if values.size > 1 else 1.0 for values in axes.values()]
        answers = np.array([np.asarray(predict(state), dtype=float) for state in states])
        return cls(
            states,
            answers,
            input_names=tuple(axes),
            output_names=output_names,
            scale=spacing,
            shape=shape,
            notes=notes,
        )

    def __call__(self, state: ArrayLike) -> Array:
        """Interpolate, eq. (41).

        Args:
            state: (d,) or (M, d).

        Returns:
            (k,) or (M, k).

        Raises:
            InvalidInputError: Wrong shape or not finite.
        """
        array = np.asarray(state, dtype=float)
        if array.ndim not in (1, 2) or array.shape[-1] != self.states.shape[1] or not np.isfinite(array).all():
            raise InvalidInputError("state", np.shape(array), f"{self.states.shape[1]} finite values per state")
        inside = np.clip(array, self._lower, self._upper)
        rows = np.atleast_2d(inside)
        answer = self._basis(rows) @ self._weights + self._affine(rows) @ self._plane
        return np.asarray(answer[0] if array.ndim == 1 else answer, dtype=float)

    def covers(self, state: ArrayLike) -> bool:
        """Whether `state` (d,) lies in the samples' box, so that nothing is taken to the border."""
        array = np.asarray(state, dtype=float)
        return bool(((array >= self._lower) & (array <= self._upper)).all())

    def leave_one_out_errors(self) -> Array:
        """What each sample (N, k) would be missed by if it were left out, the plane kept: how fine the grid is."""
        inverse = np.linalg.inv(self._basis(self.states))
        return np.asarray(self._weights / np.diag(inverse)[:, None], dtype=float)

    def save(self, path: str | Path) -> None:
        """Write the map to one `.npz` file.

        Raises:
            InvalidInputError: The file exists already, or has another suffix.
        """
        path = Path(path)
        if path.suffix != ".npz":
            raise InvalidInputError("path", str(path), "a file name that ends in .npz")
        header = {
            "format": _FORMAT,
            "input_names": self.input_names,
            "output_names": self.output_names,
            "shape": self.shape,
            "trend": self.trend,
            "notes": self.notes,
        }
        content = io.BytesIO()
        np.savez(content, header=json.dumps(header), states=self.states, values=self.values, scale=self.scale)
        try:
            write_whole(path, content.getvalue(), replace=False)
        except FileExistsError as error:
            raise InvalidInputError("path", str(path), "a file that does not exist yet") from error

    @classmethod
    def load(cls, path: str | Path) -> ImpactMap:
        """Read a map that `save` wrote.

        Raises:
            InvalidInputError: No such file, or not such a file.
        """
        try:
            packed = io.BytesIO(read_bytes("impact map", Path(path), "file", LARGEST_FILE))
            check_unpacked("impact map", path, packed, LARGEST_FILE)
            with np.load(packed, allow_pickle=False) as content:
                header = json.loads(str(content["header"]))
                if header["format"] != _FORMAT:
                    raise InvalidInputError("impact map format", header["format"], str(_FORMAT))
                return cls(
                    content["states"],
                    content["values"],
                    input_names=header["input_names"],
                    output_names=header["output_names"],
                    scale=content["scale"],
                    shape=header["shape"],
                    trend=header["trend"],
                    notes=header["notes"],
                )
        except InvalidInputError:
            raise
        except (
            KeyError, TypeError, ValueError, EOFError, OSError, RecursionError, MemoryError, NotImplementedError,
            AttributeError, IndexError, zlib.error, zipfile.BadZipFile,
        ) as error:  # fmt: skip
            raise InvalidInputError("impact map", str(path), f"a file written by ImpactMap.save ({error})") from error

    def _affine(self, states: Array) -> Array:
        """One and the scaled coordinates from the box's middle (M, 1 + d)."""
        middle = 0.5 * (self._lower + self._upper)
        return np.hstack([np.ones((len(states), 1)), (states - middle) / self.scale])

    def _basis(self, states: Array) -> Array:
        """The functions' values (M, N) at `states` (M, d)."""
        difference = (states[:, None, :] - self.states[None, :, :]) / self.scale
        return np.exp(-(self.shape**2) * (difference**2).sum(axis=2))


def _table(field: str, values: ArrayLike) -> Array:
    array = np.array(values, dtype=float)
    if array.ndim != 2 or not np.isfinite(array).all():
        raise InvalidInputError(field, f"shape {array.shape}", "a finite table with two dimensions")
    array.setflags(write=False)
    return array
