"""Competitions and their phases, which are public; and competitions to take away.

An organiser may have all of a competition, anybody what is public of it.
"""

import os
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, BinaryIO
from uuid import UUID

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import StreamingResponse

from nav_eval_gateway import permissions
from nav_eval_gateway.dependencies import Organiser, Parts, Services, Store
from nav_eval_gateway.errors import describe_problems
from nav_eval_gateway.responses import has_already, stream_zip
from nav_eval_gateway.schemas.competitions import CompetitionAnswer, CompetitionSummary, PhaseAnswer
from nav_eval_store import audit
from nav_eval_store.competitions import configuration, export
from nav_eval_store.database import Session
from nav_eval_store.models import Competition

router = APIRouter(tags=["competitions"])


@router.get("/competitions")
def list_competitions(store: Store) -> list[CompetitionSummary]:
    """All competitions of this installation."""
    with store.read() as session:
        return [CompetitionSummary.of(competition) for competition in configuration.list_competitions(session)]


@router.get("/competitions/{competition}", responses=describe_problems(404))
def show_competition(competition: str, store: Store) -> CompetitionAnswer:
    """A competition with its phases: dates, quotas, limits, rules, baselines."""
    with store.read() as session:
        return CompetitionAnswer.of(configuration.get_competition(session, competition), session.now())


@router.get("/competitions/{competition}/phases/{phase}", responses=describe_problems(404))
def show_phase(competition: str, phase: str, store: Store) -> PhaseAnswer:
    """One phase."""
    with store.read() as session:
        return PhaseAnswer.of(permissions.get_phase(session, competition, phase), session.now())


export_router = APIRouter(tags=["exports"])
ZIP = "application/zip"
CHUNK = 1 << 18
_ARCHIVE: dict[int | str, dict[str, Any]] = {
    200: {"description": "A zip archive.", "content": {ZIP: {"schema": {"type": "string", "format": "binary"}}}}
}


@export_router.get(
    "/competitions/{competition}/export",
    response_class=StreamingResponse,
    responses={**_ARCHIVE, **describe_problems(401, 403, 404)},
    summary="Export a whole competition",
)
def export_competition(
    competition: str,
    caller: Organiser,
    parts: Parts,
    actions: Annotated[
        bool, Query(description="With trajectories and actions, as `nav-eval verify` needs them.")
    ] = True,
) -> StreamingResponse:
    """Everything behind the boards as files that need no server; holds what the test set keeps private.

    The archive is made while it is sent: one that ends early is not a whole one, and zip tools say so.
    """

    def note(session: Session) -> UUID:
        organised = permissions.get_organised_competition(session, caller, competition)
        audit.record(session, caller.actor, "competition.export", audit.make_subject(organised), actions=actions)
        return organised.id

    competition_id = parts.database.run(note)
    headers = {"Content-Disposition": f'attachment; filename="{competition}.zip"'}
    return StreamingResponse(
        _stream_competition(parts, competition_id, actions=actions), media_type=ZIP, headers=headers
    )


def _stream_competition(parts: Services, competition_id: UUID, *, actions: bool) -> Iterator[bytes]:
    with parts.database.snapshot() as session:
        exported = session.get_one(Competition, competition_id)
        yield from stream_zip(export.export_competition(session, exported, parts.blobs if actions else None))


@export_router.get(
    "/competitions/{competition}/results",
    response_class=StreamingResponse,
    responses={**_ARCHIVE, 304: {"description": "You have it (If-None-Match)."}, **describe_problems(404)},
    summary="Public results that anyone can verify",
)
async def download_results(competition: str, request: Request, parts: Parts) -> Response:
    """The public boards and, where a phase shows its episodes to the public, what their scores are made of.

    A README in it says how to compute every number again with `nav-eval score`, `report` and `compare`.
    """
    tag, file = await parts.computing.run(lambda: _open_results(parts, competition))
    headers = {"ETag": tag, "Cache-Control": "public, no-cache"}
    if has_already(request.headers, tag):
        file.close()
        return Response(status_code=304, headers=headers)
    headers["Content-Disposition"] = f'attachment; filename="{competition}-results.zip"'
    headers["Content-Length"] = str(os.fstat(file.fileno()).st_size)
    return StreamingResponse(_read_chunks(file), media_type=ZIP, headers=headers)


def _open_results(parts: Services, name: str) -> tuple[str, BinaryIO]:
    """The archive of this state of the boards, made when it is asked for first, and open: it may be replaced."""
    with parts.database.snapshot() as session:
        competition = configuration.get_competition(session, name)
        state = "-".join(str(phase.board_version) for phase in competition.phases)
        folder = parts.files.folder
        file, tag = folder / f"{competition.id}_{state}.zip", f'"{competition.id.hex[:8]}-{state}"'
        with suppress(FileNotFoundError):
            return tag, file.open("rb")
        for older in folder.glob(f"{competition.id}_*.zip"):
            older.unlink(missing_ok=True)
        return tag, _write_file(file, stream_zip(export.export_public_results(session, competition)))


def _write_file(file: Path, chunks: Iterator[bytes]) -> BinaryIO:
    """A file that has its name when it is whole."""
    with tempfile.NamedTemporaryFile(dir=file.parent, delete=False) as stream:
        stream.writelines(chunks)
    whole = Path(stream.name)
    opened = whole.open("rb")
    whole.replace(file)
    return opened


def _read_chunks(file: BinaryIO) -> Iterator[bytes]:
    with file:
        while chunk := file.read(CHUNK):
            yield chunk
