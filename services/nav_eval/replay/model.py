"""What a replay is: everything that a page or a video shows of one episode, and nothing that it must look up.

World coordinates are metres, Y up; a `Floor` says how they become pixels. Pictures are JPEG or WebP; in JSON they
are base64. `episode.json` of a replay is this struct, so fields are only ever added.
"""

import math
from typing import Any, TypeVar

import msgspec

from nav_eval.errors import RecordError
from nav_eval.records.geometry import Vec3

FORMAT = "nav-eval/replay/1"
T = TypeVar("T")


class _Record(msgspec.Struct, frozen=True, kw_only=True):
    """What the structs of this module have in common."""


class ReplayStep(_Record, frozen=True, kw_only=True):
    """The agent after one action; the first step is the start, before any."""

    position: Vec3
    yaw: float  #: radians to the left of −Z
    tilt: float = 0.0  #: degrees that the cameras look up
    action: str | None = None  #: what led here; none at the start
    text: str = ""  #: why, in the agent's own words; an answer or a question where the action is one
    reply: str = ""  #: what the informant said to a question
    arguments: dict[str, float] = {}
    collided: bool = False
    stage: int = 0  #: the stage that was under way when the action was taken
    distance: float | None = None  #: metres to that stage's nearest goal, as the task measures it; null without a way
    floor: int = 0  #: index into `floors`


class ReplayEvent(_Record, frozen=True, kw_only=True):
    """Something worth a mark on the time line."""

    step: int
    kind: str  #: `reached`: inside the success distance for the first time; `closed`: by a stop; `end`: of the episode
    stage: int
    success: bool | None = None
    reason: str = ""  #: how the episode ended: stop, step limit, answer, or the named cause of a failure


class ReplayTarget(_Record, frozen=True, kw_only=True):
    """One place that counts."""

    position: Vec3
    floor: int = 0
    name: str = ""
    view_points: list[Vec3] = []  #: where it is seen from; distances are measured to these if the task says so


class ReplayStage(_Record, frozen=True, kw_only=True):
    """One sub-task; other tasks have a single one."""

    name: str
    region: str | None = None
    targets: list[ReplayTarget] = []
    success: bool = False
    closed_at: int | None = None  #: the step of its stop; null if it was never closed
    distance: float | None = None  #: metres to the nearest goal when it was closed, or where the episode ended


class ReplayPath(_Record, frozen=True, kw_only=True):
    """A way that somebody should have gone."""

    points: list[Vec3]
    floors: list[int]  #: of each point, index into `floors`
    kind: str = "reference"
    """`reference`: the dataset's; `shortest`: measured on the ground where the dataset has none."""


class Guess(_Record, frozen=True, kw_only=True):
    """One answer of a localization episode."""

    position: Vec3
    yaw: float
    floor: int = 0  #: index into `floors`
    position_error: float  #: metres, as the metric has it
    rotation_error: float  #: degrees, as the metric has it


class Picture(_Record, frozen=True, kw_only=True):
    """A picture with its type."""

    data: bytes
    width: int
    height: int
    media_type: str = "image/jpeg"


class Floor(_Record, frozen=True, kw_only=True):
    """A map of one storey: x grows to the right, z grows downwards."""

    height: float  #: world y of the floor
    left: float  #: world x of the picture's left edge
    top: float  #: world z of the picture's top edge
    pixels_per_metre: float
    picture: Picture

    def pixel(self, point: Vec3) -> tuple[float, float]:
        """(column, row) of a place; may lie outside of the picture."""
        return (point[0] - self.left) * self.pixels_per_metre, (point[2] - self.top) * self.pixels_per_metre


class CameraView(_Record, frozen=True, kw_only=True):
    """What one camera saw: a picture per step, the start included."""

    sensor: str
    width: int
    height: int
    kind: str = "colour"  #: `nav_eval.replay.view_kinds.ViewKind`; views of one sensor are of different kinds
    media_type: str = "image/jpeg"
    frames: list[bytes] = []


class Replay(_Record, frozen=True, kw_only=True):
    """One episode of one run."""

    benchmark: str
    task: str
    episode_id: str
    scene_id: str
    status: str
    steps: list[ReplayStep]
    stages: list[ReplayStage]
    events: list[ReplayEvent]
    floors: list[Floor]
    paths: list[ReplayPath]
    metrics: dict[str, bool | float | None]
    success_distance: float
    max_steps: int
    agent: dict[str, str] = {}
    cause: str | None = None
    detail: str | None = None
    instruction: str | None = None
    language: str | None = None
    object_category: str | None = None
    goal_picture: Picture | None = None
    guesses: list[Guess] = []
    randomization: dict[str, Any] | None = None
    differences: list[str] = []  #: where the actions do not lead to what the run states; empty for every honest run
    views: list[CameraView] = []
    engine_version: str = ""
    format: str = FORMAT

    @property
    def spoken(self) -> list[tuple[int, ReplayStep]]:
        """The steps at which something was said, with their numbers."""
        return [(number, step) for number, step in enumerate(self.steps) if step.text or step.reply]

    @property
    def last_step(self) -> int:
        return len(self.steps) - 1


def to_finite(value: float) -> float | None:
    """JSON has no infinity: without a way there is no distance."""
    return value if math.isfinite(value) else None


class ReplayOutline(_Record, frozen=True, kw_only=True):
    """The part of a replay that a small picture of it needs; camera pictures are skipped where a file is read so."""

    steps: list[ReplayStep]
    stages: list[ReplayStage]
    floors: list[Floor]


_decoder, _outlines = msgspec.json.Decoder(Replay), msgspec.json.Decoder(ReplayOutline)


def encode_replay(replay: Replay) -> bytes:
    """Strict JSON; what is not a number is null."""
    return msgspec.json.encode(replay)


def decode_replay(data: bytes, *, where: str) -> Replay:
    """A replay out of a file; refuses what is none."""
    return _decode(_decoder, data, where)


def decode_outline(data: bytes, *, where: str) -> ReplayOutline:
    """What a small picture needs of a replay's file."""
    return _decode(_outlines, data, where)


def _decode(decoder: msgspec.json.Decoder[T], data: bytes, where: str) -> T:
    try:
        return decoder.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise RecordError(f"{where} is not a replay: {error}. Make it again with `nav-eval replay`.") from error
