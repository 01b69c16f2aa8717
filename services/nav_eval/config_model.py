"""What all configuration models share: they are frozen, refuse what they do not know, and say what they meant.

YAML already has types, so numbers, flags and texts are not converted into each other: `max_steps: "500"`
is a mistake worth a message.

`KnownNames` says which names a configuration may use for tasks, metrics, dataset formats and simulator backends. The
registries of those things sit above this package, so their built-in names are repeated here and a test over the
registries keeps the two lists equal. Plug-ins add theirs through entry points, whose names can be read without
importing the plug-in.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from functools import cache
from importlib.metadata import entry_points
from itertools import pairwise
from types import MappingProxyType
from typing import Annotated, Any, ClassVar

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    Strict,
    ValidationInfo,
    model_serializer,
    model_validator,
)
from pydantic_core import PydanticCustomError

from nav_eval.suggestions import suggest_close_match, suggest_known

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


def _check_path(value: str) -> str:
    if not value.isprintable():
        raise PydanticCustomError("bad_path", "must be a path without line breaks or control characters")
    return value


FilePath = Annotated[str, Field(min_length=1, max_length=4096), AfterValidator(_check_path)]


def _check_unit(value: tuple[float, float, float, float]) -> tuple[float, float, float, float]:
    if not math.isclose(math.hypot(*value), 1.0, abs_tol=1e-3):
        raise PydanticCustomError("not_unit", "must be a unit quaternion [x, y, z, w]")
    return value


Quaternion = Annotated[tuple[Number, Number, Number, Number], AfterValidator(_check_unit)]


class LaterField:
    """Marks a field that came after 0.1.0: at its default it is not written, so older benchmarks keep their digests."""


class ConfigModel(BaseModel):
    """A part of a configuration; a text under a field says what the field is for."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    aliases: ClassVar[Aliases] = {}  #: other spellings that the specification uses, and ours

    @model_validator(mode="before")
    @classmethod
    def _refuse_unknown_keys(cls, data: object) -> object:
        if not isinstance(data, Mapping):
            return data
        data = cls.to_canonical_keys(data)
        unknown = [key for key in data if key not in cls.model_fields]
        if unknown:
            raise make_unknown_key_error(str(unknown[0]), allowed=cls.model_fields)
        return data

    @model_serializer(mode="wrap")
    def _leave_out_later_fields(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        fields = type(self).model_fields
        later = {key for key, field in fields.items() if LaterField in field.metadata}
        return {k: v for k, v in dump(self).items() if k not in later or getattr(self, k) != fields[k].default}

    @classmethod
    def to_canonical_keys(cls, data: Mapping[str, Any]) -> dict[str, Any]:
        """`data` with our spelling of every key; two spellings of one key are refused."""
        result: dict[str, Any] = {}
        for key, value in data.items():
            ours = cls.aliases.get(key, key)
            if ours in result:
                raise PydanticCustomError("two_spellings", "has two spellings of the key {ours}", {"ours": repr(ours)})
            result[ours] = value
        return result


@cache
def read_field_docs(model: type[BaseModel]) -> Mapping[str, str]:
    """The texts under the fields of a model. Read when somebody asks: commands that only check need not wait for it."""
    import ast
    import inspect
    import textwrap

    found: dict[str, str] = {}
    for part in reversed(model.__mro__):
        if issubclass(part, ConfigModel):
            (tree,) = ast.parse(textwrap.dedent(inspect.getsource(part))).body
            assert isinstance(tree, ast.ClassDef)
            for field, text in pairwise(tree.body):
                match field, text:
                    case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(words))):
                        found[name] = inspect.cleandoc(words)
    return {name: text for name, text in found.items() if name in model.model_fields}


def make_unknown_key_error(key: str, *, allowed: Iterable[str]) -> PydanticCustomError:
    allowed = sorted(allowed)
    text = f"unknown key.{suggest_close_match(key, allowed)} Allowed here: {', '.join(allowed)}."
    return PydanticCustomError("unknown_key", "{text}", {"text": text, "key": key})


def make_refusal(text: str) -> PydanticCustomError:
    """A validator's objection, in our own words."""
    return PydanticCustomError("refused", "{text}", {"text": text})


def require_registered(kind: str) -> AfterValidator:
    """The value must be one of the names of `kind` that the loader was given."""

    def check(value: str, info: ValidationInfo) -> str:
        names = (info.context or {}).get("names")
        if names is not None and value not in (known := getattr(names, kind)):
            raise make_refusal(f"is not one of the {kind} that exist.{suggest_known(value, known)}")
        return value

    return AfterValidator(check)


def check_unique(values: Iterable[str], *, what: str) -> None:
    """Refuse the first name that occurs twice."""
    seen: set[str] = set()
    for value in values:
        if value in seen:
            raise make_refusal(f"lists {what} {value!r} twice")
        seen.add(value)


TASKS = frozenset({"vln", "lh_vln", "objectnav", "imagenav", "pointnav", "localization", "sqa3d_qa", "eqa"})

NAVIGATION_METRICS = frozenset(
    {
        "success", "oracle_success", "spl", "soft_spl", "navigation_error", "oracle_navigation_error",
        "distance_to_goal", "path_length", "steps", "collisions", "dtw", "ndtw", "sdtw", "coverage", "time",
    }
)  # fmt: skip
LH_VLN_METRICS = frozenset({"sr", "osr", "spl", "ne", "isr", "csr", "cgt", "tar", "score"})
LOCALIZATION_METRICS = frozenset({"acc@0.5m", "acc@1.0m", "acc@15deg", "acc@30deg"})

ANSWER_METRICS = frozenset({"exact_match"})

FORMATS = frozenset(
    {"r2r", "rxr", "speaker_change", "objectnav", "imagenav", "pointnav", "lhvln", "sqa3d", "sqa3d_qa", "nav_eval"}
)
BACKENDS = frozenset({"moderngl"})

ENTRY_POINT_GROUPS: Mapping[str, str] = MappingProxyType(
    {
        "tasks": "nav_eval.tasks",
        "metrics": "nav_eval.metrics",
        "formats": "nav_eval.datasets",
        "backends": "nav_eval.simulators",
    }
)


@dataclass(frozen=True, kw_only=True, slots=True)
class KnownNames:
    """The names that exist, by kind."""

    tasks: frozenset[str] = TASKS
    metrics: frozenset[str] = NAVIGATION_METRICS | LH_VLN_METRICS | LOCALIZATION_METRICS | ANSWER_METRICS
    formats: frozenset[str] = FORMATS
    backends: frozenset[str] = BACKENDS

    @classmethod
    @cache
    def from_installation(cls) -> "KnownNames":
        """The built-in names and those of every installed plug-in."""
        built_in, plugins = cls(), entry_points()
        return cls(
            **{
                field.name: getattr(built_in, field.name) | plugins.select(group=ENTRY_POINT_GROUPS[field.name]).names
                for field in fields(cls)
            }
        )
