"""The catalogue of data sets by name."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import Final

import pandas as pd

from betarce.datasets import fetch as fetching
from betarce.datasets.dataset import Dataset
from betarce.datasets.fetch import Fetch
from betarce.datasets.loan import load_loan
from betarce.errors import CorruptFile, DataUnavailable, InvalidInput


@dataclass(frozen=True)
class Entry:
    """One data set of the catalogue: its content, its cleaning, its source.

    Attributes
    ----------
    file : str
        The csv file in `data_dir` and in the cache.
    target : str
        The column that holds the class.
    features : tuple of str
        All other columns, in order.
    counts : tuple of int
        Rows of class 0 and of class 1 that are left after cleaning.
    clean : callable (DataFrame) -> DataFrame
        From the table of the file to numbers, with `target` as 0 and 1.
    fetch : callable () -> DataFrame
        Downloads the table of the file.
    source, description : str
        See :class:`Dataset`.
    bundled : callable () -> DataFrame, optional
        The table of the file, from a library that is installed anyway.
    """

    file: str
    target: str
    features: tuple[str, ...]
    counts: tuple[int, int]
    clean: Callable[[pd.DataFrame], pd.DataFrame]
    fetch: Fetch
    source: str
    description: str
    bundled: Fetch | None = None


def _codes(values: pd.Series, order: Mapping[str, int] | tuple[str, ...]) -> pd.Series:
    codes = order if isinstance(order, Mapping) else {value: code for code, value in enumerate(order)}
    if unknown := sorted(set(values.astype(str)) - set(codes)):
        raise ValueError(f"column {values.name!r} holds {unknown[0]!r}, which is none of {', '.join(codes)}")
    return values.astype(str).map(dict(codes)).astype("int64")


def _clean_heloc(table: pd.DataFrame) -> pd.DataFrame:
    """Drop the rows with a special value: -9 no record, -8 no usable record, -7 condition not met."""
    kept = table[(table.drop(columns="RiskPerformance") >= 0).all(axis="columns")]
    coded = kept.assign(RiskPerformance=_codes(kept["RiskPerformance"], ("Bad", "Good")))
    return coded.astype("int64").reset_index(drop=True)


def _clean_wine(table: pd.DataFrame) -> pd.DataFrame:
    """Call a grade above 5 good; some copies hold that answer instead of the grade."""
    quality = table["quality"]
    good = quality if quality.dtype == bool else quality > 5
    return table.assign(quality=good.astype("int64"))


def _clean_diabetes(table: pd.DataFrame) -> pd.DataFrame:
    """Keep all rows, with the zeros that stand for values nobody measured."""
    return table.astype({name: "int64" for name in table if name not in ("BMI", "DiabetesPedigreeFunction")})


def _clean_breast_cancer(table: pd.DataFrame) -> pd.DataFrame:
    """Keep all rows; malignant is class 1."""
    return table.assign(diagnosis=_codes(table["diagnosis"], ("B", "M")))


_CAR_ORDER: Final[Mapping[str, tuple[str, ...]]] = {
    "buying": ("low", "med", "high", "vhigh"),
    "maint": ("low", "med", "high", "vhigh"),
    "doors": ("2", "3", "4", "5more"),
    "persons": ("2", "4", "more"),
    "lug_boot": ("small", "med", "big"),
    "safety": ("low", "med", "high"),
}


def _clean_car(table: pd.DataFrame) -> pd.DataFrame:
    """Replace every grade by its place in the order, from 0; anything but unacceptable is class 1."""
    features = {name: _codes(table[name], order) for name, order in _CAR_ORDER.items()}
    accepted = _codes(table["acceptability"], {"unacc": 0, "acc": 1, "good": 1, "vgood": 1})
    return table.assign(**features, acceptability=accepted)


def _clean_rice(table: pd.DataFrame) -> pd.DataFrame:
    """Keep all rows; Osmancik is class 1."""
    return table.assign(**{"class": _codes(table["class"], ("Cammeo", "Osmancik"))})


def _breast_cancer_of_sklearn() -> pd.DataFrame:
    from sklearn.datasets import load_breast_cancer

    bunch = load_breast_cancer(as_frame=True)
    table: pd.DataFrame = bunch.data.set_axis(list(_BREAST_CANCER), axis="columns")
    return table.assign(diagnosis=bunch.target.map({0: "M", 1: "B"}))


def _pima_of_openml() -> pd.DataFrame:
    names = dict(zip(_names("preg plas pres skin insu mass pedi age"), _DIABETES, strict=True))
    table = fetching.from_openml(37, target="Outcome").rename(columns=names)
    outcome = table["Outcome"].astype(str).map({"tested_negative": 0, "tested_positive": 1})
    return table.assign(Outcome=outcome)


def _names(text: str) -> tuple[str, ...]:
    return tuple(text.split())


_HELOC = _names(
    """ExternalRiskEstimate MSinceOldestTradeOpen MSinceMostRecentTradeOpen AverageMInFile NumSatisfactoryTrades
    NumTrades60Ever2DerogPubRec NumTrades90Ever2DerogPubRec PercentTradesNeverDelq MSinceMostRecentDelq
    MaxDelq2PublicRecLast12M MaxDelqEver NumTotalTrades NumTradesOpeninLast12M PercentInstallTrades
    MSinceMostRecentInqexcl7days NumInqLast6M NumInqLast6Mexcl7days NetFractionRevolvingBurden
    NetFractionInstallBurden NumRevolvingTradesWBalance NumInstallTradesWBalance
    NumBank2NatlTradesWHighUtilization PercentTradesWBalance"""
)
_WINE = _names("""fixed_acidity volatile_acidity citric_acid residual_sugar chlorides free_sulfur_dioxide
    total_sulfur_dioxide density pH sulphates alcohol""")
_DIABETES = _names("""Pregnancies Glucose BloodPressure SkinThickness Insulin BMI DiabetesPedigreeFunction Age""")
_BREAST_CANCER = tuple(
    f"{name}{part}"  # 1: mean, 2: standard error, 3: worst of the cell nuclei of one image
    for part in (1, 2, 3)
    for name in _names(
        """radius texture perimeter area smoothness compactness concavity concave_points symmetry
        fractal_dimension"""
    )
)
_RICE = _names("""Area Perimeter Major_Axis_Length Minor_Axis_Length Eccentricity Convex_Area Extent""")

CATALOGUE: Final[Mapping[str, Entry]] = {
    "heloc": Entry(
        file="fico.csv",
        target="RiskPerformance",
        features=_HELOC,
        counts=(1560, 942),
        clean=_clean_heloc,
        # TabArena's copy of FICO's file: all 10,459 rows with their special values, but shuffled.
        fetch=partial(fetching.from_openml, 46932, target="RiskPerformance"),
        source="FICO Explainable Machine Learning Challenge, OpenML 46932",
        description="Home equity lines of credit; 1 = repaid as agreed (Good), 0 = 90 days late at least once (Bad).",
    ),
    "wine": Entry(
        file="wine_quality.csv",
        target="quality",
        features=_WINE,
        counts=(2384, 4113),
        clean=_clean_wine,
        fetch=partial(fetching.from_uci, 186, target="quality", file="wine_quality.csv"),
        source="UCI 186, Wine Quality",
        description="Red, then white Portuguese wines; 1 = graded above 5 of 10 by tasters, 0 = the others.",
    ),
    "diabetes": Entry(
        file="diabetes.csv",
        target="Outcome",
        features=_DIABETES,
        counts=(500, 268),
        clean=_clean_diabetes,
        fetch=_pima_of_openml,
        source="Pima Indians Diabetes, OpenML 37",
        description="Women of Pima heritage; 1 = diabetes within five years, 0 = none.",
    ),
    "breast_cancer": Entry(
        file="breast_cancer.csv",
        target="diagnosis",
        features=_BREAST_CANCER,
        counts=(357, 212),
        clean=_clean_breast_cancer,
        fetch=partial(fetching.from_uci, 17, target="diagnosis", file="breast_cancer.csv"),
        source="UCI 17, Breast Cancer Wisconsin (Diagnostic)",
        description="Cell nuclei seen in a breast mass; 1 = malignant (M), 0 = benign (B).",
        bundled=_breast_cancer_of_sklearn,
    ),
    "car": Entry(
        file="car_eval.csv",
        target="acceptability",
        features=tuple(_CAR_ORDER),
        counts=(1210, 518),
        clean=_clean_car,
        fetch=partial(fetching.from_uci, 19, target="acceptability", file="car_eval.csv"),
        source="UCI 19, Car Evaluation",
        description="Cars as ordinal grades from 0; 1 = acceptable, good or very good, 0 = unacceptable.",
    ),
    "rice": Entry(
        file="rice.csv",
        target="class",
        features=_RICE,
        counts=(1630, 2180),
        clean=_clean_rice,
        fetch=partial(fetching.from_uci, 545, target="class", file="rice.csv"),
        source="UCI 545, Rice (Cammeo and Osmancik)",
        description="Shapes of rice grains; 1 = Osmancik, 0 = Cammeo.",
    ),
}
SYNTHETIC: Final[Mapping[str, Callable[[], Dataset]]] = {"loan": load_loan}

PAPER_NAMES: Final = tuple(CATALOGUE)
NAMES: Final = (*CATALOGUE, *SYNTHETIC)


def load(
    name: str,
    *,
    data_dir: str | os.PathLike[str] | None = None,
    download: bool = True,
    fetch: Fetch | None = None,
) -> Dataset:
    """Load a data set by name, cleaned as in the paper.

    The table comes from the first of these that has it: `data_dir`; the folder that the environment
    variable BETARCE_DATA_DIR names; the cache (BETARCE_CACHE_DIR, or the cache folder of the platform);
    scikit-learn, which bundles ``breast_cancer``; the network, after which it is in the cache.
    Whatever its origin, it is checked against the rows, columns and class counts of the catalogue.

    Parameters
    ----------
    name : {"heloc", "wine", "diabetes", "breast_cancer", "car", "rice", "loan"}
        ``NAMES`` lists them; ``PAPER_NAMES`` are those of the paper. ``loan`` is synthetic and needs no
        file: see :func:`load_loan`.
    data_dir : path, optional
        A folder that must hold the csv file of this data set.
    download : bool, default=True
        Whether the network may be used.
    fetch : callable () -> DataFrame, optional
        Gets the raw table in place of the public source, for example from a mirror inside your company.
        Raises OSError where it cannot.

    Returns
    -------
    Dataset

    Raises
    ------
    DataUnavailable
        If no place has the table.
    CorruptFile
        If a file is not the table it should be.
    MissingExtra
        If the download needs ``ucimlrepo``.

    Notes
    -----
    Class 1 is: ``heloc`` Good; ``wine`` quality above 5; ``diabetes`` Outcome 1; ``breast_cancer`` malignant;
    ``car`` anything but unacceptable; ``rice`` Osmancik; ``loan`` approved.

    The rows keep the order of the file. For ``heloc`` OpenML's order is not that of FICO's file, so folds
    drawn from the one are not those drawn from the other.

    Examples
    --------
    >>> load("breast_cancer", download=False)
    Dataset 'breast_cancer': 569 rows x 30 features; class 0: 357 (63 %), class 1: 212 (37 %)
    >>> load("brest_cancer")
    Traceback (most recent call last):
    betarce.errors.InvalidInput: `name` must be one of heloc, wine, diabetes, breast_cancer, car, rice, loan;
    got 'brest_cancer'. Did you mean 'breast_cancer'?
    """
    if not isinstance(name, str) or name not in NAMES:
        raise InvalidInput(f"`name` must be one of {', '.join(NAMES)}; got {name!r}.{_hint(name)}")
    if name in SYNTHETIC:
        return SYNTHETIC[name]()
    entry = CATALOGUE[name]
    if (path := _local_file(entry, data_dir)) is not None:
        return _dataset(name, fetching.read_table(path), str(path))
    path = fetching.cache_dir() / entry.file
    if (table := fetching.read_cached(path)) is not None:
        return _dataset(name, table, str(path))
    if entry.bundled is not None:
        return _dataset(name, entry.bundled(), "scikit-learn")
    if not download:
        raise DataUnavailable(f"{name!r} is not on this machine and `download` is False. {_ways(entry)}")
    table = fetching.download(
        path,
        fetch=fetch or entry.fetch,
        check=lambda table: _checked(name, table, f"the download of {entry.file}"),
        otherwise=_ways(entry),
    )
    return _dataset(name, table, str(path))


def _hint(name: object) -> str:
    close = get_close_matches(str(name), NAMES, n=1)
    return f" Did you mean {close[0]!r}?" if close else ""


def _ways(entry: Entry) -> str:
    return (
        f"To get it: (1) connect to the network and call `load` once, which keeps a copy in "
        f"{fetching.cache_dir()}; (2) download {entry.file} ({entry.source}) elsewhere and set "
        f"BETARCE_DATA_DIR to its folder; or (3) pass that folder as `data_dir`."
    )


def _local_file(entry: Entry, data_dir: str | os.PathLike[str] | None) -> Path | None:
    """Find the csv file in the user's folder; a folder given as an argument must hold it."""
    variable = "BETARCE_DATA_DIR"
    chosen = data_dir if data_dir is not None else os.environ.get(variable)
    if not chosen:
        return None
    label = variable if data_dir is None else "data_dir"
    folder = Path(chosen).expanduser()
    if not folder.is_dir():
        raise InvalidInput(
            f"`{label}` must be a folder that exists; got {str(folder)!r}. "
            f"Correct the path, or leave it out to download {entry.file}."
        )
    if (path := folder / entry.file).is_file():
        return path
    if data_dir is None:
        return None
    raise DataUnavailable(
        f"`data_dir` must hold {entry.file}; got {str(folder)!r}, which does not. "
        f"Put the file there, or leave `data_dir` out to download it ({entry.source})."
    )


