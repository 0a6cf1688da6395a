"""The same plan on this machine and on real clusters of Dask and Ray, whose workers and drivers are killed on the way.

Drivers are processes of their own: their ends can be watched, and Ray reads its settings once a process.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import SimpleNamespace
from uuid import uuid4

import pandas as pd
import pytest

import betarce
from betarce.engines import workers
from betarce.engines.engine import engine
from betarce.engines.workers import attempt
from betarce.errors import InvalidInput, MissingExtra
from betarce.paper.plan_file import read_plan
from betarce.paper.records import read_cell
from betarce.paper.runner import run_plan
from betarce.results.answer_table import answer_table
from betarce.runs import explain_file
from small_problem import LABELS, MODEL, TABLE

pytestmark = pytest.mark.cluster

psutil = pytest.importorskip("psutil")
pytest.importorskip("distributed")
pytest.importorskip("ray")

PLAN = """
data = ["breast_cancer"]
families = ["logistic"]
spaces = ["bootstrap", "seed"]
deltas = [0.6, 0.7]
confidences = [0.8]
rows = 4
audit_members = 5
methods = {growing-spheres = {}, betarce = {}, betarce-paper = {}}
"""
BETARCE = [sys.executable, "-c", "from betarce.cli import app; app()"]
FRAGILE = [sys.executable, str(Path(__file__).parents[1] / "fragile.py")]
ENVIRONMENT = {
    **os.environ,
    "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
    "OMP_NUM_THREADS": "1",
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",  # `ray start` listens to this machine alone
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_AUTH_MODE": "token",
    "RAY_AUTH_TOKEN": uuid4().hex,  # else Ray writes one to the home directory
}
AS_IT_IS = {name: value for name, value in ENVIRONMENT.items() if name != "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"}
PATIENCE = 300


@pytest.fixture(scope="module")
def plan_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("plan") / "plan.toml"
    path.write_text(PLAN)
    return path


@pytest.fixture(scope="module")
def plan(plan_file):
    return read_plan(plan_file)


@pytest.fixture(scope="module")
def serial(plan, tmp_path_factory):
    """What one process gives."""
    folder = tmp_path_factory.mktemp("serial")
    assert len(run_plan(plan, folder, n_jobs=1, verbose=-1).done) == 6
    return prints(plan, folder)


def prints(plan, folder):
    return {cell.name: read_cell(cell, plan, folder)["fingerprint"] for cell in plan.cells}


def wait_for(condition):
    deadline = time.monotonic() + PATIENCE
    while not (found := condition()):
        assert time.monotonic() < deadline, "nothing happened"
        time.sleep(0.02)
    return found


@contextmanager
def running(command, env=ENVIRONMENT, **keys):
    """Run a command; at the end nothing of it is left."""
    process = subprocess.Popen(command, env=env, text=True, **keys)
    try:
        yield process
    finally:
        for each in [*family(process.pid), process]:
            each.kill()
        process.communicate()


def family(pid):
    """All processes that a process started, and those that they started."""
    try:
        return psutil.Process(pid).children(recursive=True)
    except psutil.NoSuchProcess:
        return []


def busy(pid):
    """Those of them that compute: workers of Dask, and those of Ray that have a task."""
    found = []
    for process in family(pid):
        try:
            words = " ".join(process.cmdline())
        except psutil.Error:
            continue
        if "spawn_main" in words or words.startswith("ray::attempt"):
            found.append(process)
    return found


def free_port():
    with socket.socket() as place:
        place.bind(("127.0.0.1", 0))
        return place.getsockname()[1]


def listens(port):
    with socket.socket() as place:
        return place.connect_ex(("127.0.0.1", port)) == 0


@pytest.fixture(scope="module")
def clusters():
    """A cluster each, of two worker processes: its address, and the process whose children the workers are."""
    dask_port, ray_port = free_port(), free_port()
    address = f"tcp://127.0.0.1:{dask_port}"
    here = ["--host", "127.0.0.1", "--no-dashboard"]
    store = ["--num-cpus=2", "--include-dashboard=false", f"--object-store-memory={100 * 2**20}"]
    commands = [
        ["-m", "distributed.cli.dask_scheduler", "--port", str(dask_port), *here, "--dashboard-address=127.0.0.1:0"],
        ["-m", "distributed.cli.dask_worker", address, "--nworkers", "2", "--nthreads", "1", *here],
        ["-m", "ray.scripts.scripts", "start", "--head", "--block", "--port", str(ray_port), *store],
    ]
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="ray"))  # paths of sockets must be short
        commands[2].append(f"--temp-dir={folder}")
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": folder}
        _, nanny, head = [stack.enter_context(running([sys.executable, *command], **quiet)) for command in commands]
        wait_for(lambda: listens(dask_port) and listens(ray_port))
        yield {"dask": (address, nanny.pid), "ray": (f"127.0.0.1:{ray_port}", head.pid)}


def results(folder):
    return list(folder.glob("cells/*.json"))


# Clusters


@pytest.mark.parametrize("name", ["dask", "ray"])
def test_a_cluster_whose_worker_is_killed_gives_what_one_process_gives(
    name, clusters, plan_file, plan, serial, tmp_path
):
    address, pid = clusters[name]
    command = [*BETARCE, "reproduce", str(plan_file), "--out", str(tmp_path), "--engine", name, "--address", address]
    with running(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as driver:
        wait_for(lambda: results(tmp_path))
        victim = wait_for(lambda: busy(pid))[0]
        victim.kill()
        n_done = len(results(tmp_path))
        said, complaints = driver.communicate(timeout=PATIENCE)
    assert n_done <= 4  # of six: both workers had work
    assert driver.returncode == 0, complaints
    assert "6 cells done, 0 skipped as finished before, 0 failed" in said
    assert prints(plan, tmp_path) == serial


@pytest.mark.parametrize("name", ["dask", "ray"])
def test_joblib_can_name_the_cluster(name, clusters, plan_file, plan, serial, tmp_path):
    command = [*FRAGILE, "surround", name, clusters[name][0], str(plan_file), str(tmp_path)]
    with running(command, stdout=subprocess.PIPE) as driver:
        said = driver.communicate(timeout=PATIENCE)[0]
    names = [cell.name for cell in plan.cells if cell.space == "seed"]
    assert json.loads(said.splitlines()[-1]) == names
    for cell in plan.cells:
        if cell.name in names:
            assert read_cell(cell, plan, tmp_path)["fingerprint"] == serial[cell.name]


@pytest.mark.parametrize("name", ["local", "dask", "ray"])
def test_what_kills_its_worker_again_and_again_is_given_up_alone(name):
    with running([*FRAGILE, "kill", name], AS_IT_IS, stdout=subprocess.PIPE) as driver:
        said = driver.communicate(timeout=PATIENCE)[0]
    report = json.loads(said.splitlines()[-1])
    outcomes = {item: (value, error) for item, value, error in report["outcomes"]}
    assert outcomes.pop("killer") == (None, "Its worker died at least 3 times (killed, or out of memory?).")
    assert outcomes.pop("failure") == (None, "KeyError: 'failure'")
    assert outcomes == {item: (sum(map(int, item)), "") for item in ("1", "12", "123")}
    assert set(report["listening"]) <= {"127.0.0.1", "::1", "::ffff:127.0.0.1"}


@pytest.mark.parametrize(("name", "blow"), [("local", signal.SIGINT), ("dask", signal.SIGKILL), ("ray", signal.SIGINT)])
def test_a_killed_driver_leaves_nothing_behind_and_the_run_goes_on(name, blow, plan_file, plan, serial, tmp_path):
    command = [*BETARCE, "reproduce", str(plan_file), "--out", str(tmp_path), "--engine", name, "--jobs", "2"]
    with running(command, AS_IT_IS, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as driver:
        wait_for(lambda: results(tmp_path))
        left = family(driver.pid)
        assert len(left) >= 2
        driver.send_signal(blow)
        driver.wait(timeout=PATIENCE)
        assert driver.returncode != 0
        assert psutil.wait_procs(left, timeout=PATIENCE)[1] == []
    n_done = len(results(tmp_path))
    report = run_plan(plan, tmp_path, n_jobs=1, verbose=-1)
    assert 1 <= len(report.skipped) == n_done < 6
    assert prints(plan, tmp_path) == serial


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run, rows to explain from it, and the answers that one process gives."""
    folder = tmp_path_factory.mktemp("run")
    rce = betarce.BetaRCE(MODEL, n_models=(8, 46), random_state=0, verbose=-1).fit(TABLE, LABELS)
    rce.save(folder / "run", n_audit=0)
    pd.concat([TABLE] * 20, ignore_index=True).to_parquet(folder / "rows.parquet", index=False)
    explain_file(rce, folder / "rows.parquet", folder / "answers.parquet", target=1, verbose=-1)
    return folder


