"""Serialise boosted trees of other libraries by their own text or bytes."""

from typing import TYPE_CHECKING, Any

from betarce.errors import CorruptFile, require
from betarce.models.stored.kind import Kind

if TYPE_CHECKING:
    from betarce.models.stored.reader import Reader
    from betarce.models.stored.writer import Writer

_LIGHTGBM_ATTRIBUTES = ("best_iteration", "best_score", "params")


def _write_lightgbm(value: Any, writer: "Writer") -> Any:
    text = value.model_to_string(num_iteration=-1)
    attributes = {name: writer.write(getattr(value, name), f".{name}") for name in _LIGHTGBM_ATTRIBUTES}
    return {"text": writer.content(text.encode("utf-8")), **attributes}


def _read_lightgbm(data: Any, reader: "Reader") -> Any:
    lightgbm = require("lightgbm", extra="lightgbm", purpose="A stored LightGBM model")
    try:
        booster = lightgbm.Booster(model_str=reader.content(data["text"]).decode("utf-8"))
    except lightgbm.basic.LightGBMError as error:
        raise CorruptFile(f"LightGBM cannot read its model: {error}") from error
    for name in _LIGHTGBM_ATTRIBUTES:
        setattr(booster, name, reader.read(data[name]))
    return booster


def _write_xgboost(value: Any, writer: "Writer") -> Any:
    return writer.content(bytes(value.save_raw("ubj")))


def _read_xgboost(data: Any, reader: "Reader") -> Any:
    xgboost = require("xgboost", extra="xgboost", purpose="A stored XGBoost model")
    booster = xgboost.Booster()
    try:
        booster.load_model(bytearray(reader.content(data)))
    except xgboost.core.XGBoostError as error:
        raise CorruptFile(f"XGBoost cannot read its model: {str(error).splitlines()[0]}") from error
    return booster


KINDS = (
    Kind("lightgbm", ("lightgbm.basic:Booster",), _write_lightgbm, _read_lightgbm),
    Kind("xgboost", ("xgboost.core:Booster",), _write_xgboost, _read_xgboost),
)
"""One per library."""
