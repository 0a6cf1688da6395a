"""The one form in which betarce stores a model: arrays where it knows every part of it, else a `.skops` file."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from typing import Any, Literal

from betarce.errors import CorruptFile, InvalidInput, MissingExtra
from betarce.models.files.skops_file import from_skops, to_skops
from betarce.models.stored import Unstorable, pack, unpack
from betarce.storage.array_file import from_bytes, to_bytes

Form = Literal["arrays", "skops"]


@dataclass(frozen=True, eq=False)
class StoredModel:
    """A model as the content of a file.

    Attributes
    ----------
    content : bytes
        The same in every process for the same model.
    form : {"arrays", "skops"}
        What the content is; also how the name of its file ends.
    """

    content: bytes
    form: Form

    @cached_property
    def digest(self) -> str:
        """The SHA-256 digest of the content: what `sha256sum` says of the file."""
        return sha256(self.content).hexdigest()


def store_model(model: object) -> StoredModel:
    """Turn a model into the content of a file, without pickle.

    Raises
    ------
    InvalidInput
        If it holds what no file can hold; the message says what and where.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> stored = store_model(LogisticRegression())
    >>> stored.form, restore_model(stored.content, stored.form)
    ('arrays', LogisticRegression())
    """
    try:
        return StoredModel(to_bytes(pack([model])), "arrays")
    except Unstorable as reason:
        try:
            return StoredModel(to_skops(model), "skops")
        except (MissingExtra, InvalidInput) as error:
            raise InvalidInput(f"{type(model).__name__} cannot be stored: {_sentence(reason)} {error}") from error


def restore_model(content: bytes, form: str, *, trust: Sequence[str] = ()) -> Any:
    """Rebuild the model that `store_model` wrote.

    Parameters
    ----------
    content : bytes
    form : {"arrays", "skops"}
    trust : sequence of str
        Further types that a `.skops` file may hold.

    Raises
    ------
    CorruptFile
        If the content is not what `store_model` writes, with the reason alone.
    InvalidInput
        If it holds types that nobody trusted.
    """
    if form == "skops":
        return from_skops(content, trust=trust)
    if form != "arrays":
        raise CorruptFile(f"no model is stored as {form!r}")
    models = unpack(from_bytes(content), ask=False)
    if len(models) != 1:
        raise CorruptFile(f"it holds {len(models)} models; expected one")
    return models[0]


def _sentence(reason: Exception) -> str:
    text = str(reason)
    return text[0].upper() + text[1:] if text[:1].isalpha() else f"Its {text.lstrip('.')}"
