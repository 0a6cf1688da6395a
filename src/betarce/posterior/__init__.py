"""From votes to guarantees: what the agreement of a few models says about all of them.

`prior` holds prior beliefs, `bounds` turns votes into bounds, `certificate` has what is asked of a vote with what the
vote says, and `certificate_fields` what its JSON form holds. No models and no randomness here.
"""

from betarce.posterior.bounds import Tail, interval, lower_bound, max_delta, percent
from betarce.posterior.certificate import Certificate, Guarantee, check_vote_decides
from betarce.posterior.prior import EXACT, JEFFREYS, PRIORS, UNIFORM, Prior, check_prior

__all__ = [
    "EXACT",
    "JEFFREYS",
    "PRIORS",
    "UNIFORM",
    "Certificate",
    "Guarantee",
    "Prior",
    "Tail",
    "check_prior",
    "check_vote_decides",
    "interval",
    "lower_bound",
    "max_delta",
    "percent",
]