@pytest.mark.parametrize("name", ["dask", "ray"])
def test_rows_are_explained_on_a_cluster_whose_worker_is_killed_to_the_same_file(name, clusters, run, tmp_path):
    address, pid = clusters[name]
    out = tmp_path / "answers.parquet"
    where = ["--engine", name, "--address", address, "--out", str(out)]
    command = [*BETARCE, "explain", str(run / "rows.parquet"), "--from", str(run / "run"), "--target", "1", *where]
    with running(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as driver:
        wait_for((tmp_path / "answers.parquet.parts").exists)
        victim = wait_for(lambda: sorted(busy(pid), key=lambda each: -sum(each.cpu_times()[:2])))[0]
        assert driver.poll() is None
        victim.kill()
        said, complaints = driver.communicate(timeout=PATIENCE)
    assert driver.returncode == 0, complaints
    assert "4,000 rows" in said
    assert out.read_bytes() == (run / "answers.parquet").read_bytes()


def test_a_table_of_dask_is_explained_when_it_is_computed(run):
    frames = pytest.importorskip("dask.dataframe")
    rce, rows = betarce.load(run / "run"), TABLE[:40]
    lazy = rce.explain(frames.from_pandas(rows, npartitions=3), target=1)
    assert list(lazy.columns) == list(answer_table(rce.explain(rows, 1)).columns)
    computed = lazy.compute(scheduler="sync").reset_index(drop=True)
    pd.testing.assert_frame_equal(computed, answer_table(rce.explain(rows, 1)), check_dtype=False)
    with pytest.raises(InvalidInput, match="must be left out for tables of Dask and Ray"):
        rce.explain(frames.from_pandas(rows, npartitions=1), 1, overrides={})


# Errors


def test_a_worker_of_another_version_says_so():
    assert attempt(abs, -1, betarce.__version__).value == 1
    outcome = attempt(abs, -1, "0.0.1")
    assert outcome.error == f"The worker has betarce {betarce.__version__}, but 0.0.1 is asked for."


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"name": "rya"}, "`engine` must be one of local, dask, ray; got 'rya'. Did you mean 'ray'?"),
        ({"name": "spark"}, "got 'spark'.$"),
        ({"address": "tcp://127.0.0.1:8786"}, "`address` is for the engines dask and ray"),
        ({"n_jobs": 0}, "`n_jobs` must be a number of workers, or -1"),
        ({"name": "dask", "address": "here"}, "no cluster of dask at 'here': an address ends in host:port"),
        ({"name": "ray", "address": "here"}, "no cluster of ray at 'here': an address ends in host:port"),
    ],
    ids=str,
)
def test_what_cannot_be_used_is_refused(keys, message):
    with pytest.raises(InvalidInput, match=message), engine(**keys):
        pass


