"""Types of the lazily imported names; a test keeps this file and `__init__.py` in step."""

from betarce.comparison.compare import (
    Comparison as Comparison,
)
from betarce.comparison.compare import (
    compare as compare,
)
from betarce.comparison.metrics import (
    distance_to_base as distance_to_base,
)
from betarce.comparison.metrics import (
    empirical_robustness as empirical_robustness,
)
from betarce.comparison.metrics import (
    plausibility as plausibility,
)
from betarce.comparison.metrics import (
    proximity as proximity,
)
from betarce.comparison.metrics import (
    sparsity as sparsity,
)
from betarce.comparison.metrics import (
    validity as validity,
)
from betarce.comparison.weight_shifts import (
    SampledShifts as SampledShifts,
)
from betarce.comparison.weight_shifts import (
    interval_margin as interval_margin,
)
from betarce.comparison.weight_shifts import (
    interval_robust as interval_robust,
)
from betarce.comparison.weight_shifts import (
    sampled_robust as sampled_robust,
)
from betarce.data import (
    Dataset as Dataset,
)
from betarce.data import (
    load as load,
)
from betarce.data import (
    load_loan as load_loan,
)
from betarce.ensemble import (
    Ensemble as Ensemble,
)
from betarce.errors import (
    BetarceError as BetarceError,
)
from betarce.errors import (
    BetarceWarning as BetarceWarning,
)
from betarce.errors import (
    ConstantMembers as ConstantMembers,
)
from betarce.errors import (
    CorruptFile as CorruptFile,
)
from betarce.errors import (
    DataUnavailable as DataUnavailable,
)
from betarce.errors import (
    DegenerateSpace as DegenerateSpace,
)
from betarce.errors import (
    InvalidInput as InvalidInput,
)
from betarce.errors import (
    MemberFailed as MemberFailed,
)
from betarce.errors import (
    MemberWarning as MemberWarning,
)
from betarce.errors import (
    MissingExtra as MissingExtra,
)
from betarce.errors import (
    SlowMembers as SlowMembers,
)
from betarce.errors import (
    UnreachableGuarantee as UnreachableGuarantee,
)
from betarce.errors import (
    UnusableModel as UnusableModel,
)
from betarce.explainers import (
    Closest as Closest,
)
from betarce.explainers import (
    Dice as Dice,
)
from betarce.explainers import (
    Face as Face,
)
from betarce.explainers import (
    GrowingSpheres as GrowingSpheres,
)
from betarce.explainers import (
    NearestUnlike as NearestUnlike,
)
from betarce.explainers import (
    Nice as Nice,
)
from betarce.explainers import (
    Rbr as Rbr,
)
from betarce.explainers import (
    Roar as Roar,
)
from betarce.explainers import (
    RobustNearest as RobustNearest,
)
from betarce.explainers import (
    RobX as RobX,
)
from betarce.explainers import (
    StabilityHistogram as StabilityHistogram,
)
from betarce.explainers import (
    TRex as TRex,
)
from betarce.explainers import (
    Wachter as Wachter,
)
from betarce.explainers import (
    stability as stability,
)
from betarce.explainers import (
    stability_histogram as stability_histogram,
)
from betarce.features import (
    FeatureSpace as FeatureSpace,
)
from betarce.features import (
    at_most as at_most,
)
from betarce.features import (
    between as between,
)
from betarce.features import (
    categorical as categorical,
)
from betarce.features import (
    continuous as continuous,
)
from betarce.features import (
    cost as cost,
)
from betarce.features import (
    decrease_only as decrease_only,
)
from betarce.features import (
    derived as derived,
)
from betarce.features import (
    immutable as immutable,
)
from betarce.features import (
    increase_only as increase_only,
)
from betarce.features import (
    integer as integer,
)
from betarce.features import (
    may_be_missing as may_be_missing,
)
from betarce.features import (
    no_more_than as no_more_than,
)
from betarce.features import (
    one_hot as one_hot,
)
from betarce.features import (
    one_of as one_of,
)
from betarce.features import (
    ordinal as ordinal,
)
from betarce.features import (
    read_rules as read_rules,
)
from betarce.features import (
    transitions as transitions,
)
from betarce.features import (
    write_rules as write_rules,
)
from betarce.models.families import (
    paper_model as paper_model,
)
from betarce.models.families import (
    paper_ranges as paper_ranges,
)
from betarce.models.network import (
    Network as Network,
)
from betarce.models.torch_bridge import (
    network_from_torch as network_from_torch,
)
from betarce.models.torch_bridge import (
    network_to_torch as network_to_torch,
)
from betarce.models.validation import (
    ValidationSplit as ValidationSplit,
)
from betarce.posterior import (
    EXACT as EXACT,
)
from betarce.posterior import (
    JEFFREYS as JEFFREYS,
)
from betarce.posterior import (
    UNIFORM as UNIFORM,
)
from betarce.posterior import (
    Certificate as Certificate,
)
from betarce.posterior import (
    Guarantee as Guarantee,
)
from betarce.posterior import (
    Prior as Prior,
)
from betarce.posterior import (
    interval as interval,
)
from betarce.posterior import (
    lower_bound as lower_bound,
)
from betarce.posterior import (
    max_delta as max_delta,
)
from betarce.robustify import (
    BetaRCE as BetaRCE,
)
from betarce.robustify import (
    Frontier as Frontier,
)
from betarce.robustify import (
    Result as Result,
)
from betarce.robustify import (
    RobustCounterfactual as RobustCounterfactual,
)
from betarce.robustify import (
    Verdict as Verdict,
)
from betarce.robustify import (
    Verdicts as Verdicts,
)
from betarce.search import (
    FrontierSearch as FrontierSearch,
)
from betarce.search import (
    GrowingSpheresSearch as GrowingSpheresSearch,
)
from betarce.spaces import (
    Architecture as Architecture,
)
from betarce.spaces import (
    Bootstrap as Bootstrap,
)
from betarce.spaces import (
    Custom as Custom,
)
from betarce.spaces import (
    Given as Given,
)
from betarce.spaces import (
    Mixture as Mixture,
)
from betarce.spaces import (
    Seed as Seed,
)

__version__: str
