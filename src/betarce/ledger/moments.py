"""Points in time as one form of text: UTC, to the microsecond, so that sorting the text sorts the time."""

from datetime import UTC, date, datetime, time, timedelta
from functools import lru_cache
from typing import Any

from betarce.errors import CorruptFile, InvalidInput

_FORM = "%Y-%m-%dT%H:%M:%S.%fZ"


def now() -> datetime:
    """Say what time it is, in UTC."""
    return datetime.now(UTC)


@lru_cache(maxsize=64)
def written(moment: datetime) -> str:
    """Write a moment.

    Examples
    --------
    >>> written(datetime(2026, 3, 1, 12, tzinfo=UTC))
    '2026-03-01T12:00:00.000000Z'
    """
    return moment.astimezone(UTC).strftime(_FORM)


def read(text: str) -> datetime:
    """Read what `written` wrote; raise CorruptFile for anything else.

    Examples
    --------
    >>> read("2026-03-01T12:00:00.000000Z").hour
    12
    """
    try:
        moment = _parsed(text)
    except (TypeError, ValueError) as error:
        raise CorruptFile(f"{text!r} is not a time such as '2026-03-01T12:00:00.000000Z'") from error
    if written(moment) != text:
        raise CorruptFile(f"{text!r} is not a time such as '2026-03-01T12:00:00.000000Z'")
    return moment


@lru_cache(maxsize=1024)  # thousands of promises are of one moment
def _parsed(text: str) -> datetime:
    return datetime.strptime(text, _FORM).replace(tzinfo=UTC)


def check_expiry(expires: Any, issued: datetime) -> datetime | None:
    """Turn what users pass as `expires` into a moment: a date lasts until its end, a span counts from the issue.

    Examples
    --------
    >>> issued = datetime(2026, 3, 1, 12, tzinfo=UTC)
    >>> written(check_expiry("2026-12-31", issued))
    '2027-01-01T00:00:00.000000Z'
    >>> written(check_expiry(timedelta(days=90), issued))
    '2026-05-30T12:00:00.000000Z'
    >>> check_expiry("2025-12-31", issued)
    Traceback (most recent call last):
    betarce.errors.InvalidInput: `expires` must be later than the issue (2026-03-01T12:00:00.000000Z); got '2025-12-31'.
    """
    if expires is None:
        return None
    moment = _moment(expires, issued)
    if moment <= issued:
        raise InvalidInput(f"`expires` must be later than the issue ({written(issued)}); got {expires!r}.")
    return moment


def _moment(expires: Any, issued: datetime) -> datetime:
    try:
        match expires:
            case timedelta():
                return issued + expires
            case datetime() if expires.tzinfo is not None:
                return expires.astimezone(UTC)
            case date() if not isinstance(expires, datetime):
                return datetime.combine(expires + timedelta(days=1), time(), UTC)
            case str() if len(expires) == len("2026-12-31"):
                return _moment(date.fromisoformat(expires), issued)
            case str():
                return _moment(datetime.fromisoformat(expires), issued)
    except (ValueError, OverflowError):
        pass
    raise InvalidInput(
        f"`expires` must be a date such as '2026-12-31', a time with its zone such as '2026-12-31T18:00+00:00', a "
        f"timedelta, or None; got {expires!r}."
    )
