"""Which names a configuration may use for tasks, metrics, dataset formats and simulator backends.

The registries of those things sit above this package, so their built-in names are repeated here and
a test over the registries keeps the two lists equal. Plug-ins add theirs through entry points, whose
names can be read without importing the plug-in.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cache
from importlib.metadata import entry_points
from types import MappingProxyType

TASKS = frozenset({"vln", "lh_vln", "objectnav", "imagenav", "pointnav", "localization"})

NAVIGATION_METRICS = frozenset(
    {
        "success", "oracle_success", "spl", "soft_spl", "navigation_error", "oracle_navigation_error",
        "distance_to_goal", "path_length", "steps", "collisions", "dtw", "ndtw", "sdtw", "coverage", "time",
    }
)  # fmt: skip
LH_VLN_METRICS = frozenset({"sr", "osr", "spl", "ne", "isr", "csr", "cgt", "tar", "score"})
LOCALIZATION_METRICS = frozenset({"acc@0.5m", "acc@1.0m", "acc@15deg", "acc@30deg"})

FORMATS = frozenset({"r2r", "rxr", "speaker_change", "objectnav", "imagenav", "pointnav", "lhvln", "sqa3d", "nav_eval"})
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
class Names:
    """The names that exist, by kind."""

    tasks: frozenset[str] = TASKS
    metrics: frozenset[str] = NAVIGATION_METRICS | LH_VLN_METRICS | LOCALIZATION_METRICS
    formats: frozenset[str] = FORMATS
    backends: frozenset[str] = BACKENDS

    @classmethod
    @cache
    def installed(cls) -> "Names":
        """The built-in names and those of every installed plug-in."""
        built_in, plugins = cls(), entry_points()
        return cls(
            **{
                field.name: getattr(built_in, field.name) | plugins.select(group=ENTRY_POINT_GROUPS[field.name]).names
                for field in fields(cls)
            }
        )
