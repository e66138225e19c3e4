"""Runs of a campaign that take no time, for campaigns that are killed; also in the workers, which import this."""

import dataclasses
import math
import os
import signal
import sys
import time
import zlib
from pathlib import Path

from impact_aware.experiments import campaign_store
from impact_aware.experiments.campaign import COLUMNS, RunOptions
from impact_aware.experiments.campaign_plan import plan
from impact_aware.experiments.campaign_store import CampaignStore


def row_of(setup):
    """Figures that follow from the setup, one of which is no number."""
    number = zlib.crc32(setup.key.encode()) / 2**32
    return {"key": setup.key, **dataclasses.asdict(setup), "success": number > 0.3, "cause": "", "peak": number,
            "slip_m": math.nan, "false_detections": 2, "wall_s": 0.5, "cpu_s": 0.25}  # fmt: skip


def quick(job):
    time.sleep(0.005)
    return row_of(job[0])


def die_once(job):
    """Ends its process by SIGKILL at one setup, the first time that it is tried."""
    setup, options = job
    mark = Path(options.maps) / "died"
    if setup.repeat == 1 and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return row_of(setup)


def die_always(job):
    os.kill(os.getpid(), signal.SIGKILL)


def setups():
    return plan("hit-and-push", 3, ["proposed"])


def open_store(folder):
    return CampaignStore(Path(folder), RunOptions().head("hit-and-push"), COLUMNS)


def main(folder, workers):
    """A whole campaign, as a process of its own."""
    campaign_store._run = quick
    store = open_store(folder)
    print("begun", flush=True)
    campaign_store.execute(setups(), store, RunOptions(), workers=workers)
    store.close()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
