"""Records as a reproduction gives them, written by hand."""

import numpy as np
import pandas as pd

SCORES = ("proximity_l1", "proximity_l2", "plausibility", "robustness")


def record(method="betarce", *, base=None, delta=None, found=True, status=None, reason="", row=0, **values):
    """Give one record; numbers that are not named are 1, and None where nothing was found."""
    posthoc = method.startswith(("robx", "betarce"))
    base = "growing-spheres" if base is None and posthoc else base
    delta = 0.9 if delta is None and method.startswith("betarce") else delta
    line = {
        "data": "diabetes",
        "family": "network",
        "space": "bootstrap",
        "fold": 0,
        "method": method,
        "base": base,
        "parameters": {},
        "delta": delta,
        "confidence": None if delta is None else 0.95,
        "row": row,
        "found": found,
        "status": status or ("found" if found else "not-found"),
        "reason": reason,
        **dict.fromkeys(SCORES, 1.0 if found else None),
        "distance_to_base": 1.0 if found and posthoc else None,
        "ms": None if status == "failed" else 1.0,
        **dict.fromkeys(("n_agree", "n_models", "lower_bound", "upper_bound", "members")),
    }
    return {**line, **values}


def table(*lines):
    return pd.DataFrame(list(lines))


def whole_paper(seed=0, n_rows=6):
    """Give made-up records of the shape of the whole paper plan, with some rows unanswered and one method failed."""
    rng = np.random.default_rng(seed)
    plain = ["dice", "growing-spheres", "face", "rbr", "roar"]
    robx = [f"robx-{tau}-{variance}" for tau in (0.5, 0.6) for variance in (0.01, 0.1)]
    settings = [(name, None, None) for name in plain]
    for base in ("growing-spheres", "dice"):
        settings += [(name, base, None) for name in robx]
        settings += [(name, base, delta) for name in ("betarce-paper", "betarce") for delta in (0.8, 0.9)]
    lines = []
    for data in ("heloc", "wine", "diabetes", "breast_cancer", "car", "rice"):
        for family in ("logistic", "lightgbm", "network"):
            for space in ("seed", "bootstrap", "architecture"):
                for fold in range(3):
                    cell = {"data": data, "family": family, "space": space, "fold": fold}
                    for method, base, delta in settings:
                        for row in range(n_rows):
                            failed = method == "face" and data == "car"
                            found = not failed and rng.random() > 0.1
                            scores = {
                                **{name: float(rng.lognormal()) for name in SCORES[:3]},
                                **{
                                    f"robustness_{each}": float(rng.integers(24, 31)) / 30
                                    for each in ("seed", "bootstrap", "architecture")
                                },
                            }
                            scores["robustness"] = scores[f"robustness_{space}"]
                            if base:
                                scores["distance_to_base"] = float(rng.lognormal()) / (3 if method == "betarce" else 1)
                            lines.append(
                                record(
                                    method,
                                    base=base,
                                    delta=delta,
                                    row=100 * fold + row,
                                    found=found,
                                    status="failed" if failed else None,
                                    reason="ValueError: the graph | has\nno edges" if failed else "",
                                    **cell,
                                    **(scores if found else dict.fromkeys(scores)),
                                )
                            )
    return table(*lines)
