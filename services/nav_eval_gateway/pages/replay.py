"""An episode the way it happened: the engine's replay page, in the frame of ours.

A worker leaves the whole of it as a film (map, cameras, goals). Where there is none, the page is made of what
the agent did, as far as the reader may know it: its way and its actions on plain paper; and it offers to have the
film made, which takes some seconds.
"""

import gzip
import math
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Annotated, Any
from urllib.parse import quote
from uuid import UUID

import msgspec
from fastapi import APIRouter, Query
from markupsafe import Markup
from starlette.responses import Response

from nav_eval.records.geometry import Vec3
from nav_eval.replay import page as replay_page
from nav_eval.replay.model import Floor, Picture, Replay, ReplayEvent, ReplayStep, decode_outline, decode_replay
from nav_eval_gateway import permissions
from nav_eval_gateway.pages import thumbnails
from nav_eval_gateway.pages.agent_log import LogLine, split_log
from nav_eval_gateway.pages.context import Form, Visit, Visiting, make_path
from nav_eval_gateway.permissions import SubmissionAccess
from nav_eval_gateway.responses import is_gzip_accepted
from nav_eval_gateway.routes import artifacts as artifacts_api
from nav_eval_gateway.routes import episodes as episodes_api
from nav_eval_gateway.routes import videos as videos_api
from nav_eval_gateway.schemas.submissions import FilmAvailability, VideoAnswer
from nav_eval_store import blob_keys
from nav_eval_store.database import LARGEST_PAGE
from nav_eval_store.errors import NotFound
from nav_eval_store.models import EpisodeRow
from nav_eval_store.people.accounts import Scope
from nav_eval_store.submissions import queries
from nav_eval_store.submissions.lifecycle import SubmissionState

router = APIRouter(include_in_schema=False)
LONGEST_EPISODE = 500
Episode = Annotated[str, Query(max_length=LONGEST_EPISODE)]
MOST_FRAMES = 32
"""Steps whose pictures are sent at once."""
KEPT = 4
"""Films of some megabytes each: one page asks for the same one several times."""


class RecentFilms:
    """The films that were looked at last."""

    def __init__(self, most: int = KEPT) -> None:
        self._kept: OrderedDict[tuple[str, int], Replay] = OrderedDict()
        self._clips: OrderedDict[tuple[int, bool], tuple[Replay, bytes]] = OrderedDict()
        self._most = most

    def film(self, visit: Visit, key: str) -> Replay | None:
        blobs = visit.services.blobs
        if not blobs.exists(key):
            return None
        name = (key, blobs.size(key))
        if name not in self._kept:
            self._kept[name] = decode_replay(blobs.get(key), where=key)
            while len(self._kept) > self._most:
                self._kept.popitem(last=False)
        return self._kept[name]

    def clip(self, film: Replay, *, still: bool, make: Callable[..., bytes]) -> bytes:
        """A moving picture of a film, made once while it is asked for."""
        name = (id(film), still)
        if name not in self._clips or self._clips[name][0] is not film:
            self._clips[name] = (film, make(film.views[0], still=still))
            while len(self._clips) > 2 * self._most:
                self._clips.popitem(last=False)
        return self._clips[name][1]


@router.get("/submissions/{submission_id}/replay")
def show_replay(submission_id: UUID, episode: Episode, visit: Visiting) -> Response:
    """The page; what moves on it comes from the addresses below."""
    replay = load_replay(visit, submission_id, episode)
    base = f"/submissions/{submission_id}/replay"
    asked = {"episode": episode}
    sources = {
        "data": make_path(f"{base}/data", asked),
        "words": make_path(f"{base}/words", {"language": visit.language}),
    }
    if replay.views:
        sources["frames"] = make_path(f"{base}/frames", asked)
    body = replay_page.render_body(replay, sources=sources, language=visit.language)
    with visit.store.read() as session:
        access = permissions.get_submission_showing(session, visit.caller, submission_id, "replays")
        rows = (
            queries.list_episodes(session, access.submission, limit=LARGEST_PAGE).items
            if access.shows("episodes")
            else ()
        )
        before, after = _find_neighbours([row for row in rows if row.status is not None], episode)
        return visit.page(
            "replay.html.j2",
            body=Markup(body),  # noqa: S704  escaped by its own template
            submission=access.submission,
            phase=access.submission.phase,
            competition=access.submission.phase.competition,
            episode=episode,
            before=before,
            after=after,
            film=_find_film_state(visit, submission_id, episode),
            film_url=f"/api/v1/submissions/{submission_id}/episodes/{quote(episode)}/film",
            video=_find_video(visit, submission_id, episode),
            video_url=f"/api/v1/submissions/{submission_id}/episodes/{quote(episode)}/video",
            is_scored=access.submission.state is SubmissionState.COMPLETED,
            log=_read_log(visit, access, episode, last_step=replay.last_step),
        )


