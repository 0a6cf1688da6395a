"""Further members, drawn after `fit`: to audit what was promised, and to certify more."""

from typing import Any

from betarce.errors import InvalidInput
from betarce.members import Draw, Members
from betarce.posterior import Guarantee
from betarce.robustify.settings import check_count
from betarce.robustify.subject import Subject
from betarce.spaces import Given


def fresh_draw(
    subject: Subject, members: Members, n_models: Any, role: str, *, n_jobs: int | None, verbose: int
) -> Draw:
    """Draw and train models of a role that nothing has seen, from where the members come from."""
    if isinstance(members.space, Given):
        raise InvalidInput(
            "An audit needs fresh models, and Given(models) has none left to draw. Keep some of your models aside "
            "and ask them, for instance with betarce.metrics.empirical_robustness."
        )
    if not isinstance(role, str) or not role.isprintable() or not role:
        raise InvalidInput(f"`role` must be a name such as 'audit'; got {role!r}.")
    if role.split("/")[0] in ("search", "certify"):
        raise InvalidInput(f"`role` must not be {role!r}: those members are taken.")
    sizes = {role: check_count(n_models)}
    return subject.draw(members.space, sizes, seed=members.seed, n_jobs=n_jobs, verbose=verbose)[role]


def with_audit(subject: Subject, members: Members, n_models: Any, *, n_jobs: int | None, verbose: int) -> Members:
    """Give the members some to audit with: those that are there if they are as many, else fresh ones."""
    if members.audit is not None and len(members.audit) == check_count(n_models):
        return members
    drawn = fresh_draw(subject, members, n_models, "audit", n_jobs=n_jobs, verbose=verbose)
    return members.with_audit(subject.ensemble(drawn.models), drawn.origins)


def extended(
    subject: Subject, members: Members, guarantee: Guarantee, n_models: Any, *, n_jobs: int | None, verbose: int
) -> Members:
    """Give the members further ones that certify; those whose votes have been looked at retire."""
    if members.certifying is None or isinstance(members.space, Given):
        why = "the search members certify" if members.certifying is None else "Given(models) has none left to draw"
        raise InvalidInput(f"`extend` needs a space to draw certifying members from, but {why}. Fit anew instead.")
    n, kept = check_count(n_models), members.draw_of("certifying")
    if members.looked:
        kept = kept.take([])
    guarantee.quorum(len(kept) + n)  # before anything is trained
    role = f"certify/{members.n_extensions + 1}"
    new = subject.draw(members.space, {role: n}, seed=members.seed, n_jobs=n_jobs, verbose=verbose)[role]
    drawn = kept + new
    return members.with_certifying(subject.ensemble(drawn.models), drawn.origins)
