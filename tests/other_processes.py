"""Code that is run in processes of its own, to show that nothing depends on a process."""

import os
import subprocess
import sys
from pathlib import Path


def printed_elsewhere(code, *places):
    """Give what code prints in two processes with other hash seeds: a set, of one text if both say the same."""
    paths = [*map(str, places), str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")]
    return {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths), "PYTHONHASHSEED": seed},
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for seed in ("1", "2")
    }
