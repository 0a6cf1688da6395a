"""The story of `betarce demo`: rejected loan applicants, and whether what they were told still holds."""

from dataclasses import dataclass

import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from betarce.datasets import Dataset, load_loan
from betarce.features import Rule
from betarce.robustify import BetaRCE, Result
from betarce.rules import decrease_only, immutable, increase_only, integer, one_of, transitions

N_TEST = 400
NAMES = ["purpose", "housing", "education"]
RULES: dict[str, Rule] = {
    "age": immutable(),
    "employment_years": immutable(),
    "late_payments": immutable(),
    "education": immutable(),
    "housing": immutable(),
    "income": increase_only() & integer(step=500),
    "savings": increase_only() & integer(step=100),
    "debt": decrease_only() & integer(step=100),
    "open_credits": decrease_only(),
    "loan_amount": integer(step=500),
    "term_months": one_of([12, 24, 36, 48, 60, 72, 84]),
    "purpose": transitions({"business": ["other"], "car": ["other"]}),
}
RULES_IN_WORDS = (
    "Age, education, housing, employment and late payments cannot change; debt and credits only fall, income and "
    "savings only rise; amounts are round; the term is a number of years; a purpose may at most become 'other'."
)


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
    """Train the bank's model and members on bootstrapped rows; pick applicants that the model rejects."""
    loans = load_loan()
    train, test = loans.X.iloc[:-N_TEST], loans.X.iloc[-N_TEST:]
    encode = ColumnTransformer(
        [("names", OneHotEncoder(handle_unknown="ignore", sparse_output=False), NAMES)], remainder="passthrough"
    )
    trees = HistGradientBoostingClassifier(max_iter=40, max_leaf_nodes=8, learning_rate=0.15)
    model = make_pipeline(encode, trees)
    rce = BetaRCE(
        model, delta=delta, confidence=confidence, features=RULES, random_state=seed, n_jobs=n_jobs, verbose=0
    )
    rce.fit(train, loans.y.loc[train.index])
    answers = rce.model_.predict(test)
    accuracy = float((answers == loans.y.loc[test.index]).mean())
    return Demo(loans, rce, accuracy, test[answers == 0].head(n_applicants))
