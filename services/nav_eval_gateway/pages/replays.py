"""An episode the way it happened: the engine's replay page, in the frame of ours.

A worker leaves the whole of it as a film (map, cameras, goals). Where there is none, the page is made of what
the agent did, as far as the reader may know it: its way and its actions on plain paper; and it offers to have the
film made, which takes some seconds.
"""

import gzip
from collections import OrderedDict
from typing import Annotated
from urllib.parse import quote
from uuid import UUID

import msgspec
from fastapi import APIRouter, Query
from markupsafe import Markup
from starlette.responses import Response

from nav_eval.evaluation.replay import page as replay_page
from nav_eval.evaluation.replay.model import Replay, decode_replay
from nav_eval_gateway import access
from nav_eval_gateway.negotiation import accepts_gzip
from nav_eval_gateway.pages.sketching import sketch
from nav_eval_gateway.pages.visiting import Form, Visit, Visiting, address
from nav_eval_gateway.routes import evidence
from nav_eval_gateway.schemas.submissions import Film
from nav_eval_store import episodes, places
from nav_eval_store.errors import NotFound
from nav_eval_store.lifecycle import State
from nav_eval_store.models import EpisodeRow
from nav_eval_store.paging import LARGEST_PAGE
from nav_eval_store.tokens import Scope

router = APIRouter(include_in_schema=False)
LONGEST_EPISODE = 500
Episode = Annotated[str, Query(max_length=LONGEST_EPISODE)]
KEPT = 4
"""Films of some megabytes each: one page asks for the same one several times."""


class FilmShelf:
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
    replay = _replay(visit, submission_id, episode)
    base = f"/submissions/{submission_id}/replay"
    asked = {"episode": episode}
    sources = {
        "data": address(f"{base}/data", asked),
        "words": address(f"{base}/words", {"language": visit.language}),
        **{f"view-{n}": address(f"{base}/view", {**asked, "number": str(n)}) for n in range(len(replay.views))},
    }
    body = replay_page.render_body(replay, sources=sources, language=visit.language)
    with visit.services.database.read() as session:
        sight = access.part_of(session, visit.caller, submission_id, "replays")
        rows = episodes.listing(session, sight.submission, limit=LARGEST_PAGE).items if sight.shows("episodes") else ()
        before, after = _neighbours([row for row in rows if row.status is not None], episode)
        return visit.page(
            "replay.html.j2",
            body=Markup(body),  # noqa: S704  escaped by its own template
            submission=sight.submission,
            phase=sight.submission.phase,
            competition=sight.submission.phase.competition,
            episode=episode,
            before=before,
            after=after,
            film=_film(visit, submission_id, episode),
            film_url=f"/api/v1/submissions/{submission_id}/episodes/{quote(episode)}/film",
            is_scored=sight.submission.state is State.COMPLETED,
        )


def _film(visit: Visit, submission_id: UUID, episode: str) -> Film:
    services = visit.services
    return evidence.show_film(submission_id, episode, visit.caller, services.database, services.blobs).state


@router.post("/submissions/{submission_id}/replay/film")
def ask_for_film(submission_id: UUID, visit: Visiting, form: Form) -> Response:
    """Have the film made; the page shows it when it is there."""
    caller, services = visit.signed_in(Scope.SUBMIT), visit.services
    episode = form.text("episode")[:LONGEST_EPISODE]
    evidence.ask_for_film(submission_id, episode, caller, services.database, services.blobs, services.messenger)
    return visit.go(address(f"/submissions/{submission_id}/replay", {"episode": episode}))


def _neighbours(rows: list[EpisodeRow], episode: str) -> tuple[str | None, str | None]:
    names = [row.episode_id for row in rows]
    if episode not in names:
        return None, None
    place = names.index(episode)
    return names[place - 1] if place else None, names[place + 1] if place + 1 < len(names) else None


@router.get("/submissions/{submission_id}/replay/data")
def show_replay_data(submission_id: UUID, episode: Episode, visit: Visiting) -> Response:
    """All but the camera pictures."""
    return _json(visit, replay_page.data_json(_replay(visit, submission_id, episode)))


@router.get("/submissions/{submission_id}/replay/view")
def show_replay_view(submission_id: UUID, episode: Episode, number: int, visit: Visiting) -> Response:
    """The pictures of one camera."""
    views = _replay(visit, submission_id, episode).views
    if not 0 <= number < len(views):
        raise NotFound("This replay has no such camera.")
    return Response(replay_page.frames_json(views[number]), media_type="application/json")


@router.get("/submissions/{submission_id}/replay/words")
def show_replay_words(submission_id: UUID, visit: Visiting) -> Response:
    """What the script says."""
    del submission_id
    return Response(replay_page.words_json(visit.language), media_type="application/json")


def _json(visit: Visit, body: bytes) -> Response:
    if not accepts_gzip(visit.request.headers):
        return Response(body, media_type="application/json")
    headers = {"Content-Encoding": "gzip", "Vary": "Accept-Encoding"}
    return Response(gzip.compress(body, compresslevel=1, mtime=0), headers=headers, media_type="application/json")


def _replay(visit: Visit, submission_id: UUID, episode: str) -> Replay:
    """The film of an episode, or a sketch of it, for those to whom the phase shows replays."""
    with visit.services.database.read() as session:
        sight = access.part_of(session, visit.caller, submission_id, "replays")
        row = episodes.get(session, sight.submission, episode)
        if row.status is None:
            raise NotFound(visit.t("replay.not_yet"))
        shows_scores, config = sight.shows("episodes"), sight.submission.phase.config
    shelf: FilmShelf = visit.request.app.state.film_shelf
    film = shelf.film(visit, places.film(submission_id, episode))
    if film is None:
        services = visit.services
        line = evidence.show_replay(submission_id, episode, visit.caller, services.database, services.blobs)
        film = sketch(msgspec.json.decode(line.body), benchmark=config.benchmark)  # type: ignore[attr-defined]
    return film if shows_scores else msgspec.structs.replace(film, metrics={})
