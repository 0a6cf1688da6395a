"""The story of `betarce demo`: five rejected loan applicants, and whether what they were told still holds."""

from dataclasses import dataclass
from typing import Any

import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier

from betarce.data import Dataset, load_loan
from betarce.features import Rule, decrease_only, immutable, increase_only
from betarce.robustify import BetaRCE, Result

N_TEST = 400
RULES: dict[Any, Rule] = {
    "age": immutable(),
    "employment_years": immutable(),
    "late_payments": immutable(),
    "income": increase_only(),
    "savings": increase_only(),
    "debt": decrease_only(),
    "open_credits": decrease_only(),
}


@dataclass(frozen=True, eq=False)
class Demo:
    """A fitted explainer and the applicants to be told."""

    loans: Dataset
    rce: BetaRCE
    accuracy: float
    rejected: pd.DataFrame

    def explain(self) -> Result:
        """Find what each applicant should change."""
        return self.rce.explain(self.rejected, target=1)


def prepare(*, delta: float, confidence: float, seed: int, n_jobs: int | None, n_applicants: int = 5) -> Demo:
    """Train the bank's model and its bootstrapped siblings; pick applicants that the model rejects."""
    loans = load_loan().numeric()
    train, test = loans.X.iloc[:-N_TEST], loans.X.iloc[-N_TEST:]
    model = HistGradientBoostingClassifier(max_iter=40, max_leaf_nodes=8, learning_rate=0.15)
    rce = BetaRCE(
        model, delta=delta, confidence=confidence, features=RULES, random_state=seed, n_jobs=n_jobs, verbose=0
    )
    rce.fit(train, loans.y.loc[train.index])
    answers = rce.model_.predict(test)
    accuracy = float((answers == loans.y.loc[test.index]).mean())
    return Demo(loans, rce, accuracy, test[answers == 0].head(n_applicants))
