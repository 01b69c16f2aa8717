"""Competitions to take away: all of one for its organiser, and what is public for anybody."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, BinaryIO
from uuid import UUID

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import StreamingResponse

from nav_eval_gateway import access
from nav_eval_gateway.archives import zipped
from nav_eval_gateway.dependencies import Organiser, Parts
from nav_eval_gateway.negotiation import has_already
from nav_eval_gateway.problems import problems
from nav_eval_gateway.services import Services
from nav_eval_store import audit, competitions, export
from nav_eval_store.database import Session
from nav_eval_store.models import Competition

router = APIRouter(tags=["exports"])
ZIP = "application/zip"
CHUNK = 1 << 18
_ARCHIVE: dict[int | str, dict[str, Any]] = {
    200: {"description": "A zip archive.", "content": {ZIP: {"schema": {"type": "string", "format": "binary"}}}}
}


@router.get(
    "/competitions/{competition}/export",
    response_class=StreamingResponse,
    responses={**_ARCHIVE, **problems(401, 403, 404)},
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
        organised = access.organised_competition(session, caller, competition)
        audit.record(session, caller.actor, "competition.export", audit.about(organised), actions=actions)
        return organised.id

    competition_id = parts.database.run(note)
    headers = {"Content-Disposition": f'attachment; filename="{competition}.zip"'}
    return StreamingResponse(_whole(parts, competition_id, actions=actions), media_type=ZIP, headers=headers)


def _whole(parts: Services, competition_id: UUID, *, actions: bool) -> Iterator[bytes]:
    with parts.database.snapshot() as session:
        exported = session.get_one(Competition, competition_id)
        yield from zipped(export.export_competition(session, exported, parts.blobs if actions else None))


@router.get(
    "/competitions/{competition}/results",
    response_class=StreamingResponse,
    responses={**_ARCHIVE, 304: {"description": "You have it (If-None-Match)."}, **problems(404)},
    summary="Public results that anyone can verify",
)
async def download_results(competition: str, request: Request, parts: Parts) -> Response:
    """The public boards and, where a phase shows its episodes to the public, what their scores are made of.

    A README in it says how to compute every number again with `nav-eval score`, `report` and `compare`.
    """
    tag, file = await parts.computing.run(lambda: _results(parts, competition))
    headers = {"ETag": tag, "Cache-Control": "public, no-cache"}
    if has_already(request.headers, tag):
        file.close()
        return Response(status_code=304, headers=headers)
    headers["Content-Disposition"] = f'attachment; filename="{competition}-results.zip"'
    headers["Content-Length"] = str(os.fstat(file.fileno()).st_size)
    return StreamingResponse(_read(file), media_type=ZIP, headers=headers)


def _results(parts: Services, name: str) -> tuple[str, BinaryIO]:
    """The archive of this state of the boards, made when it is asked for first, and open: it may be replaced."""
    with parts.database.snapshot() as session:
        competition = competitions.competition_named(session, name)
        state = "-".join(str(phase.board_version) for phase in competition.phases)
        file, tag = parts.files / f"{competition.id}_{state}.zip", f'"{competition.id.hex[:8]}-{state}"'
        with suppress(FileNotFoundError):
            return tag, file.open("rb")
        for older in parts.files.glob(f"{competition.id}_*.zip"):
            older.unlink(missing_ok=True)
        return tag, _written(file, zipped(export.public_results(session, competition)))


def _written(file: Path, chunks: Iterator[bytes]) -> BinaryIO:
    """A file that has its name when it is whole."""
    with tempfile.NamedTemporaryFile(dir=file.parent, delete=False) as stream:
        stream.writelines(chunks)
    whole = Path(stream.name)
    opened = whole.open("rb")
    whole.replace(file)
    return opened


def _read(file: BinaryIO) -> Iterator[bytes]:
    with file:
        while chunk := file.read(CHUNK):
            yield chunk
