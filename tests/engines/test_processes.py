"""Workers end with the process that started them, and otherwise are those of joblib."""

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress

import numpy as np
import pandas as pd
import pytest
from joblib import delayed, parallel_config
from joblib.parallel import get_active_backend

from betarce.engines.processes import parallel

pytestmark = pytest.mark.slow

psutil = pytest.importorskip("psutil")

PATIENCE = 60
AT_ONCE = 5  # seconds
BETARCE = [sys.executable, "-m", "betarce"]
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "OMP_NUM_THREADS": "1"}


def wait_for(condition, patience=PATIENCE):
    deadline = time.monotonic() + patience
    while not (found := condition()):
        assert time.monotonic() < deadline, "nothing happened"
        time.sleep(0.02)
    return found


def workers_of(pid):
    try:
        return [each for each in psutil.Process(pid).children() if "popen_loky" in " ".join(each.cmdline())]
    except psutil.Error:
        return []


@pytest.fixture
def table(tmp_path):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(300, 4))).add_prefix("x").assign(y=rng.integers(0, 2, 300))
    table.to_csv(tmp_path / "table.csv", index=False)
    return tmp_path / "table.csv"


@pytest.mark.skipif(os.name != "posix", reason="signals")
@pytest.mark.parametrize(
    ("how", "when"), [(signal.SIGKILL, "as soon as there are workers"), (signal.SIGTERM, "while they train")]
)
def test_workers_of_a_killed_command_end_and_let_go_of_its_output(how, when, table):
    command = [*BETARCE, "explain", str(table), "--label", "y", "--target", "1", "--jobs", "2", "--delta", "0.98"]
    process = subprocess.Popen(command, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    workers = []
    try:
        workers = wait_for(lambda: len(found := workers_of(process.pid)) == 2 and found)
        if when == "while they train":
            wait_for(lambda: all(sum(worker.cpu_times()[:2]) > 3 for worker in workers))
        assert process.poll() is None
        process.send_signal(how)
        # Ends of pipes that an orphan holds would keep `communicate`, and every `betarce ... | tee`, waiting.
        process.communicate(timeout=AT_ONCE)
        assert psutil.wait_procs(workers, timeout=AT_ONCE)[1] == []
    finally:
        for each in [*workers, process]:
            with suppress(psutil.NoSuchProcess):
                each.kill()
        process.communicate()


def test_what_the_user_chose_for_joblib_is_used():
    with parallel_config(backend="threading"):
        assert set(parallel(n_jobs=2)(delayed(os.getpid)() for _ in range(4))) == {os.getpid()}


def test_workers_are_used_again():
    first, second = (set(parallel(n_jobs=2)(delayed(os.getpid)() for _ in range(8))) for _ in range(2))
    assert os.getpid() not in first | second
    assert len(first | second) <= 2


def test_work_inside_of_a_worker_goes_where_joblib_would_send_it():
    def inner():
        return [type(get_active_backend()[0]).__name__, *parallel(n_jobs=2)(delayed(abs)(x) for x in (-1, 2))]

    assert parallel(n_jobs=2)(delayed(inner)() for _ in range(2)) == [["ThreadingBackend", 1, 2]] * 2