def _read_log(visit: Visit, access: SubmissionAccess, episode: str, *, last_step: int) -> list[LogLine] | None:
    """What the agent printed in this episode, for those who may read it."""
    if not (access.shows("logs") and access.shows("episodes")):
        return None
    services = visit.services
    answer = artifacts_api.read_logs(
        access.submission.id, visit.caller, services.database, services.blobs, episode=episode
    )
    return split_log(bytes(answer.body).decode(), last_step=last_step)


def _find_film_state(visit: Visit, submission_id: UUID, episode: str) -> FilmAvailability:
    services = visit.services
    return episodes_api.show_film(submission_id, episode, visit.caller, services.database, services.blobs).state


def _find_video(visit: Visit, submission_id: UUID, episode: str) -> VideoAnswer:
    services = visit.services
    return videos_api.show_video(submission_id, episode, visit.caller, services.database, services.blobs)


@router.post("/submissions/{submission_id}/replay/video")
def ask_for_video(submission_id: UUID, visit: Visiting, form: Form) -> Response:
    """Have a video made; the page tells how it comes along."""
    caller, services = visit.require_user(Scope.SUBMIT), visit.services
    episode = form.text("episode")[:LONGEST_EPISODE]
    videos_api.ask_for_video(submission_id, episode, caller, services.database, services.blobs, services.publisher)
    return visit.go(make_path(f"/submissions/{submission_id}/replay", {"episode": episode}))


@router.post("/submissions/{submission_id}/replay/film")
def ask_for_film(submission_id: UUID, visit: Visiting, form: Form) -> Response:
    """Have the film made; the page shows it when it is there."""
    caller, services = visit.require_user(Scope.SUBMIT), visit.services
    episode = form.text("episode")[:LONGEST_EPISODE]
    episodes_api.ask_for_film(submission_id, episode, caller, services.database, services.blobs, services.publisher)
    return visit.go(make_path(f"/submissions/{submission_id}/replay", {"episode": episode}))


def _find_neighbours(rows: list[EpisodeRow], episode: str) -> tuple[str | None, str | None]:
    names = [row.episode_id for row in rows]
    if episode not in names:
        return None, None
    place = names.index(episode)
    return names[place - 1] if place else None, names[place + 1] if place + 1 < len(names) else None


@router.get("/submissions/{submission_id}/replay/data")
def show_replay_data(submission_id: UUID, episode: Episode, visit: Visiting) -> Response:
    """All but the camera pictures."""
    return _make_json_response(visit, replay_page.encode_data(load_replay(visit, submission_id, episode)))


@router.get("/submissions/{submission_id}/replay/frames")
def show_replay_frames(
    submission_id: UUID,
    episode: Episode,
    visit: Visiting,
    start: Annotated[int, Query(ge=0)] = 0,
    stop: Annotated[int, Query(ge=0)] = MOST_FRAMES,
    views: Annotated[str | None, Query(max_length=100, pattern=r"^\d{1,3}(,\d{1,3})*$")] = None,
) -> Response:
    """The pictures of some steps and views (numbers, by comma): pages ask for those that are looked at first."""
    replay = load_replay(visit, submission_id, episode)
    if not replay.views:
        raise NotFound("This replay has no pictures.")
    stop = min(stop, start + MOST_FRAMES)
    asked = None if views is None else sorted({int(number) for number in views.split(",")})
    if any(number >= len(replay.views) for number in asked or ()):
        raise NotFound("This replay has no such pictures.")
    return _make_json_response(visit, replay_page.encode_frame_range(replay, start=start, stop=stop, views=asked))


@router.get("/submissions/{submission_id}/replay/thumbnail")
def show_thumbnail(submission_id: UUID, episode: Episode, visit: Visiting) -> Response:
    """The way of the agent, small; on its map where there is a film."""
    _refuse_hidden(visit, submission_id, episode)
    blobs, key = visit.services.blobs, blob_keys.make_film_key(submission_id, episode)
    found = decode_outline(blobs.get(key), where=key) if blobs.exists(key) else None
    drawn = thumbnails.draw_thumbnail(found or _sketch(visit, submission_id, episode))
    return Response(drawn, headers={"Cache-Control": "private, max-age=300"}, media_type="image/svg+xml")


@router.get("/submissions/{submission_id}/replay/words")
def show_replay_words(submission_id: UUID, visit: Visiting) -> Response:
    """What the script says."""
    del submission_id
    return Response(replay_page.encode_words(visit.language), media_type="application/json")


def _make_json_response(visit: Visit, body: bytes) -> Response:
    if not is_gzip_accepted(visit.request.headers):
        return Response(body, media_type="application/json")
    headers = {"Content-Encoding": "gzip", "Vary": "Accept-Encoding"}
    return Response(gzip.compress(body, compresslevel=1, mtime=0), headers=headers, media_type="application/json")


def load_replay(visit: Visit, submission_id: UUID, episode: str) -> Replay:
    """The film of an episode, or a sketch of it, for those to whom the phase shows replays."""
    access = _refuse_hidden(visit, submission_id, episode)
    recent: RecentFilms = visit.request.app.state.recent_films
    film = recent.film(visit, blob_keys.make_film_key(submission_id, episode)) or _sketch(visit, submission_id, episode)
    return film if access.shows("episodes") else msgspec.structs.replace(film, metrics={})


