"""Work that kills its worker, and drivers that hand it to engines; run in processes of their own by test_engines."""

import json
import os
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path

import psutil
from joblib import Parallel, delayed, parallel_config

from betarce.engines.engine import engine
from betarce.paper.plan_file import read_plan
from betarce.paper.runner import run_plan


def work(item: str) -> int:
    """Sum up numbers, fail, or kill the process that does it, as the item says."""
    time.sleep(0.2)
    if item == "killer":
        os.kill(os.getpid(), signal.SIGKILL)
    if item == "failure":
        raise KeyError(item)
    return sum(Parallel()(delayed(int)(letter) for letter in item))


def listening() -> set[str]:
    """Give the addresses at which this process and its children can be reached."""
    me = psutil.Process()
    found = set()
    for each in [me, *me.children(recursive=True)]:
        with suppress(psutil.NoSuchProcess):
            places = each.net_connections("inet")
            found |= {place.laddr.ip for place in places if place.status == psutil.CONN_LISTEN}
    return found


def kill_some(name: str) -> None:
    """Hand work to a cluster that is started for it, or to joblib."""
    with engine(name, n_jobs=2) as compute:
        outcomes = list(compute(work, ["1", "killer", "12", "failure", "123"]))
        report = {"outcomes": outcomes, "listening": sorted(listening())}
    print(json.dumps(report))


def surround(name: str, address: str, plan: str, out: str) -> None:
    """Run a plan under joblib's own setting of the cluster."""
    if name == "dask":
        from distributed import Client

        client = Client(address)
    else:
        import ray
        from ray.util.joblib import register_ray

        register_ray()
        client = ray.init(address, log_to_driver=False)
    with client, parallel_config(backend=name):
        report = run_plan(read_plan(plan), Path(out), only="seed", verbose=-1)
    print(json.dumps(report.done))


if __name__ == "__main__":
    {"kill": kill_some, "surround": surround}[sys.argv[1]](*sys.argv[2:])
