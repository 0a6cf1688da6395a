"""From the instance itself (`base=None`): diabetes with a small network, through the public interface."""

import json
import os
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import betarce as brce
from betarce.data import load
from betarce.errors import DataUnavailable

COLUMNS = ("seed", "found", "coverage", "median L1 to the original")
NETWORK = {"hidden_layers": 1, "neurons": 32, "dropout": 0.3, "learning_rate": 0.01, "patience": 10}
N_ROWS, N_AUDIT = 60, 200


def one_seed(seed: int) -> dict[str, Any]:
    """Explain 60 rows with bootstrapped networks, delta 0.9 and confidence 0.9; audit on 200 fresh ones."""
    data = load("diabetes", download=False)
    X, y = data.X.to_numpy(float), data.y.to_numpy()
    order = np.random.default_rng(seed).permutation(len(X))
    train, test = order[:512], order[512 : 512 + N_ROWS]
    low, high = X[train].min(axis=0), X[train].max(axis=0)
    X = (X - low) / (high - low)
    rce = brce.BetaRCE(
        brce.Network(**NETWORK), base=None, delta=0.9, confidence=0.9, random_state=seed, verbose=-1
    ).fit(X[train], y[train])
    result = rce.explain(X[test])
    audit = rce.audit(result, n_models=N_AUDIT)
    robust = audit["robust"][result.certified]
    return {
        "seed": seed,
        "found": float(result.certified.mean()),
        "coverage": float((robust >= rce.delta).mean()),
        "l1": [item.distance_to_original for item in result if item.status == "certified"],
    }


def instance_rows(results: Path, n_seeds: int = 6) -> list[list[Any]]:
    """Run every seed, or read what was run before; the last row is all of them together. Empty without the data."""
    try:
        load("diabetes", download=False)
    except DataUnavailable:
        return []
    runs = []
    for seed in range(n_seeds):
        kept = results / f"instance-{seed}.json"
        if not kept.exists():
            part = kept.with_suffix(".part")
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", brce.BetarceWarning)
                part.write_text(json.dumps(one_seed(seed)))
            os.replace(part, kept)
        runs.append(json.loads(kept.read_text()))
    rows = [
        [run["seed"], f"{run['found']:.2f}", f"{run['coverage']:.3f}", f"{np.median(run['l1']):.3f}"] for run in runs
    ]
    found, covered = (np.mean([run[key] for run in runs]) for key in ("found", "coverage"))
    everything = np.concatenate([run["l1"] for run in runs])
    return [*rows, ["all", f"{found:.2f}", f"{covered:.3f}", f"{np.median(everything):.3f}"]]
