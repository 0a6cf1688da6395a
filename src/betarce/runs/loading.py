"""Load a fitted explainer from the folder of a run, and check every file."""

import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from betarce.arrays import AnyArray
from betarce.ensemble import Ensemble
from betarce.ensemble.ensemble import KnownKernel
from betarce.ensemble.trees.stored_kernel import kernel_of_arrays
from betarce.errors import BetarceError, CorruptFile, InvalidInput, OtherVersions, UnusableModel
from betarce.features import FeatureSpace
from betarce.features.stored import from_plain
from betarce.members import Members, Origin, Role
from betarce.models.files.stored_form import restore_model
from betarce.robustify import BetaRCE
from betarce.robustify.subject import Subject
from betarce.runs.identity import note_digests
from betarce.runs.manifest import DAMAGED, MANIFEST, Manifest
from betarce.runs.methods import LostCode, lost_code, read_method
from betarce.runs.saving import answers_of, levels_of
from betarce.runs.training_data import table_of_content
from betarce.runs.versions import differences
from betarce.spaces import Space, check_space
from betarce.storage.array_file import from_bytes
from betarce.storage.documents import parse_json
from betarce.storage.values import unplain

_PLAIN = ("certify_on", "delta", "confidence", "max_changes", "n_jobs", "verbose", "random_state")
_METHODS = ("space", "base", "search", "n_models", "prior")


def load(folder: str | os.PathLike[str], *, trust: Sequence[str] = (), space: Any = None) -> BetaRCE:
    """Load a run: a fitted explainer that was saved with `BetaRCE.save`, or made with ``betarce fit``.

    It explains to the same bits as the one that was saved. Nothing is unpickled, and everything is checked: every file
    against its digest, and every member's answers against those it gave when the run was written.

    Parameters
    ----------
    folder : str or path
        The run.
    trust : sequence of str
        Types of models that betarce does not know and that may be made, such as "mypackage.models.Score"; which the run
        needs is said by the error without it.
    space : space, optional
        What further members are drawn from, for a run whose space holds code of your own.

    Returns
    -------
    BetaRCE
        Fitted. Its `model` and `features` are those that were saved: what was inferred is not inferred again.

    Raises
    ------
    InvalidInput
        If there is no run, or it holds types that nobody trusted.
    CorruptFile
        If a file is damaged or of a newer version; the message names it.

    Warns
    -----
    OtherVersions
        If the run was made with other versions of its libraries.

    Examples
    --------
    >>> import tempfile
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.linear_model import LogisticRegression
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> rce = BetaRCE(LogisticRegression(max_iter=5000), n_models=(10, 46), random_state=0, verbose=-1)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     rce.fit(X[:, :4], y).save(f"{folder}/run", n_audit=5)
    ...     loaded = load(f"{folder}/run")
    >>> loaded.members_
    Members(10 search, 46 certifying, 5 audit, space=Bootstrap(stratified=False), seed=0)
    >>> loaded.explain(X[:1, :4])[0].certificate == rce.explain(X[:1, :4])[0].certificate
    True
    """
    if isinstance(trust, str) or not all(isinstance(name, str) for name in _listed(trust)):
        raise InvalidInput(f"`trust` must be a list of names of types, such as ['mypackage.MyModel']; got {trust!r}.")
    manifest = Manifest.read(folder)
    _say_versions(manifest, folder)
    contents = {name: manifest.content(folder, name) for name in manifest.files}
    reader = _Reader(os.fspath(folder), manifest, contents, tuple(trust))
    return reader.explainer(space)


def _listed(trust: Any) -> list[Any]:
    return list(trust) if isinstance(trust, (list, tuple, set, frozenset)) else [None]


def _say_versions(manifest: Manifest, folder: str | os.PathLike[str]) -> None:
    others = differences(manifest.versions)
    if others:
        warnings.warn(
            f"The run {os.fspath(folder)!r} was made with {', '.join(others)}. Its members are checked to answer as "
            "they did then; further members would be trained with the versions here.",
            OtherVersions,
            stacklevel=3,
        )


