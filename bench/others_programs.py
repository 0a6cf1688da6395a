"""The programs of others: which version, how it is installed in an environment of its own, and how it is run there."""

import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

FOREIGN = Path(__file__).parent / "foreign"
TORCH = "torch==2.13.0"  # a bare `torch` would bring gigabytes of CUDA
INSTALL_SECONDS, RUN_SECONDS = 900, 1800


@dataclass(frozen=True)
class Program:
    """One program: what pip is asked for, in order, and what its answers aim at.

    `robust` programs promise something about other models; their settings are tuned to keep under retraining. The
    settings of the others are tuned to be close.
    """

    name: str
    pip: tuple[str, ...]
    robust: bool = False
    runner: str | None = None
    note: str = ""


PROGRAMS = {
    "dice": Program("DiCE", ("dice-ml==0.12",), runner="with_dice.py"),
    "ellice": Program("ElliCE", (f"ellice==0.1.4 {TORCH}",), robust=True, runner="with_ellice.py"),
    "rocelib": Program(
        "RobustX",
        (f"{TORCH} gurobipy==13.0.3 scikit-learn pandas", "--no-deps rocelib==0.2.3"),
        robust=True,
        runner="with_rocelib.py",
        note="without its pins (torch 2.4.1, TensorFlow 2.16.2, Keras 3.0.5), which MCER does not need",
    ),
    "alibi": Program("alibi", ("alibi==0.9.6 tensorflow-cpu==2.14.1 click",), runner="with_alibi.py"),
    "carla": Program("CARLA", ("carla-recourse==0.0.5",)),
}


def installed(key: str, home: Path) -> dict[str, str]:
    """Make the environment of a program, once; say whether that worked, and which command failed how."""
    outcome = home / key / "outcome.json"
    if not outcome.exists():
        python = home / key / "venv" / "bin" / "python"
        if not python.exists():
            subprocess.run([sys.executable, "-m", "venv", str(python.parents[1])], check=True)
        said = {"state": "installed"}
        for wanted in PROGRAMS[key].pip:
            print(f"{key}: pip install {wanted} ...", flush=True)
            failed = pip_failure([str(python), "-m", "pip", "install", "--quiet", *wanted.split()])
            if failed:
                said = {"state": "failed", "command": f"pip install {wanted}", "error": failed}
                break
        outcome.write_text(json.dumps(said, indent=1))
    return dict(json.loads(outcome.read_text()))


def pip_failure(command: list[str]) -> str:
    """Run pip; give the last error that it printed, or nothing."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=INSTALL_SECONDS)
    except subprocess.TimeoutExpired:
        return f"not done after {INSTALL_SECONDS} s"
    errors = [line.strip() for line in done.stderr.splitlines() if "Error:" in line or line.startswith("ERROR")]
    return "" if done.returncode == 0 else (errors or done.stderr.splitlines() or ["?"])[-1]


def ran(key: str, home: Path, problem: Path, *, only_read: bool = False) -> list[Path]:
    """Run a program on a problem, where it can be installed; give the files of its answers, whatever it got done."""
    out = home / key / problem.stem
    if only_read:
        return sorted(out.glob("*[0-9].npz"))
    if installed(key, home)["state"] != "installed" or PROGRAMS[key].runner is None:
        return []
    python = home / key / "venv" / "bin" / "python"
    ones = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "TF_NUM_INTRAOP_THREADS"), "1")
    # Neither our package nor its dependencies are to be seen from there.
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"} | ones | {"TF_CPP_MIN_LOG_LEVEL": "3"}
    started = time.monotonic()
    script = [str(python), str(FOREIGN / str(PROGRAMS[key].runner)), str(problem), str(out)]
    out.mkdir(parents=True, exist_ok=True)
    with (out / "log.txt").open("a") as log:
        try:
            code = subprocess.run(script, stdout=log, stderr=log, env=environment, timeout=RUN_SECONDS).returncode
        except subprocess.TimeoutExpired:
            code = -1
    files = sorted(out.glob("*[0-9].npz"))
    print(f"{key}, {problem.stem}: {len(files)} settings, exit {code}, {time.monotonic() - started:.0f} s", flush=True)
    return files