def _refuse_hidden(visit: Visit, submission_id: UUID, episode: str) -> SubmissionAccess:
    """The access to an episode's replay, if there is one."""
    with visit.store.read() as session:
        access = permissions.get_submission_showing(session, visit.caller, submission_id, "replays")
        if queries.get_episode(session, access.submission, episode).status is None:
            raise NotFound(visit.t("replay.not_yet"))
        return access


def _sketch(visit: Visit, submission_id: UUID, episode: str) -> Replay:
    """What the agent did, as far as the reader may know it."""
    services = visit.services
    line = episodes_api.show_replay(submission_id, episode, visit.caller, services.database, services.blobs)
    with visit.store.read() as session:
        benchmark = queries.get_submission(session, submission_id).phase.config.benchmark
    return sketch_replay(msgspec.json.decode(line.body), benchmark=benchmark)  # type: ignore[attr-defined]


MARGIN = 1.0
"""Metres of paper around the way."""
LONGEST_SIDE = 900.0
FINEST = 60.0
"""Pixels per metre."""
NOWHERE: Vec3 = (0.0, 0.0, 0.0)


def sketch_replay(line: Mapping[str, Any], *, benchmark: str) -> Replay:
    """A line of episodes.jsonl as a replay."""
    actions = [_parse_action(entry) for entry in line.get("actions") or ()]
    points = _find_path(line) or [NOWHERE]
    places = [points[min(number, len(points) - 1)] for number in range(len(actions) + 1)]
    headings = _compute_headings(places)
    steps = [
        ReplayStep(
            position=place,
            yaw=headings[number],
            action=None if number == 0 else actions[number - 1][0],
            arguments={} if number == 0 else actions[number - 1][1],
        )
        for number, place in enumerate(places)
    ]
    last = actions[-1][0] if actions else ""
    reason = line.get("cause") or (last if last in ("stop", "answer") else "step limit")
    return Replay(
        benchmark=benchmark,
        task="",
        episode_id=str(line["episode_id"]),
        scene_id="",
        status=str(line.get("status") or ""),
        steps=steps,
        stages=[],
        events=[ReplayEvent(step=len(steps) - 1, kind="end", stage=0, reason=str(reason))],
        floors=[draw_grid(places)],
        paths=[],
        metrics=line.get("metrics") or {},
        success_distance=0.0,
        max_steps=len(actions),
        cause=line.get("cause"),
        detail=line.get("detail"),
    )


def _find_path(line: Mapping[str, Any]) -> list[Vec3]:
    """Where the agent went; of one that answers where it is, its answers."""
    answers = [
        entry["poses"][0] for entry in line.get("actions") or () if isinstance(entry, dict) and entry.get("poses")
    ]
    return [(float(x), float(y), float(z)) for x, y, z, *_ in answers or line.get("trajectory") or ()]


def _parse_action(entry: object) -> tuple[str, dict[str, float]]:
    """An entry of the log: a name, or an object with arguments."""
    if not isinstance(entry, dict):
        return str(entry), {}
    given = entry.get("action_args") or {}
    return str(entry.get("action")), {str(k): float(v) for k, v in given.items() if isinstance(v, int | float)}


def _compute_headings(places: Sequence[Vec3]) -> list[float]:
    """Where each step looks: along the next piece of the way, or as before where there is none."""
    found: list[float | None] = [_compute_direction(a, b) for a, b in pairwise(places)]
    heading = 0.0
    turned = []
    for direction in reversed([*found, None]):
        heading = heading if direction is None else direction
        turned.append(heading)
    return turned[::-1]


def _compute_direction(start: Vec3, end: Vec3) -> float | None:
    x, z = end[0] - start[0], end[2] - start[2]
    return None if math.hypot(x, z) < 1e-6 else math.atan2(-x, -z)


def draw_grid(places: Sequence[Vec3]) -> Floor:
    """A sheet with a line per metre, large enough for the whole way."""
    left, right = min(p[0] for p in places) - MARGIN, max(p[0] for p in places) + MARGIN
    top, bottom = min(p[2] for p in places) - MARGIN, max(p[2] for p in places) + MARGIN
    left, top = math.floor(left), math.floor(top)
    scale = min(FINEST, LONGEST_SIDE / max(right - left, bottom - top))
    width, height = math.ceil((right - left) * scale), math.ceil((bottom - top) * scale)
    columns = "".join(f"M{n * scale:.1f} 0V{height}" for n in range(math.ceil(right - left) + 1))
    rows = "".join(f"M0 {n * scale:.1f}H{width}" for n in range(math.ceil(bottom - top) + 1))
    drawn = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}">'
        '<rect width="100%" height="100%" fill="#eef0ea"/>'
        f'<path d="{columns}{rows}" stroke="#cfd4c8" fill="none"/></svg>'
    )
    picture = Picture(data=drawn.encode(), width=width, height=height, media_type="image/svg+xml")
    height_above = min(p[1] for p in places)
    return Floor(height=height_above, left=left, top=top, pixels_per_metre=scale, picture=picture)
