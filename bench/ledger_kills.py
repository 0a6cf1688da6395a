"""Writers of one ledger killed with -9, over and over: is anything lost that was acknowledged, is any chain broken?

``python bench/ledger_kills.py`` kills 1,000 writers, four at a time, and prints what was found. A promise counts as
acknowledged once `record` has returned in the writer and its name has left the process.
"""

import argparse
import os
import random
import signal
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from betarce.ledger import Ledger
from betarce.results.result import Result

LINE = 17  # bytes of a promise's name and a line break


@dataclass(frozen=True)
class Storm:
    """What became of a ledger whose writers were killed.

    Attributes
    ----------
    kills : int
    acknowledged : int
        Promises that `record` returned for.
    lost : int
        Of these, those that are not on record.
    recorded : int
        All promises on record; those of a writer that was killed before it could say so are among them.
    problems : tuple of str
        What a check of the whole chain found, after the storm and at times in it.
    seconds : float
    """

    kills: int
    acknowledged: int
    lost: int
    recorded: int
    problems: tuple[str, ...]
    seconds: float


def storm(
    path: Path, answers: Callable[[str], Result], *, kills: int, writers: int = 4, longest: float = 0.2, seed: int = 0
) -> Storm:
    """Start writers, kill one at a random moment, start another, and so on; then count.

    Parameters
    ----------
    path : path
        The ledger.
    answers : callable
        Given a name that nobody else has, gives answers to record.
    kills : int
    writers : int
        How many write at once.
    longest : float
        Seconds between two kills, at most.
    seed : int
    """
    rng, started = random.Random(seed), time.perf_counter()
    running: dict[int, int] = {}
    acknowledged: list[str] = []
    problems: list[str] = []
    for kill in range(kills + writers):
        if kill < kills:
            pid, pipe = _start(path, answers, f"{seed}-{kill}")
            running[pid] = pipe
        if len(running) == writers or kill >= kills:
            time.sleep(rng.random() * longest)
            victim = rng.choice(list(running))
            os.kill(victim, signal.SIGKILL)
            os.waitpid(victim, 0)
            acknowledged += _said(running.pop(victim))
        if kill % 100 == 99:
            problems += _problems(path)
        if kill >= kills and not running:
            break
    problems += _problems(path)
    with Ledger(path) as ledger:
        known = set(ledger.promises().index)
    lost = sum(name not in known for name in acknowledged)
    seconds = time.perf_counter() - started
    return Storm(kills, len(acknowledged), lost, len(known), tuple(problems), seconds)


def _start(path: Path, answers: Callable[[str], Result], name: str) -> tuple[int, int]:
    """Fork a writer; give its process and the pipe on which it says what was recorded."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid:
        os.close(writing)
        return pid, reading
    try:
        with Ledger(path, timeout=600) as ledger:
            for turn in range(1_000_000):
                names = ledger.record(answers(f"{name}-{turn}"))
                os.write(writing, "".join(f"{each}\n" for each in names).encode())
    finally:
        os._exit(1)


def _said(pipe: int) -> list[str]:
    parts = []
    while part := os.read(pipe, 1 << 16):
        parts.append(part)
    os.close(pipe)
    text = b"".join(parts)
    return text[: len(text) // LINE * LINE].decode().split()


def _problems(path: Path) -> list[str]:
    with Ledger(path) as ledger:
        return [str(problem) for problem in ledger.verify().problems]


def few_answers() -> Callable[[str], Result]:
    """Explain a few rows once, and give them again under new names."""
    from dataclasses import replace

    from sklearn.datasets import load_breast_cancer
    from sklearn.linear_model import LogisticRegression

    from betarce import BetaRCE

    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    X = X.iloc[:, :8]
    rce = BetaRCE(LogisticRegression(max_iter=5000), n_models=(10, 46), random_state=0, verbose=-1).fit(X, y)
    found = rce.explain(X[:3])
    return lambda name: Result([replace(item, name=f"{name}-{i}") for i, item in enumerate(found)], found.features)


def main() -> None:
    """Run the storm that the documentation speaks of."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--writers", type=int, default=4)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "promises.db"
        found = storm(path, few_answers(), kills=asked.kills, writers=asked.writers, seed=asked.seed)
    print(
        f"{found.kills:,} writers killed, {asked.writers} at a time, in {found.seconds:.0f} s: {found.acknowledged:,} "
        f"promises acknowledged, {found.lost} of them lost; {found.recorded:,} on record; problems in the chain: "
        f"{len(found.problems)}"
    )


if __name__ == "__main__":
    main()
