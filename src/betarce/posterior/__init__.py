"""From votes to guarantees: what the agreement of a few models says about all of them.

`prior` holds prior beliefs, `bounds` turns votes into bounds, `guarantee` is what is asked for, `certificate` is the
outcome of one vote, and `certificate_file` is its JSON form. No models and no randomness here.
"""

from betarce.posterior.bounds import Tail, interval, lower_bound, max_delta
from betarce.posterior.certificate import Certificate, percent
from betarce.posterior.guarantee import Guarantee, check_vote_decides
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
