"""Records made up for tests of figures: plausible, the same every time, and of any extent."""

from itertools import product

import numpy as np
import pandas as pd

from betarce.posterior import interval

SIX = ("heloc", "wine", "diabetes", "breast_cancer", "car", "rice")
SPACES = ("seed", "bootstrap", "architecture")
FORMS = {"betarce-paper": "search", "betarce": "fresh"}


def record(**changes):
    """Give one record: an answer of our form, unless told otherwise."""
    plain = {
        "data": "car",
        "family": "network",
        "space": "seed",
        "fold": 0,
        "method": "betarce",
        "base": "growing-spheres",
        "parameters": {},
        "delta": 0.8,
        "confidence": 0.95,
        "row": 0,
        "found": True,
        "status": "certified",
        "reason": "",
        "robustness": 0.9,
        "proximity_l1": 1.0,
        "proximity_l2": 0.5,
        "plausibility": 0.4,
        "distance_to_base": 0.2,
        "changed": 3,
        "evaluations": 100,
        "ms": 2.0,
        "n_agree": 20,
        "n_models": 20,
        "lower_bound": 0.83,
        "upper_bound": 0.99,
        "members": "fresh",
    }
    return plain | changes


def bare(**changes):
    """Give one record of a base method that runs alone."""
    nothing = dict.fromkeys(("delta", "confidence", "n_agree", "n_models", "lower_bound", "upper_bound", "members"))
    return record(method="growing-spheres", base=None, status="found", distance_to_base=None, **nothing) | changes


def unanswered(line):
    """Turn a record into one of a row without an answer."""
    scores = ("robustness", "proximity_l1", "proximity_l2", "plausibility", "distance_to_base", "changed")
    vote = ("n_agree", "n_models", "lower_bound", "upper_bound", "members")
    return line | {"found": False, "status": "not-found"} | dict.fromkeys((*scores, *vote))


def made_up_records(
    *,
    data=SIX,
    families=("network",),
    spaces=SPACES,
    bases=("growing-spheres", "dice"),
    deltas=(0.5, 0.6, 0.7, 0.8, 0.9),
    confidences=(0.95,),
    forms=FORMS,
    n_models=38,
    n_rows=6,
    missing_share=0.0,
):
    """Give records of base methods alone and of forms of BetaRCE: names, and whose votes their certificates count."""
    rng = np.random.default_rng(0)
    lines = []
    for one, family, space in product(data, families, spaces):
        cell = {"data": one, "family": family, "space": space}
        spread = 1 + SIX.index(one)
        for method, row in product(bases, range(n_rows)):
            lines.append(bare(**cell, method=method, row=row, robustness=rng.uniform(0.3, 0.8)))
        settings = product(forms.items(), bases, deltas, confidences, range(n_rows))
        for (method, members), base, delta, confidence, row in settings:
            distance = float(rng.gamma(2, 0.1 * spread * delta * (1 if members == "fresh" else 2)))
            least = int(np.ceil(n_models * (delta + (1 - delta) * 0.7)))
            n_agree = int(rng.integers(least, n_models + 1))
            lower, upper = interval(n_agree, n_models, confidence=2 * confidence - 1)
            line = record(
                **cell,
                method=method,
                base=base,
                delta=delta,
                confidence=confidence,
                row=row,
                robustness=min(1.0, rng.normal(n_agree / n_models, 0.03)),
                distance_to_base=distance,
                proximity_l1=1 + 0.6 * distance + rng.normal(0, 0.05),
                proximity_l2=0.5 + 0.3 * distance + rng.normal(0, 0.05),
                plausibility=0.4 + 0.1 * distance + rng.normal(0, 0.05),
                ms=float(rng.gamma(4, 2 * spread * (1 if members == "search" else 2))),
                n_agree=n_agree,
                n_models=n_models,
                members=members,
                lower_bound=float(lower),
                upper_bound=float(upper),
            )
            lines.append(unanswered(line) if rng.random() < missing_share else line)
    return pd.DataFrame(lines)
