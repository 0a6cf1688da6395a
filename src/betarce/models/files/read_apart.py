"""Let LightGBM or XGBoost read a file in a process of its own first: both crash at files that are damaged."""

import os
import subprocess
import sys

from betarce.errors import CorruptFile

_READ = {
    "lightgbm": (
        "import sys, numpy, lightgbm; model = lightgbm.Booster(model_str=sys.stdin.buffer.read().decode()); "
        "model.predict(numpy.zeros((1, model.num_feature())))"
    ),
    "xgboost": (
        "import sys, numpy, xgboost; model = xgboost.Booster(); model.load_model(bytearray(sys.stdin.buffer.read())); "
        "model.inplace_predict(numpy.zeros((1, model.num_features())), validate_features=False)"
    ),
}
_FAULT = 1  # an error of Python, which the reader itself will say
_SECONDS = 60.0
_SECONDS_PER_BYTE = 1e-6


def check_readable(content: bytes, library: str, *, seconds: float = _SECONDS) -> None:
    """Refuse a model file at which its own library crashes, or does not come back.

    Parameters
    ----------
    content : bytes
    library : {"lightgbm", "xgboost"}
    seconds : float
        To wait for it, and a second more for each megabyte.
    """
    if not sys.executable:  # nothing that could be started
        return
    try:
        done = subprocess.run(
            [sys.executable, "-P", "-c", _READ[library]],
            input=content,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
            timeout=seconds + _SECONDS_PER_BYTE * len(content),
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise CorruptFile("its own library does not come back from reading it: it is damaged") from None
    if done.returncode not in (0, _FAULT):
        raise CorruptFile("its own library crashes at it: it is damaged")