def _dataset(name: str, table: pd.DataFrame, origin: str) -> Dataset:
    entry = CATALOGUE[name]
    cleaned = _checked(name, table, origin)
    return Dataset(
        name=name,
        X=cleaned[list(entry.features)],
        y=cleaned[entry.target],
        description=entry.description,
        source=f"{entry.source}; read from {origin}",
    )


def _checked(name: str, table: pd.DataFrame, origin: str) -> pd.DataFrame:
    """Clean a table, or raise CorruptFile with its first difference from the catalogue."""
    entry = CATALOGUE[name]
    difference = _difference_in_form(entry, table)
    if difference is None:
        try:
            cleaned = entry.clean(table)
        except (TypeError, ValueError) as error:
            difference = str(error)
        else:
            difference = _difference_in_content(entry, cleaned)
            if difference is None:
                return cleaned
    raise CorruptFile(
        f"{origin} is not the {name!r} data: {difference}. It was not used. Download {entry.file} anew "
        f"({entry.source}) and set BETARCE_DATA_DIR to its folder."
    )


def _difference_in_form(entry: Entry, table: pd.DataFrame) -> str | None:
    expected = {*entry.features, entry.target}
    if absent := sorted(expected - set(table)):
        return f"column {absent[0]!r} is missing"
    if unknown := sorted(map(str, set(table) - expected)):
        return f"column {unknown[0]!r} does not belong there"
    if empty := [name for name in table if table[name].isna().any()]:
        return f"column {empty[0]!r} has empty cells"
    return None


def _difference_in_content(entry: Entry, cleaned: pd.DataFrame) -> str | None:
    if text := [name for name in entry.features if not pd.api.types.is_numeric_dtype(cleaned[name])]:
        return f"column {text[0]!r} holds text where numbers are expected"
    if len(cleaned) != sum(entry.counts):
        return f"{len(cleaned)} rows after cleaning, expected {sum(entry.counts)}"
    found = tuple(int((cleaned[entry.target] == label).sum()) for label in (0, 1))
    if found != entry.counts:
        return f"{found} rows of class 0 and 1, expected {entry.counts}"
    return None
