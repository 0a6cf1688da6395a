"""Certificates as plain data, as other files hold them."""

from betarce.posterior.certificate import from_plain, to_plain
from betarce.posterior.certificate_fields import plain_target, read_target

__all__ = ["from_plain", "plain_target", "read_target", "to_plain"]
