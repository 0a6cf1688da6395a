"""The manifest of a run: what is in its folder, from what it was made, and the digest of every file."""

import os
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

import betarce
from betarce.errors import CorruptFile, InvalidInput
from betarce.features.stored import check_format, faults_are_corrupt
from betarce.members import Origin, Role
from betarce.storage.files import check_path, read_bytes, read_text, seal, unseal, write_whole

FORMAT = 1
MANIFEST = "manifest.json"
DAMAGED = "The run is damaged: take it from a copy, or make it again."
_KIND = "betarce_run"
_NAME = re.compile(r"(?:members/)?[A-Za-z0-9][\w.-]*", re.ASCII)
_ROLES = ("search", "certifying", "audit")


@dataclass(frozen=True)
class StoredFile:
    """A file of a run: its size and the SHA-256 digest of its content."""

    size: int
    sha256: str

    @classmethod
    def of(cls, content: bytes) -> "StoredFile":
        """Take the size and the digest of a content."""
        return cls(len(content), sha256(content).hexdigest())


@dataclass(frozen=True)
class StoredMember:
    """A member of a run: its file, and where it comes from."""

    file: str
    origin: Origin


@dataclass(frozen=True)
class TableSource:
    """How the training table was read from a CSV file, so that rows to explain are read the same way.

    Attributes
    ----------
    label : str or None
        The column of classes.
    missing : tuple of str
        What else stands for a missing value.
    dropped : tuple of str
        Columns that were left out.
    """

    label: str | None = None
    missing: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Manifest:
    """What a run holds.

    Attributes
    ----------
    parameters : mapping
        Those of the explainer, as plain data.
    state : mapping
        What else defines it: seed, space, whether members vary, whether votes were looked at.
    versions : mapping of str to str
        Of the libraries that it was made with.
    identity : mapping of str to str
        Digests of the model, the members by role, the data and the rules.
    members : mapping of role to tuple of StoredMember
        In their order.
    files : mapping of str to StoredFile
        Every file of the folder but the manifest itself, by its path in it.
    left_out : tuple of str
        What the run does not hold, in sentences.
    source : TableSource
    """

    parameters: Mapping[str, Any]
    state: Mapping[str, Any]
    versions: Mapping[str, str]
    identity: Mapping[str, str]
    members: Mapping[Role, tuple[StoredMember, ...]]
    files: Mapping[str, StoredFile]
    left_out: tuple[str, ...] = ()
    source: TableSource = field(default_factory=TableSource)

    def write(self, folder: Path) -> None:
        """Write the manifest, in one go: from now on the folder is this run."""
        members = {
            role: [[each.file, each.origin.name, each.origin.seed, each.origin.n_redrawn] for each in found]
            for role, found in self.members.items()
        }
        document = {
            _KIND: FORMAT,
            "written_by": f"betarce {betarce.__version__}",
            "versions": dict(self.versions),
            "parameters": dict(self.parameters),
            "state": dict(self.state),
            "identity": dict(self.identity),
            "left_out": list(self.left_out),
            "source": {name: _listed(value) for name, value in asdict(self.source).items()},
            "members": members,
            "files": {name: asdict(file) for name, file in sorted(self.files.items())},
        }
        write_whole(folder / MANIFEST, seal(document))

    @classmethod
    def read(cls, folder: str | os.PathLike[str]) -> "Manifest":
        """Read the manifest of a run.

        Raises
        ------
        InvalidInput
            If there is no run.
        CorruptFile
            If the manifest is damaged, or of a newer version.
        """
        path = Path(check_path(folder, what="folder")) / MANIFEST
        try:
            _refuse_pipe(path)
            document = unseal(read_text(path))
            return _manifest(document)
        except (FileNotFoundError, IsADirectoryError):
            raise InvalidInput(_no_run(path.parent)) from None
        except CorruptFile as error:
            raise CorruptFile(f"{str(path)!r} is not the manifest of a usable run: {error}.") from error

    def content(self, folder: str | os.PathLike[str], name: str) -> bytes:
        """Read a file of the run, and check it against the manifest.

        Raises
        ------
        CorruptFile
            If it is gone or was changed; the message names it.
        """
        path, stated = Path(folder) / name, self.files[name]
        try:
            _refuse_pipe(path)
            found = read_bytes(path, most=stated.size)
        except CorruptFile:
            what = "longer than when the run was written" if path.is_file() else "a device or a pipe"
            raise CorruptFile(f"{str(path)!r} is {what}. {DAMAGED}") from None
        except OSError as error:
            raise CorruptFile(f"{str(path)!r} cannot be read: {error.strerror or error}. {DAMAGED}") from error
        if StoredFile.of(found) != stated:
            raise CorruptFile(f"{str(path)!r} is not what it was when the run was written. {DAMAGED}")
        return found


def _manifest(document: dict[str, Any]) -> Manifest:
    if _KIND not in document:
        raise CorruptFile("it is a file of betarce, but describes no run")
    check_format(document[_KIND], FORMAT, "manifest")
    with faults_are_corrupt("manifest"):
        files = {_checked_name(name): StoredFile(**part) for name, part in document["files"].items()}
        if not all(type(file.size) is int and type(file.sha256) is str for file in files.values()):
            raise CorruptFile("its list of files holds what is no size or digest")
        members = {role: tuple(_member(part, files) for part in found) for role, found in document["members"].items()}
        if not set(members) <= set(_ROLES) or "search" not in members:
            raise CorruptFile(f"it has members for {', '.join(members)}")
        source = TableSource(**{name: _fixed(value) for name, value in document["source"].items()})
        return Manifest(
            parameters=dict(document["parameters"]),
            state=dict(document["state"]),
            versions={str(name): str(each) for name, each in document["versions"].items()},
            identity={str(name): str(each) for name, each in document["identity"].items()},
            members=members,
            files=files,
            left_out=tuple(map(str, document["left_out"])),
            source=source,
        )


def _checked_name(name: str) -> str:
    if not _NAME.fullmatch(name) or ".." in name or name == MANIFEST:
        raise CorruptFile(f"it names the file {name!r}, which no run has")
    return name


def _member(data: Any, files: Mapping[str, StoredFile]) -> StoredMember:
    file, name, seed, n_redrawn = data
    if file not in files or type(name) is not str or type(n_redrawn) is not int or type(seed) not in (int, type(None)):
        raise CorruptFile(f"{data!r} describes no member")
    return StoredMember(file, Origin(name, seed, n_redrawn))


def _listed(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _fixed(value: Any) -> Any:
    texts = value if isinstance(value, list) else [value]
    if not all(each is None or type(each) is str for each in texts):
        raise CorruptFile(f"{value!r} says nothing about a table")
    return tuple(value) if isinstance(value, list) else value


def _refuse_pipe(path: Path) -> None:
    """Refuse what would be waited for without end; folders come from others."""
    if path.exists() and not path.is_file() and not path.is_dir():
        raise CorruptFile("it is a device or a pipe")


def _no_run(folder: Path) -> str:
    there = f"There is no run in {str(folder)!r}"
    if not folder.is_dir():
        return f"{there}: there is no such folder."
    if (folder / "fit.json").exists():
        return f"{there} yet: its fit was stopped. Give the command of that fit again, and it goes on."
    return f"{there}: it has no file {MANIFEST!r}. Make one with rce.save(folder), or with betarce fit."
