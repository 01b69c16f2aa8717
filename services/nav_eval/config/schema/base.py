"""What all configuration models share: they are frozen, refuse what they do not know, and say what they meant.

YAML already has types, so numbers, flags and texts are not converted into each other: `max_steps: "500"`
is a mistake worth a message.
"""

import difflib
import math
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, ClassVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, Strict, ValidationInfo, model_validator
from pydantic_core import PydanticCustomError

MAX_SEED = 2**63 - 1

Aliases = Mapping[str, str]

Flag = Annotated[bool, Strict()]
Number = Annotated[float, Strict(), Field(allow_inf_nan=False)]
Positive = Annotated[float, Strict(), Field(gt=0, allow_inf_nan=False)]
NonNegative = Annotated[float, Strict(), Field(ge=0, allow_inf_nan=False)]
Fraction = Annotated[float, Strict(), Field(ge=0, le=1, allow_inf_nan=False)]
Count = Annotated[int, Strict(), Field(ge=1, le=10**9)]
Index = Annotated[int, Strict(), Field(ge=0, le=10**9)]
Seed = Annotated[int, Strict(), Field(ge=0, le=MAX_SEED)]
Pixels = Annotated[int, Strict(), Field(ge=1, le=8192)]
Hfov = Annotated[float, Strict(), Field(gt=0, lt=180, allow_inf_nan=False)]
Degrees = Annotated[float, Strict(), Field(ge=-360, le=360, allow_inf_nan=False)]
Tilt = Annotated[float, Strict(), Field(ge=-90, le=90, allow_inf_nan=False)]
Text = Annotated[str, Field(min_length=1, max_length=10_000)]
Name = Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[A-Za-z0-9][A-Za-z0-9_.@-]*$")]
Vec3 = tuple[Number, Number, Number]
Color = tuple[Fraction, Fraction, Fraction]


def _path(value: str) -> str:
    if not value.isprintable():
        raise PydanticCustomError("bad_path", "must be a path without line breaks or control characters")
    return value


FilePath = Annotated[str, Field(min_length=1, max_length=4096), AfterValidator(_path)]


def _unit(value: tuple[float, float, float, float]) -> tuple[float, float, float, float]:
    if not math.isclose(math.hypot(*value), 1.0, abs_tol=1e-3):
        raise PydanticCustomError("not_unit", "must be a unit quaternion [x, y, z, w]")
    return value


Quaternion = Annotated[tuple[Number, Number, Number, Number], AfterValidator(_unit)]


class ConfigModel(BaseModel):
    """A part of a configuration; a text under a field says what the field is for."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    aliases: ClassVar[Aliases] = {}  #: other spellings that the seeds use, and ours

    @model_validator(mode="before")
    @classmethod
    def _refuse_unknown_keys(cls, data: object) -> object:
        if not isinstance(data, Mapping):
            return data
        data = cls.canonical(data)
        unknown = [key for key in data if key not in cls.model_fields]
        if unknown:
            raise unknown_key(str(unknown[0]), allowed=cls.model_fields)
        return data

    @classmethod
    def canonical(cls, data: Mapping[str, Any]) -> dict[str, Any]:
        """`data` with our spelling of every key; two spellings of one key are refused."""
        result: dict[str, Any] = {}
        for key, value in data.items():
            ours = cls.aliases.get(key, key)
            if ours in result:
                raise PydanticCustomError("two_spellings", "has two spellings of the key {ours}", {"ours": repr(ours)})
            result[ours] = value
        return result


def did_you_mean(wrong: str, known: Iterable[str]) -> str:
    """` Did you mean 'x'?`, or nothing."""
    close = difflib.get_close_matches(wrong, list(known), n=1)
    return f" Did you mean {close[0]!r}?" if close else ""


def suggestion(wrong: str, known: Iterable[str]) -> str:
    """The nearest name that exists, or all of them when none is near."""
    known = sorted(known)
    return did_you_mean(wrong, known) or f" Known: {', '.join(known) or 'none'}."


def unknown_key(key: str, *, allowed: Iterable[str]) -> PydanticCustomError:
    allowed = sorted(allowed)
    text = f"unknown key.{did_you_mean(key, allowed)} Allowed here: {', '.join(allowed)}."
    return PydanticCustomError("unknown_key", "{text}", {"text": text, "key": key})


def refusal(text: str) -> PydanticCustomError:
    """A validator's objection, in our own words."""
    return PydanticCustomError("refused", "{text}", {"text": text})


def registered(kind: str) -> AfterValidator:
    """The value must be one of the names of `kind` that the loader was given."""

    def check(value: str, info: ValidationInfo) -> str:
        names = (info.context or {}).get("names")
        if names is not None and value not in (known := getattr(names, kind)):
            raise refusal(f"is not one of the {kind} that exist.{suggestion(value, known)}")
        return value

    return AfterValidator(check)


def unique(values: Iterable[str], *, what: str) -> None:
    """Refuse the first name that occurs twice."""
    seen: set[str] = set()
    for value in values:
        if value in seen:
            raise refusal(f"lists {what} {value!r} twice")
        seen.add(value)
