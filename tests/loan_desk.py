"""A small run on a mixed table with rules, and a real server of it."""

import contextlib
import re
import signal
import subprocess
import sys
from functools import cache

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import betarce as brce
from betarce.rules import decrease_only, derived, immutable, one_of

RULES = {
    "share": derived("debt / income"),
    "term": one_of([12, 24, 36]),
    "debt": decrease_only(),
    "score": immutable(),
}


def loan_table(n=150, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "income": rng.uniform(10, 90, n).round(1),
            "debt": rng.integers(0, 60, n),
            "home": pd.Categorical(rng.choice(["own", "rent", "family"], n)),
            "term": rng.choice([12, 24, 36], n),
            "score": np.where(rng.random(n) < 0.2, np.nan, rng.normal(size=n).round(2)),
        }
    )
    return frame.assign(share=frame["debt"] / frame["income"])


@cache
def loan_explainer():
    X = loan_table()
    y = np.where(X["income"] - X["debt"] + 10 * (X["home"] == "own") + X["term"] / 6 > 25, "approved", "rejected")
    encode = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore", sparse_output=False), ["home"]),
        remainder=make_pipeline(SimpleImputer(), StandardScaler()),
    )
    model = make_pipeline(encode, LogisticRegression(max_iter=1000))
    given = {"features": RULES, "n_models": (10, 46), "random_state": 0, "verbose": -1, "n_jobs": 1}
    return brce.BetaRCE(model, **given).fit(X, y)


@cache
def rejected_rows():
    """Give three rows that can be answered, and one with a home that nobody knows."""
    X = loan_table(seed=1)
    rows = X[loan_explainer().model_.predict(X) == "rejected"][:4].astype({"home": object})
    rows.loc[rows.index[3], "home"] = "castle"
    return rows.set_axis([f"Person {i}" for i in range(4)])


@contextlib.contextmanager
def served(run, *words):
    """Run `betarce serve` on any free port, and give the address that it prints."""
    command = [sys.executable, "-m", "betarce", "serve", str(run), "--port", "0", *map(str, words)]
    server = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        lines = []
        for line in server.stderr:
            lines.append(line)
            if found := re.search(r"http://\S+", line):
                yield server, found[0]
                break
        else:
            raise AssertionError("".join(lines))
    finally:
        server.send_signal(signal.SIGINT)
        try:
            server.wait(timeout=20)
        finally:
            server.kill()
            server.stderr.close()
