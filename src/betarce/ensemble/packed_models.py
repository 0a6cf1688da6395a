"""Fitted models as bytes, each unpacked when it is asked for.

Workers evaluate members by their kernel, and ask the members themselves in close calls only. Unpacking all of them
first takes a second or more per worker, and memory in each.
"""

import pickle
from collections.abc import Iterable, Sequence
from typing import Any, overload

import numpy as np


class PackedModels(Sequence[object]):
    """A sequence of models of which only those that were asked for exist.

    Parameters
    ----------
    packed : sequence of uint8 arrays
        Each holds one pickled model. Arrays, since these may stay in a file that all workers share.

    Examples
    --------
    >>> models = PackedModels.of(["a model", "another"])
    >>> len(models), models[1]
    (2, 'another')
    """

    def __init__(self, packed: Sequence["np.ndarray[Any, np.dtype[np.uint8]]"]) -> None:
        self._packed = list(packed)
        self._models: dict[int, object] = {}

    @classmethod
    def of(cls, models: Sequence[object]) -> "PackedModels":
        """Pack models; those that are packed already stay as they are."""
        if isinstance(models, cls):
            return models
        import cloudpickle

        # Not plain pickle: models of the user's own script exist in no module that a worker could import.
        return cls([np.frombuffer(cloudpickle.dumps(model), dtype=np.uint8) for model in models])

    def take(self, places: Iterable[int]) -> "PackedModels":
        """Pick some of them, without unpacking any."""
        return PackedModels([self._packed[place] for place in places])

    def __getstate__(self) -> dict[str, Any]:
        return {"_packed": self._packed, "_models": {}}

    def __len__(self) -> int:
        return len(self._packed)

    @overload
    def __getitem__(self, place: int) -> object: ...

    @overload
    def __getitem__(self, place: slice) -> Sequence[object]: ...

    def __getitem__(self, place: int | slice) -> object:
        if isinstance(place, slice):
            return [self[i] for i in range(*place.indices(len(self)))]
        at = range(len(self))[place]
        if at not in self._models:
            self._models[at] = pickle.loads(self._packed[at].data)
        return self._models[at]
