"""A plan of one small cell, for tests of cells and runs."""

import json

from betarce.paper.plan_file import plan_of

DOCUMENT = {
    "data": ["breast_cancer"],
    "families": ["logistic"],
    "spaces": ["bootstrap"],
    "bases": ["growing-spheres"],
    "deltas": [0.6, 0.7],
    "confidences": [0.8],
    "n_models": [9, 13],
    "rows": 4,
    "run_folds": [0],
    "audit_members": 5,
    "tuning_rows": 3,
    "tuning_members": 4,
    "methods": {
        "growing-spheres": {},
        "robx": {"parameters": {"n_samples": 50}, "grid": {"tau": [0.5, 0.6]}},
        "betarce": {},
        "betarce-paper": {},
    },
}


def plan(**keys):
    return plan_of({**DOCUMENT, **keys}, what="test.toml")


def of(records, method, **keys):
    return [r for r in records if r["method"] == method and all(r[k] == v for k, v in keys.items())]


def as_toml(value):
    """Write a value as TOML."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(key)} = {as_toml(each)}" for key, each in value.items()) + "}"
    return json.dumps(value)
