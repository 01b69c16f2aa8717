"""What all checks share: the error, and how things are called that may fail in a plug-in's own way."""

import math
from collections.abc import Callable
from typing import TypeVar

from nav_eval.errors import NavEvalError

T = TypeVar("T")


class ContractBroken(NavEvalError):
    """A plug-in does not keep its contract; the message says what is wrong and what to do."""


def require(kept: bool, message: str) -> None:
    """Refuse with `message` what does not keep the contract."""
    if not kept:
        raise ContractBroken(message)


def call(what: str, function: Callable[[], T]) -> T:
    """What `function` returns; whatever it raises becomes a broken contract that says when it happened."""
    try:
        return function()
    except ContractBroken:
        raise
    except Exception as error:
        raise ContractBroken(f"{what} must not raise here, but raised {type(error).__name__}: {error}") from error


def is_same_number(first: float | None, second: float | None) -> bool:
    """Equal, where NaN equals NaN."""
    if first is None or second is None:
        return first is second
    return first == second or (math.isnan(first) and math.isnan(second))
