"""The body that must fit: what a navigation mesh is made for."""

import hashlib
from dataclasses import asdict, dataclass

from nav_eval.errors import NavigationError

#: (lower, upper) bounds of what we build for
_BOUNDS = {
    "radius": (0.02, 5.0),
    "height": (0.05, 50.0),
    "max_climb": (0.0, 10.0),
    "max_slope_degrees": (0.0, 89.0),
    "cell_size": (0.01, 1.0),
    "max_gap": (0.0, 2.0),
}


@dataclass(frozen=True, kw_only=True, slots=True)
class AgentShape:
    """An upright cylinder and what it can climb; Habitat's default agent unless stated."""

    radius: float = 0.1
    height: float = 1.5
    max_climb: float = 0.2  #: the highest step or kerb it walks over
    max_slope_degrees: float = 45.0
    cell_size: float = 0.05  #: spacing of the samples; boundaries are finer than this
    max_gap: float = 0.15  #: holes in the floor up to this width are closed (scans, seams between rooms)

    def __post_init__(self) -> None:
        for name, (lower, upper) in _BOUNDS.items():
            value = getattr(self, name)
            if not lower <= value <= upper:
                raise NavigationError(f"AgentShape.{name} is {value}; it must be between {lower} and {upper}.")
        if self.max_climb >= self.height:
            raise NavigationError(
                f"AgentShape.max_climb {self.max_climb} must be below its height {self.height}: "
                "an agent cannot step onto what is taller than itself."
            )

    @property
    def spacing(self) -> float:
        """The sample spacing that is used: at least two samples across the radius."""
        return min(self.cell_size, self.radius / 2.0)

    @property
    def digest(self) -> str:
        parts = ",".join(f"{name}={value!r}" for name, value in asdict(self).items())
        return hashlib.sha256(parts.encode()).hexdigest()[:16]
