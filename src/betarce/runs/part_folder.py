"""Answers in parts, in a folder beside the file that they become: what is there survives a kill."""

import json
import shutil
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import pandas as pd

from betarce.errors import CorruptFile, InvalidInput
from betarce.runs.answer_files import encoded, joined
from betarce.storage.files import make_folder, read_text, seal, unseal, write_whole

_JOB = "job.json"


@dataclass(frozen=True)
class PartFolder:
    """A folder with one file per part, each with a note that says that it is whole.

    Attributes
    ----------
    folder : Path
    kind : str
        The format of the parts: "csv", "parquet" or "jsonl".
    """

    folder: Path
    kind: str

    @classmethod
    def beside(cls, out: Path, kind: str, job: Mapping[str, Any]) -> "PartFolder":
        """Make the folder of a file that is to be, or take up the one that is there.

        Parameters
        ----------
        out : Path
        kind : str
        job : mapping
            Plain data: all that the parts depend on.

        Raises
        ------
        InvalidInput
            If the parts that are there belong to another job.
        """
        folder = make_folder(out.with_name(f"{out.name}.parts"))
        shutil.rmtree(_done(folder), ignore_errors=True)
        note = folder / _JOB
        if not note.exists():
            write_whole(note, seal(job))
        elif _read(note) != json.loads(json.dumps(job)):
            raise InvalidInput(
                f"{str(folder)!r} holds answers of work that was stopped: other rows, another run, or other options. "
                "Repeat the command that made them, write to another file, or delete that folder."
            )
        return cls(folder, kind)

    def has(self, number: int) -> bool:
        """Say whether a part is there, whole."""
        return self._note(number).exists()

    def write(self, number: int, table: pd.DataFrame) -> None:
        """Write a part, then the note that it is whole."""
        content = encoded(table, self.kind, heading=number == 0)
        write_whole(self._part(number), content)
        counts = {str(status): int(n) for status, n in Counter(table["status"]).items()}
        write_whole(self._note(number), seal({"sha256": sha256(content).hexdigest(), "statuses": counts}))

    def statuses(self) -> Counter[str]:
        """Count the rows of all parts by status."""
        counts: Counter[str] = Counter()
        number = 0
        while self.has(number):
            counts.update(_read(self._note(number))["statuses"])
            number += 1
        return counts

    def join(self, out: Path, n_parts: int) -> None:
        """Put the parts together to one file, and remove the folder.

        Raises
        ------
        CorruptFile
            If a part is not what was written.
        """
        parts = [self._part(number) for number in range(n_parts)]
        for number, part in enumerate(parts):
            if not part.is_file() or _sha256(part) != _read(self._note(number))["sha256"]:
                self._note(number).unlink()
                raise CorruptFile(f"{str(part)!r} was damaged. Repeat the command: this part is answered again.")
        joined(parts, out, self.kind)
        # All at once: parts that are removed one by one would look damaged to whoever resumes after a kill.
        shutil.rmtree(self.folder.rename(_done(self.folder)))

    def _part(self, number: int) -> Path:
        return self.folder / f"part-{number:06d}.{self.kind}"

    def _note(self, number: int) -> Path:
        return self.folder / f"part-{number:06d}.json"


def _done(folder: Path) -> Path:
    """Say what the folder of parts is called once its file is whole."""
    return folder.with_name(f".{folder.name}.done")


def _read(path: Path) -> dict[str, Any]:
    try:
        return unseal(read_text(path))
    except CorruptFile as error:
        raise CorruptFile(f"{str(path)!r}: {error}. Delete it, and repeat the command.") from error


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        hashed = sha256()
        while block := file.read(1 << 20):
            hashed.update(block)
    return hashed.hexdigest()
