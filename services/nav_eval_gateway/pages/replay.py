"""An episode the way it happened: the engine's replay page, in the frame of ours.

A worker leaves the whole of it as a film (map, cameras, goals). Where there is none, the page is made of what
the agent did, as far as the reader may know it: its way and its actions on plain paper; and it offers to have the
film made, which takes some seconds.
"""

import gzip
import math
from collections import OrderedDict
from collections.abc import Mapping, Sequence
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
from nav_eval.replay.model import Floor, Picture, Replay, ReplayEvent, ReplayStep, decode_replay
from nav_eval_gateway import permissions
from nav_eval_gateway.pages.context import Form, Visit, Visiting, make_path
from nav_eval_gateway.responses import is_gzip_accepted
from nav_eval_gateway.routes import episodes as episodes_api
from nav_eval_gateway.schemas.submissions import FilmAvailability
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
KEPT = 4
"""Films of some megabytes each: one page asks for the same one several times."""


class RecentFilms:
    """The films that were looked at last."""

    def __init__(self, most: int = KEPT) -> None:
        self._kept: OrderedDict[tuple[str, int], Replay] = OrderedDict()
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


@router.get("/submissions/{submission_id}/replay")
def show_replay(submission_id: UUID, episode: Episode, visit: Visiting) -> Response:
    """The page; what moves on it comes from the addresses below."""
    replay = _load_replay(visit, submission_id, episode)
    base = f"/submissions/{submission_id}/replay"
    asked = {"episode": episode}
    sources = {
        "data": make_path(f"{base}/data", asked),
        "words": make_path(f"{base}/words", {"language": visit.language}),
        **{f"view-{n}": make_path(f"{base}/view", {**asked, "number": str(n)}) for n in range(len(replay.views))},
    }
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
            is_scored=access.submission.state is SubmissionState.COMPLETED,
        )


def _find_film_state(visit: Visit, submission_id: UUID, episode: str) -> FilmAvailability:
    services = visit.services
    return episodes_api.show_film(submission_id, episode, visit.caller, services.database, services.blobs).state


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
    return _make_json_response(visit, replay_page.encode_data(_load_replay(visit, submission_id, episode)))


@router.get("/submissions/{submission_id}/replay/view")
def show_replay_view(submission_id: UUID, episode: Episode, number: int, visit: Visiting) -> Response:
    """The pictures of one camera."""
    views = _load_replay(visit, submission_id, episode).views
    if not 0 <= number < len(views):
        raise NotFound("This replay has no such camera.")
    return Response(replay_page.encode_frames(views[number]), media_type="application/json")


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


def _load_replay(visit: Visit, submission_id: UUID, episode: str) -> Replay:
    """The film of an episode, or a sketch of it, for those to whom the phase shows replays."""
    with visit.store.read() as session:
        access = permissions.get_submission_showing(session, visit.caller, submission_id, "replays")
        row = queries.get_episode(session, access.submission, episode)
        if row.status is None:
            raise NotFound(visit.t("replay.not_yet"))
        shows_scores, config = access.shows("episodes"), access.submission.phase.config
    recent: RecentFilms = visit.request.app.state.recent_films
    film = recent.film(visit, blob_keys.make_film_key(submission_id, episode))
    if film is None:
        services = visit.services
        line = episodes_api.show_replay(submission_id, episode, visit.caller, services.database, services.blobs)
        film = sketch_replay(msgspec.json.decode(line.body), benchmark=config.benchmark)  # type: ignore[attr-defined]
    return film if shows_scores else msgspec.structs.replace(film, metrics={})


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