@pytest.mark.parametrize("name", ["dask", "ray"])
def test_nobody_at_the_address_is_found_out_soon(name):
    address, start = f"127.0.0.1:{free_port()}", time.monotonic()
    with pytest.raises(InvalidInput, match=f"no cluster of {name} at '{address}'"), engine(name, address=address):
        pass
    assert time.monotonic() - start < 10


def imported_ray(own):
    """Give what stands for a Ray that the user imported before, with another address for this machine."""
    return SimpleNamespace(is_initialized=lambda: False, util=SimpleNamespace(get_node_ip_address=lambda: own))


def test_a_ray_that_would_listen_to_the_network_is_not_started(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", imported_ray("192.0.2.7"))
    with pytest.raises(InvalidInput, match="would listen to the whole network"), engine("ray"):
        pass


def test_a_ray_that_is_bound_to_this_machine_joins_no_other(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", imported_ray("127.0.0.1"))
    monkeypatch.setattr(socket, "create_connection", lambda place, timeout: SimpleNamespace(close=lambda: None))
    with pytest.raises(InvalidInput, match="Connect from a new process"), engine("ray", address="192.0.2.7:6379"):
        pass


def test_a_cluster_without_workers_is_found_out(monkeypatch):
    monkeypatch.setattr(workers, "WORKERS_S", 0.1)
    port = free_port()
    command = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", str(port)]
    with running([*command, "--no-dashboard", "--dashboard-address=127.0.0.1:0"], stderr=subprocess.DEVNULL):
        wait_for(lambda: listens(port))
        with (
            pytest.raises(InvalidInput, match=r"has had no free worker for 0\.1 s"),
            engine("dask", address=f"tcp://127.0.0.1:{port}"),
        ):
            pass


@pytest.mark.parametrize(("name", "module"), [("dask", "distributed"), ("ray", "ray")])
def test_an_engine_that_is_not_installed_says_how_to_install_it(name, module, monkeypatch):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtra, match=rf'pip install "betarce\[{name}\]"'), engine(name):
        pass


def test_nothing_is_started_for_a_plan_that_is_finished(plan, serial, tmp_path):
    run_plan(plan, tmp_path, n_jobs=1, only="bootstrap-fold0", verbose=-1)
    report = run_plan(plan, tmp_path, only="bootstrap-fold0", engine="dask", address="tcp://127.0.0.1:1", verbose=-1)
    assert len(report.skipped) == 1
