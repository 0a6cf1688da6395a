"""Worker processes that end with the process that started them."""

import os
import time
from threading import Thread
from typing import Any

from joblib import Parallel
from joblib.parallel import LokyBackend, get_active_backend

from betarce.engines.shared_file import forget_opened

_EVERY_S = 0.5


def parallel(n_jobs: int | None, **options: Any) -> Parallel:
    """Make joblib's `Parallel`, with workers that end when this process does, however it ends.

    Joblib's own workers outlive a parent that was killed by up to five minutes, and hold its stdout all that time. A
    backend that the user chose with `joblib.parallel_config` (threads, a cluster) is respected.

    Parameters
    ----------
    n_jobs : int or None
        Workers, as in joblib.
    **options
        Of `joblib.Parallel`.

    Examples
    --------
    >>> from joblib import delayed
    >>> parallel(n_jobs=1)(delayed(abs)(x) for x in (-2, 1))
    [2, 1]
    """
    active, _ = get_active_backend()
    if type(active) is LokyBackend:
        options["backend"] = _MortalWorkers(nesting_level=active.nesting_level)
    return Parallel(n_jobs=n_jobs, **options)


class _MortalWorkers(LokyBackend):  # type: ignore[misc]
    """Joblib's default backend, with workers that watch their parent from the start."""

    def configure(self, *args: Any, **options: Any) -> Any:
        return super().configure(*args, **{"initializer": _watch, "initargs": (os.getpid(),), **options})


def _watch(parent: int) -> None:
    """End this process soon after its parent; not on Windows, where the parent of an orphan does not change."""
    # Not prctl(PR_SET_PDEATHSIG): it fires when the thread that started the worker ends, and workers outlive threads.
    if os.name == "posix":
        Thread(target=_wait_and_leave, args=(parent,), name="parent-watch", daemon=True).start()


def _wait_and_leave(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(_EVERY_S)
    forget_opened()
    os._exit(1)
