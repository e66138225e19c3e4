"""What can be known of a table of joint states: flags of every command that reads one."""

from __future__ import annotations

from dataclasses import dataclass

from impact_aware.joint_columns import ColumnMap, read_column_map, with_rate, with_time_unit
from impact_aware.parameters import Options, described
from impact_aware.time_columns import RATE, TIME_UNITS


@dataclass(frozen=True, kw_only=True)
class TableOptions(Options):
    """Columns, clock and unit of a table; None where they are found out from the table."""

    columns: tuple[str, ...] = described(
        (), "YAML file, or 'time=t q=q1,q2 dq=joint_*_vel tau=... joints=...'; several times", metavar="NAME=COLUMN",
        absent="the usual names", repeated=True,
    )  # fmt: skip
    time_unit: str | None = described(
        None, "unit of the times", choices=tuple(TIME_UNITS), absent="estimated from the times"
    )
    rate: float | None = described(None, "rows per second of a table without times", within=RATE)
    degrees: bool = described(False, "positions and velocities are in degrees and deg/s")

    def column_map(self) -> ColumnMap | None:
        """What is given about columns; None when nothing is.

        Raises:
            InvalidInputError: An entry that is not known, or no such file.
        """
        chosen = read_column_map(" ".join(self.columns)) if self.columns else None
        return with_rate(with_time_unit(chosen, self.time_unit), self.rate)
