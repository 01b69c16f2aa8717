"""What states and poses must be."""

from contextlib import ContextDecorator
from typing import Any, Self

import attr
import numpy as np
import quaternion

import magnum as mn


class NoAttrValidationContext(ContextDecorator):
    """Within it, attrs' validators rest; for what is known to be right."""

    def __init__(self) -> None:
        self._before: list[bool] = []

    def __enter__(self) -> Self:
        self._before.append(attr.get_run_validators())
        attr.set_run_validators(False)
        return self

    def __exit__(self, *_: object) -> None:
        attr.set_run_validators(self._before.pop())


def all_is_finite(instance: Any, attribute: Any, value: Any) -> None:
    if not np.isfinite(np.asarray(value, dtype=np.float64)).all():
        raise ValueError(f"{attribute.name} of {type(instance).__name__} is {value}: non-finite values are refused.")


def is_unit_length(instance: Any, attribute: Any, value: Any, tol: float = 1e-4) -> None:
    place = f"{attribute.name} of {type(instance).__name__}"
    if isinstance(value, mn.Quaternion):
        if not value.is_normalized():
            raise ValueError(f"{place} is {value}: it must be a normalized quaternion.")
    elif isinstance(value, quaternion.quaternion):
        if not np.isclose(value.norm(), 1.0, rtol=tol, atol=0):
            raise ValueError(f"{place} is {value}: it must be a normalized quaternion.")
    else:
        numbers = np.asarray(value, dtype=np.float64)
        assert numbers.ndim == 1, f"{place} is {value}: it must be a list of numbers."
        if not np.isclose(np.linalg.norm(numbers), 1.0, rtol=tol, atol=0):
            raise ValueError(f"{place} is {value}: it is not a unit length vector.")


def value_is_validated(instance: Any, attribute: Any, value: Any) -> None:
    attr.validate(value)
