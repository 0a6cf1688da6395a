"""What `fit` does: check, train the model if need be, then draw and train the members."""

from typing import Any, Protocol, runtime_checkable

from betarce.checks import check_n_jobs, check_verbose
from betarce.errors import InvalidInput
from betarce.explainers import check_explainer
from betarce.features import FeatureSpace, check_table
from betarce.features.alignment import check_labels_in_order
from betarce.member_training import MemberStore
from betarce.members import Members
from betarce.models.recipe import Outcome, Table, check_labels
from betarce.robustify.model import check_model, explained_model
from betarce.robustify.settings import check_count, check_features, check_guarantee
from betarce.robustify.sizes import announcement, role_sizes
from betarce.robustify.subject import Subject
from betarce.search import check_search
from betarce.seeding import check_seed, derive
from betarce.spaces import Given, Space, check_space


@runtime_checkable
class FitStore(MemberStore, Protocol):
    """Where a fit stores what it has trained, so that one that was stopped can go on."""

    def begin(self, model: object, table: Table, features: FeatureSpace, *, space: Space, seed: int) -> None:
        """Take note of all that decides what the members will be; refuse if others are stored already.

        Parameters
        ----------
        model : classifier
            As it was passed in, fitted or not.
        table : Table
            The training rows.
        features : FeatureSpace
            How they are read.
        space : space
        seed : int
        """


def train(rce: Any, X: Any, y: Any, *, n_audit: int = 0, store: FitStore | None = None) -> tuple[Subject, Members, int]:
    """Train what an explainer with these parameters needs; give the subject, the members and the seed.

    Parameters
    ----------
    rce : BetaRCE
        For its parameters.
    X, y : table and labels
        As `BetaRCE.fit` takes them.
    n_audit : int
        How many audit members to draw besides.
    store : FitStore, optional
        Where members are stored as they are trained; those that it has are not trained again.
    """
    guarantee = check_guarantee(rce.delta, rce.confidence, rce.prior, rce.certify_on)
    check_search(rce.search)
    n_audit = check_count(n_audit, name="n_audit", least=0)
    if store is not None and not isinstance(store, FitStore):
        raise InvalidInput(f"`store` must be a FitStore such as betarce.runs.FitFolder('run'), or None; got {store!r}.")
    space = check_space(rce.space)
    check_explainer(rce.base)
    check_n_jobs(rce.n_jobs)
    check_verbose(rce.verbose)
    raw = check_table(X)
    check_labels_in_order(y, raw)
    features = check_features(rce.features, raw, rce.max_changes)
    table, seed = Table(raw, check_labels(y, len(raw))).copy(), check_seed(rce.random_state)
    check_model(rce.model)
    if store is not None:
        store.begin(rce.model, table, features, space=space, seed=seed)
    subject = Subject(_model(rce.model, table, seed, store), table, features)
    kind = subject.problem.model.kind  # a model that cannot answer says so before an hour of training
    sizes = role_sizes(rce.n_models, rce.certify_on, guarantee, space, kind)
    if n_audit and not isinstance(space, Given):
        sizes["audit"] = n_audit
    draws = subject.draw(
        space,
        sizes,
        seed=seed,
        n_jobs=rce.n_jobs,
        verbose=rce.verbose,
        announce=lambda seconds: announcement(rce.n_models, sizes, guarantee, kind, seconds),
        store=store,
    )
    audit = draws.pop("audit", None)
    members = subject.members(draws, space=space, seed=seed)
    if audit is not None:
        members = members.with_audit(subject.ensemble(audit.models), audit.origins)
    return subject, members, seed


def _model(model: Any, table: Table, seed: int, store: FitStore | None) -> Any:
    """Give the model explained: as it is, trained now, or trained before the fit was stopped."""
    stored = None if store is None else store.read("model")
    if stored is not None:
        return stored.model
    trained = explained_model(model, table, derive(seed, "model"))
    if store is not None:
        store.write("model", Outcome(trained))
    return trained
