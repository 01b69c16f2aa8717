"""Replays drawn with Pillow: the map as a picture, a video frame of cameras, map and words, and both for a whole run.

Those of a run (`output.save_video`, `output.save_maps`) are made after it: the evaluation is neither slowed nor
changed by them.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from io import BytesIO
from itertools import pairwise
from pathlib import Path

from PIL import Image, ImageDraw

from nav_eval.config import BenchmarkConfig
from nav_eval.errors import NavEvalError
from nav_eval.evaluation.run_folder import make_file_name
from nav_eval.records.geometry import Vec3
from nav_eval.replay.builder import ReplayBuilder
from nav_eval.replay.fonts import can_write, load_font
from nav_eval.replay.model import Floor, Replay, ReplayStep
from nav_eval.replay.video import CameraFrames, check_video, write_video
from nav_eval.whole_files import write_atomically

PAPER, INK, SOFT = (246, 247, 249), (27, 35, 48), (91, 101, 117)
STAGES = ((20, 99, 216), (194, 65, 12), (122, 31, 162), (15, 118, 110), (176, 18, 107), (107, 90, 0))
REFERENCE, BUMP, GOOD, WRONG = (21, 128, 61), (225, 29, 72), (24, 121, 78), (179, 38, 30)
AGENT = (250, 204, 21)
WHITE = (255, 255, 255)
Colour = tuple[int, int, int]

MOST_LETTERS = 400  #: of an instruction in a video
WIDEST_MAP = 560  #: pixels, in a video


class MapDrawing:
    """One storey of a replay: everything that stays, drawn once; what moves is drawn on copies."""

    def __init__(self, replay: Replay, index: int, *, within: tuple[int, int] | None = None) -> None:
        """`within` is the box (width, height) that the map fills; None leaves it as large as it is."""
        self._replay, self._index = replay, index
        floor = replay.floors[index]
        picture = Image.open(BytesIO(floor.picture.data)).convert("RGBA")
        across, down = within or picture.size
        self._zoom = min(across / picture.width, down / picture.height)
        size = (max(1, round(picture.width * self._zoom)), max(1, round(picture.height * self._zoom)))
        picture = picture.resize(size, Image.Resampling.LANCZOS)
        self._floor: Floor = floor
        self._base = Image.new("RGB", size, PAPER)
        self._base.paste(picture, mask=picture.getchannel("A"))
        self._unit = max(size) / 100
        self._draw_static(ImageDraw.Draw(self._base))

    def at(self, number: int) -> Image.Image:
        """The map when the agent is at a step: its way so far, and the agent if it is on this storey."""
        image = self._base.copy()
        pen = ImageDraw.Draw(image)
        steps = self._replay.steps
        for before, after in pairwise(steps[: number + 1]):
            if after.floor == self._index:
                self._draw_line(pen, [before.position, after.position], STAGES[after.stage % len(STAGES)], 0.9)
        for event in self._replay.events:
            if event.kind == "closed" and event.step <= number and steps[event.step].floor == self._index:
                self._draw_stop(pen, steps[event.step], GOOD if event.success else WRONG)
        if steps[number].floor == self._index:
            self._draw_arrow(pen, steps[number].position, steps[number].yaw, AGENT)
        return image

    def whole(self) -> Image.Image:
        """The map with the whole way."""
        return self.at(self._replay.last_step)

    def _draw_static(self, pen: ImageDraw.ImageDraw) -> None:
        for path in self._replay.paths:
            here = [p for p, floor in zip(path.points, path.floors, strict=True) if floor == self._index]
            self._draw_line(pen, here, REFERENCE, 0.5)
        for number, stage in enumerate(self._replay.stages):
            for target in stage.targets:
                if target.floor == self._index:
                    self._draw_goal(pen, target.position, number)
        for guess in self._replay.guesses:
            if guess.floor == self._index:
                self._draw_arrow(pen, guess.position, guess.yaw, STAGES[1])
        for step in self._replay.steps:
            if step.collided and step.floor == self._index:
                self._draw_dot(pen, step.position, 0.7, BUMP)
        start = self._replay.steps[0]
        if start.floor == self._index:
            self._draw_dot(pen, start.position, 1.4, WHITE, outline=INK)

    def _to_pixel(self, point: Vec3) -> tuple[float, float]:
        column, row = self._floor.pixel(point)
        return column * self._zoom, row * self._zoom

    def _draw_line(self, pen: ImageDraw.ImageDraw, points: Sequence[Vec3], colour: Colour, width: float) -> None:
        if len(points) > 1:
            thick = max(1, round(width * self._unit))
            pen.line([self._to_pixel(point) for point in points], fill=colour, width=thick, joint="curve")

    def _draw_dot(
        self, pen: ImageDraw.ImageDraw, point: Vec3, radius: float, fill: Colour, outline: Colour | None = None
    ) -> None:
        thick = max(1, round(0.5 * self._unit)) if outline else 0
        pen.circle(self._to_pixel(point), radius * self._unit, fill=fill, outline=outline, width=thick)

    def _draw_goal(self, pen: ImageDraw.ImageDraw, point: Vec3, number: int) -> None:
        colour = STAGES[number % len(STAGES)]
        reach = self._replay.success_distance * self._floor.pixels_per_metre * self._zoom
        pen.circle(self._to_pixel(point), reach, outline=colour, width=max(1, round(0.25 * self._unit)))
        self._draw_dot(pen, point, 1.8, colour, outline=WHITE)
        pen.text(
            self._to_pixel(point), str(number + 1), fill=WHITE, font=load_font(round(2.4 * self._unit)), anchor="mm"
        )

    def _draw_stop(self, pen: ImageDraw.ImageDraw, step: ReplayStep, colour: Colour) -> None:
        x, y = self._to_pixel(step.position)
        half = 1.3 * self._unit
        pen.rectangle((x - half, y - half, x + half, y + half), fill=colour, outline=WHITE, width=2)

    def _draw_arrow(self, pen: ImageDraw.ImageDraw, point: Vec3, yaw: float, colour: Colour) -> None:
        x, y = self._to_pixel(point)
        ahead, aside = (-math.sin(yaw), -math.cos(yaw)), (math.cos(yaw), -math.sin(yaw))
        corners = [(2.4, 0.0), (-1.6, 1.6), (-0.8, 0.0), (-1.6, -1.6)]
        shape = [
            (x + self._unit * (f * ahead[0] + s * aside[0]), y + self._unit * (f * ahead[1] + s * aside[1]))
            for f, s in corners
        ]
        pen.polygon(shape, fill=colour, outline=INK, width=max(1, round(0.3 * self._unit)))


class FrameDrawing:
    """Video frames of one replay: cameras on top, the map and what happens below them."""

    def __init__(self, replay: Replay, *, height: int = 360) -> None:
        self._replay, self._height = replay, height
        self._maps = [MapDrawing(replay, index, within=(WIDEST_MAP, height)) for index in range(len(replay.floors))]
        self._map_width = max(drawing.at(0).width for drawing in self._maps)

    def frame(self, number: int, shot: CameraFrames) -> Image.Image:
        """The picture of one step; both sides are even, as video wants them."""
        views = [Image.fromarray(picture) for picture in shot.values()]
        across = max(sum(view.width for view in views), self._map_width + self._height)
        top = max((view.height for view in views), default=0)
        image = Image.new("RGB", (across + across % 2, top + self._height + (top + self._height) % 2), PAPER)
        left = 0
        for view in views:
            image.paste(view, (left, 0))
            left += view.width
        image.paste(self._maps[self._replay.steps[number].floor].at(number), (0, top))
        pen = ImageDraw.Draw(image)
        self._write_text(pen, number, left=self._map_width + 14, top=top + 10, right=across - 10)
        return image

    def _write_text(self, pen: ImageDraw.ImageDraw, number: int, *, left: int, top: int, right: int) -> None:
        replay, step = self._replay, self._replay.steps[number]
        told = replay.instruction or (f"Find: {replay.object_category}" if replay.object_category else "")
        colour = STAGES[step.stage % len(STAGES)]
        lines: list[tuple[str, Colour]] = [(f"step {number} of {replay.last_step}   {step.action or 'start'}", INK)]
        if replay.stages:
            distance = "no path" if step.distance is None else f"{step.distance:.2f} m"
            lines.append((f"{step.stage + 1}. {replay.stages[step.stage].name}: {distance}", colour))
        lines += [("collision", BUMP)] if step.collided else [("", INK)]
        if can_write("".join(told.split())):
            lines += [(line, SOFT) for line in _wrap_text(told[:MOST_LETTERS], pen, right - left)]
        for place, (line, ink) in enumerate(lines):
            pen.text((left, top + 24 * place + 17), line, fill=ink, font=load_font(17, line), anchor="ls")


def _wrap_text(text: str, pen: ImageDraw.ImageDraw, width: int) -> list[str]:
    """Lines that fit; Chinese has no spaces to break at, so letters are what is counted."""
    lines, font = [""], load_font(17, "".join(text.split()))
    for word in text.split():
        for piece in [word] if pen.textlength(word, font=font) <= width else list(word):
            longer = f"{lines[-1]} {piece}".strip() if piece == word else lines[-1] + piece
            if pen.textlength(longer, font=font) <= width:
                lines[-1] = longer
            else:
                lines.append(piece)
    return lines


VIDEOS, MAPS = "videos", "maps"
GAP = 12  #: pixels between the storeys of a map


def check_video_output(benchmark: BenchmarkConfig) -> None:
    """Refuse what cannot be written before anything is played."""
    if benchmark.output.save_video:
        check_video()


def write_illustrations(run: Path, benchmark: BenchmarkConfig, *, cache: Path) -> list[Path]:
    """Write what `output.save_video` and `output.save_maps` ask for; files that are there are kept."""
    output = benchmark.output
    if not (output.save_video or output.save_maps):
        return []
    with ReplayBuilder(run, cache=cache) as builder:
        return list(_illustrate_episodes(builder, run, videos=output.save_video, maps=output.save_maps))


def _illustrate_episodes(builder: ReplayBuilder, run: Path, *, videos: bool, maps: bool) -> Iterator[Path]:
    for episode_id in builder.results:
        name = make_file_name(episode_id)
        video, picture = run / VIDEOS / f"{name}.mp4", run / MAPS / f"{name}.png"
        wanted = [path for path, asked in ((video, videos), (picture, maps)) if asked and not path.exists()]
        if not wanted:
            continue
        replay = builder.replay(episode_id)
        if picture in wanted:
            write_map(picture, replay)
        if video in wanted:
            write_replay_video(video, replay, builder)
        yield from wanted


def write_replay_video(
    path: Path,
    replay: Replay,
    builder: ReplayBuilder,
    *,
    fps: int = 5,
    told: Callable[[int], None] = lambda _: None,
) -> int:
    """Cameras, map and words, step by step; `told` hears of each step that is drawn."""
    return write_video(path, _draw_frames(replay, builder, told), fps=fps)


def _draw_frames(replay: Replay, builder: ReplayBuilder, told: Callable[[int], None]) -> Iterator[Image.Image]:
    drawing = FrameDrawing(replay)
    for number, shot in enumerate(builder.shots(replay)):
        yield drawing.frame(number, shot)
        told(number)


def write_map(path: Path, replay: Replay) -> None:
    """The storeys of an episode side by side, with the whole way on them."""
    if path.suffix.lower() != ".png":
        raise NavEvalError(f"{path}: a map is written as PNG; give a name that ends in .png.")
    storeys = [MapDrawing(replay, index).whole() for index in range(len(replay.floors))]
    size = (sum(s.width for s in storeys) + GAP * (len(storeys) - 1), max(s.height for s in storeys))
    sheet = Image.new("RGB", size, (255, 255, 255))
    left = 0
    for storey in storeys:
        sheet.paste(storey, (left, 0))
        left += storey.width + GAP
    buffer = BytesIO()
    sheet.save(buffer, format="PNG", optimize=True)
    write_atomically(path, buffer.getvalue())
