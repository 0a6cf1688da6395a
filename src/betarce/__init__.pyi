"""Types of the lazily imported names; a test keeps this file and `__init__.py` in step."""

from betarce.data import (
    Dataset as Dataset,
    load as load,
    load_loan as load_loan,
)
from betarce.ensemble import (
    Ensemble as Ensemble,
)
from betarce.errors import (
    BetarceError as BetarceError,
    BetarceWarning as BetarceWarning,
    ConstantMembers as ConstantMembers,
    CorruptFile as CorruptFile,
    DataUnavailable as DataUnavailable,
    DegenerateSpace as DegenerateSpace,
    InvalidInput as InvalidInput,
    MemberFailed as MemberFailed,
    MemberWarning as MemberWarning,
    MissingExtra as MissingExtra,
    UnreachableGuarantee as UnreachableGuarantee,
    UnusableModel as UnusableModel,
)
from betarce.evaluate.metrics import (
    distance_to_base as distance_to_base,
    empirical_robustness as empirical_robustness,
    plausibility as plausibility,
    proximity as proximity,
    sparsity as sparsity,
    validity as validity,
)
from betarce.explainers import (
    GrowingSpheres as GrowingSpheres,
)
from betarce.features import (
    FeatureSpace as FeatureSpace,
    at_most as at_most,
    between as between,
    decrease_only as decrease_only,
    immutable as immutable,
    increase_only as increase_only,
)
from betarce.models.families import (
    paper_model as paper_model,
    paper_ranges as paper_ranges,
)
from betarce.models.network import (
    Network as Network,
)
from betarce.models.validation import (
    ValidationSplit as ValidationSplit,
)
from betarce.posterior import (
    EXACT as EXACT,
    JEFFREYS as JEFFREYS,
    UNIFORM as UNIFORM,
    Certificate as Certificate,
    Guarantee as Guarantee,
    Prior as Prior,
    interval as interval,
    lower_bound as lower_bound,
    max_delta as max_delta,
)
from betarce.robustify import (
    BetaRCE as BetaRCE,
    Result as Result,
    RobustCounterfactual as RobustCounterfactual,
    Verdict as Verdict,
    Verdicts as Verdicts,
)
from betarce.search import (
    GrowingSpheresSearch as GrowingSpheresSearch,
)
from betarce.spaces import (
    Architecture as Architecture,
    Bootstrap as Bootstrap,
    Custom as Custom,
    Given as Given,
    Mixture as Mixture,
    Seed as Seed,
)

__version__: str
