"""What the programs of others are given, and how their answers are written down; needs numpy alone.

Each `with_NAME.py` beside this file runs in that program's own environment: ``python with_NAME.py PROBLEM OUT``.
"""

import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np


@dataclass(frozen=True, eq=False)
class Task:
    """The common problem: a table scaled to 0..1, a network d-16-1 with ReLU, and rows to bring to class 1."""

    X: np.ndarray
    y: np.ndarray
    rows: np.ndarray
    tuning: np.ndarray
    inner_weights: np.ndarray
    inner_bias: np.ndarray
    outer_weights: np.ndarray
    outer_bias: np.ndarray

    @property
    def names(self) -> list[str]:
        return [f"x{i}" for i in range(self.X.shape[1])]

    def logits(self, points: np.ndarray) -> np.ndarray:
        """The log-odds of class 1; above zero the row is accepted."""
        hidden = np.maximum(np.asarray(points, float) @ self.inner_weights + self.inner_bias, 0)
        return (hidden @ self.outer_weights + self.outer_bias)[:, 0]

    def loss(self) -> float:
        """The mean log loss on the training rows."""
        signs = np.where(self.y == 1, 1.0, -1.0)
        return float(np.mean(np.logaddexp(0, -signs * self.logits(self.X))))

    def torch_model(self) -> Any:
        """The same network for torch, which gives log-odds."""
        import torch

        d, n = self.inner_weights.shape
        model = torch.nn.Sequential(torch.nn.Linear(d, n), torch.nn.ReLU(), torch.nn.Linear(n, 1))
        pairs = ((0, self.inner_weights, self.inner_bias), (2, self.outer_weights, self.outer_bias))
        with torch.no_grad():
            for i, weights, bias in pairs:
                model[i].weight.copy_(torch.as_tensor(weights.T))
                model[i].bias.copy_(torch.as_tensor(bias))
        return model.eval()


Explain = Callable[[np.ndarray], np.ndarray]  # rows to points; a row of NaN where there is no answer
Settings = dict[str, dict[str, Any]]  # by a name for people; the first is the documented one


def answer(methods: dict[str, tuple[Callable[..., Explain], Settings]]) -> None:
    """Run every method with every setting, and write what it answers; what is there already is not run again."""
    problem, out = map(Path, sys.argv[1:3])
    out.mkdir(parents=True, exist_ok=True)
    task = Task(**np.load(problem))
    for method, (make, settings) in methods.items():
        for i, (name, setting) in enumerate(settings.items()):
            file = out / f"{method}-{i}.npz"
            if not file.exists():
                # One setting alone needs no tuning.
                tuning = task.tuning if len(settings) > 1 else task.tuning[:0]
                write(file, measured(make, task, tuning, setting), method=method, setting=name)


def measured(make: Callable[..., Explain], task: Task, tuning: np.ndarray, setting: dict[str, Any]) -> dict[str, Any]:
    """Prepare a method, then explain the rows; seconds are those of the processor."""
    start = time.process_time()
    explain = make(task, **setting)
    seconds = time.process_time() - start
    explain(task.tuning[:1])  # what is compiled or loaded on the first call
    prepared = time.process_time()
    points = explain(task.rows)
    done = time.process_time()
    return {
        "points": points,
        "tuning": explain(tuning) if len(tuning) else tuning,
        "prepare_s": seconds,
        "ms": 1000 * (done - prepared) / len(task.rows),
    }


def write(file: Path, content: dict[str, Any], **words: str) -> None:
    part = file.with_suffix(".part.npz")
    np.savez(part, **content, words=json.dumps(words))
    part.replace(file)
    print(f"{words['method']}, {words['setting']}: {content['ms']:.1f} ms per row", flush=True)


def one_by_one(explain: Callable[[np.ndarray], np.ndarray | None]) -> Explain:
    """Ask for one row after the other, where a program takes one at a time."""

    def explain_all(rows: np.ndarray) -> np.ndarray:
        points = [explain(row) for row in rows]
        return np.array([np.full(rows.shape[1], np.nan) if point is None else point for point in points], float)

    return explain_all
