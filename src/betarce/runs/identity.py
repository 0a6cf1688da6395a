"""Digests of a fitted explainer: its model, members by role, data and rules."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from weakref import WeakKeyDictionary

from betarce.ensemble import Ensemble
from betarce.features import FeatureSpace
from betarce.features.stored import to_plain
from betarce.members import Role
from betarce.models.files.stored_form import store_model
from betarce.robustify import BetaRCE
from betarce.runs.training_data import table_digest

# Of ensembles, since storing a hundred members takes a second, and those of a loaded run are known.
_KNOWN: "WeakKeyDictionary[Ensemble, tuple[str, ...]]" = WeakKeyDictionary()


@dataclass(frozen=True)
class Identity:
    """SHA-256 digests of all that a certificate depends on.

    Attributes
    ----------
    model : str
        Of the explained model in its stored form: what `sha256sum` says of its file in a run.
    members : mapping of role to tuple of str
        The same of every member, in order.
    data : str
        Of the training table as it lies in a run.
    rules : str
        Of the features: columns, rules, and what tables are outside.
    """

    model: str
    members: Mapping[Role, tuple[str, ...]]
    data: str
    rules: str

    @property
    def roles(self) -> dict[Role, str]:
        """One digest per role: of the digests of its members, one per line."""
        lines = {role: "".join(f"{digest}\n" for digest in digests) for role, digests in self.members.items()}
        return {role: sha256(text.encode()).hexdigest() for role, text in lines.items()}

    def to_plain(self) -> dict[str, str]:
        """Give what a certificate carries: all but the audit members, which no answer depends on."""
        roles = {f"{role}_members": digest for role, digest in self.roles.items() if role != "audit"}
        return {"model": self.model, **roles, "data": self.data, "rules": self.rules}


def identity(rce: BetaRCE) -> Identity:
    """Say what a fitted explainer is made of.

    The same explainer has the same identity in every process, before it is saved and after it is loaded; saving may add
    audit members.

    Parameters
    ----------
    rce : BetaRCE
        Fitted.

    Raises
    ------
    InvalidInput
        If a model holds code of the user's own that no file can hold, so that nobody could check it.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.linear_model import LogisticRegression
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> rce = BetaRCE(LogisticRegression(max_iter=5000), n_models=(10, 46), random_state=0, verbose=-1)
    >>> made_of = identity(rce.fit(X[:, :4], y))
    >>> {role: len(digests) for role, digests in made_of.members.items()}
    {'search': 10, 'certifying': 46}
    >>> made_of == identity(rce)
    True
    """
    subject = rce.subject_
    return Identity(
        model=digests_of(subject.problem.model)[0],
        members={role: digests_of(ensemble) for role, ensemble in rce.members_.ensembles.items()},
        data=table_digest(subject.table, subject.points),
        rules=rules_digest(rce.features_),
    )


def rules_digest(features: FeatureSpace) -> str:
    """Give the SHA-256 digest of a feature space."""
    canonical = json.dumps(to_plain(features), sort_keys=True, separators=(",", ":"), allow_nan=False)
    return sha256(canonical.encode("ascii")).hexdigest()


def digests_of(ensemble: Ensemble) -> tuple[str, ...]:
    """Give the digest of every member of an ensemble in its stored form."""
    if ensemble not in _KNOWN:
        _KNOWN[ensemble] = tuple(store_model(model).digest for model in ensemble.models)
    return _KNOWN[ensemble]


def note_digests(ensemble: Ensemble, digests: Sequence[str]) -> None:
    """Take note of digests that are known, since the members were just read from files or written to some."""
    _KNOWN[ensemble] = tuple(digests)