class _Reader:
    """Rebuilds the parts of one run; an error in one of them names its file."""

    def __init__(self, folder: str, manifest: Manifest, contents: Mapping[str, bytes], trust: Sequence[str]) -> None:
        self._folder, self._manifest, self._contents, self._trust = folder, manifest, contents, trust

    def explainer(self, space: Any) -> BetaRCE:
        state = self._manifest.state
        with self._manifest_faults():
            features = self._features(state["features"])
            table, _ = self._named(state["data"], lambda content: table_of_content(content, features))
            subject = Subject(self._model(state["model"]), table, features)
            answers = self._named(state["answers"], from_bytes)
            self._check_answers("model", subject.problem.model, answers, subject)
            members = self._members(subject, answers, space)
            given = subject.model if state["given_model"] is None else self._model(state["given_model"])
            rce = BetaRCE(given, features=features, **self._parameters(members))
            note_digests(subject.problem.model, [self._manifest.files[state["model"]].sha256])
            return rce.fit_with(subject, members, seed=_whole(state["seed"]))

    def _features(self, name: str) -> FeatureSpace:
        def read(content: bytes) -> FeatureSpace:
            try:
                return from_plain(parse_json(content.decode("ascii")))
            except UnicodeDecodeError as error:
                raise CorruptFile(f"it is no text: {error}") from error

        features: FeatureSpace = self._named(name, read)
        return features

    def _model(self, name: str) -> Any:
        form = name.rpartition(".")[2]
        return self._named(name, lambda content: restore_model(content, form, trust=self._trust))

    def _members(self, subject: Subject, answers: Mapping[str, AnyArray], space: Any) -> Members:
        state, stored = self._manifest.state, self._manifest.members
        ensembles: dict[Any, Ensemble] = {}
        for role, found in stored.items():
            models = [self._model(each.file) for each in found]
            ensembles[role] = subject.ensemble(models, known=self._kernel(role, subject, answers[role], len(found)))
            note_digests(ensembles[role], [self._manifest.files[each.file].sha256 for each in found])
            self._check_answers(role, ensembles[role], answers, subject)
        origins: dict[Role, tuple[Origin, ...]] = {
            role: tuple(each.origin for each in found) for role, found in stored.items()
        }
        return Members(
            search=ensembles["search"],
            certifying=ensembles.get("certifying"),
            audit=ensembles.get("audit"),
            space=_space(state["space"], space, [model for each in ensembles.values() for model in each.models]),
            seed=_whole(state["members_seed"]),
            origins=origins,
            varied=bool(state["varied"]),
            looked=bool(state["looked"]),
            n_extensions=_whole(state["n_extensions"]),
        )

    def _kernel(self, role: str, subject: Subject, answers: AnyArray, n_members: int) -> KnownKernel | None:
        """Give the kernel of a role if the run has one; it is used if it answers as the members did."""
        name = self._manifest.state.get("kernels", {}).get(role)
        if name is None or answers.shape != (len(subject.probe), n_members):
            return None
        how: dict[str, Any] = {"levels": levels_of(subject.features), "n_members": n_members}
        kernel = self._named(name, lambda content: kernel_of_arrays(from_bytes(content), **how))
        return KnownKernel(kernel, answers)

    def _parameters(self, members: Members) -> dict[str, Any]:
        stated = self._manifest.parameters
        models = [model for ensemble in members.ensembles.values() for model in ensemble.models]
        methods = {name: read_method(stated[name], models) for name in _METHODS}
        if isinstance(methods["space"], LostCode) or not isinstance(methods["space"], str):
            methods["space"] = members.space
        return {**methods, **{name: unplain(stated[name]) for name in _PLAIN}}

    def _check_answers(self, role: str, ensemble: Ensemble, answers: Mapping[str, AnyArray], subject: Subject) -> None:
        now, then = answers_of(ensemble, subject.probe), answers[role]
        if now.shape != then.shape:
            raise CorruptFile(f"The run {self._folder!r} has {then.shape} answers for {now.shape}.")
        wrong = (now != then).any(axis=0)
        if wrong.any():
            others = differences(self._manifest.versions)
            why = f"It was made with {', '.join(others)}" if others else "Its libraries may have changed"
            raise UnusableModel(
                f"{int(wrong.sum())} of {len(wrong)} {role} models of the run {self._folder!r} answer otherwise than "
                f"when it was written. {why}: load it with the versions of then, or make it again."
            )

    @contextmanager
    def _manifest_faults(self) -> Iterator[None]:
        """Turn what goes wrong with a manifest of the wrong shape into a CorruptFile; our own errors stay."""
        try:
            yield
        except BetarceError:
            raise
        except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
            path = os.path.join(self._folder, MANIFEST)
            raise CorruptFile(f"{path!r} cannot be used: {type(error).__name__}: {error}. {DAMAGED}") from error

    def _named(self, name: Any, read: Any) -> Any:
        """Read the content of a file; name the file if that fails."""
        path = os.path.join(self._folder, str(name))
        try:
            return read(self._contents[name])
        except CorruptFile as error:
            raise CorruptFile(f"{path!r} cannot be used: {error}. {DAMAGED}") from error
        except InvalidInput as error:
            raise InvalidInput(f"{path!r}: {error}") from error


def _space(stated: Any, given: Any, models: Sequence[object]) -> Space:
    stored, lost = read_method(stated, models), lost_code(stated)
    if given is None:
        # As a whole: a space of which a part is missing would find that out member by member.
        return check_space(stored if lost is None else LostCode("space", lost, repr(stored)))
    space = check_space(given)
    if lost is None:
        raise InvalidInput(f"`space` must be None for this run: it holds its space, {stored!r}.")
    if not isinstance(stored, (LostCode, type(space))):
        raise InvalidInput(
            f"`space` must be of the kind that the run was made with, {type(stored).__name__}; got {space!r}."
        )
    return space


def _whole(value: Any) -> int:
    if type(value) is not int:
        raise CorruptFile(f"{value!r} is no whole number")
    return value
