"""A table with every kind of column, and rules for it."""

import numpy as np
import pandas as pd
from hypothesis import strategies as st

import betarce as brce

N = 40
RNG = np.random.default_rng(0)
TABLE = pd.DataFrame(
    {
        "age": RNG.integers(18, 80, N),
        "income": np.round(RNG.uniform(1e3, 9e4, N), 2),
        "credits": RNG.integers(0, 6, N),
        "owner": RNG.random(N) > 0.5,
        "purpose": RNG.choice(["car", "home", "education"], N),
        "grade": pd.Categorical(RNG.choice(["low", "mid", "high"], N), ["low", "mid", "high"], ordered=True),
        "region": pd.Categorical(RNG.choice(["n", "s"], N), ["n", "s", "never seen"]),
        "rate": RNG.random(N).astype(np.float32),
        "visits": pd.array([None if i % 7 == 0 else i % 4 for i in range(N)], dtype="Int64"),
        "note": [None if i % 5 == 0 else "ab"[i % 2] for i in range(N)],
    },
    index=pd.Index([f"row {i}" for i in range(N)]),
)

RULES = {
    "age": [brce.immutable(), brce.increase_only(), brce.at_most(3), brce.between(30, 50), brce.integer(step=5)],
    "income": [brce.increase_only(), brce.at_most(100.5), brce.continuous(step=250), brce.between(2e4, 3e4)],
    "credits": [brce.decrease_only(), brce.one_of([0, 2, 4]), brce.at_most(1) & brce.decrease_only()],
    "owner": [brce.increase_only(), brce.immutable()],
    "purpose": [brce.one_of(["car", "home"]), brce.transitions({"car": ["home"], "home": []}), brce.immutable()],
    "grade": [brce.increase_only(), brce.at_most(1), brce.one_of(["low", "high"])],
    "region": [brce.immutable(), brce.one_of(["n", "s", "never seen"])],
    "rate": [brce.increase_only(), brce.between(0.2, 0.4)],
    "visits": [brce.may_be_missing(), brce.increase_only()],
    "note": [brce.may_be_missing(), brce.one_of(["a"])],
}


@st.composite
def rules(draw):
    """Draw rules for some of the columns."""
    chosen = draw(st.sets(st.sampled_from(sorted(RULES))))
    return {name: draw(st.sampled_from(RULES[name])) for name in sorted(chosen)}
