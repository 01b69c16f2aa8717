"""One verb for many submissions. Each is done, or refused, by itself and has its own line in the audit log."""

from collections.abc import Callable, Mapping
from uuid import UUID

from fastapi import APIRouter

from nav_eval_gateway import permissions
from nav_eval_gateway.dependencies import Organiser, Store, Workers
from nav_eval_gateway.errors import describe_problems
from nav_eval_gateway.permissions import SignedIn
from nav_eval_gateway.routes import organisers as verbs
from nav_eval_gateway.schemas.organisers import BulkAction, BulkDone, BulkVerb, Refused, Why
from nav_eval_gateway.task_publisher import TaskPublisher
from nav_eval_store.database import Database
from nav_eval_store.errors import NotFound, StoreError
from nav_eval_store.models import Submission

router = APIRouter(tags=["organising"], responses=describe_problems(401, 403, 404))

_PLAIN: Mapping[BulkVerb, Callable[..., object]] = {
    BulkVerb.HIDE: verbs.hide_submission,
    BulkVerb.SHOW: verbs.show_submission_again,
    BulkVerb.DISQUALIFY: verbs.disqualify_submission,
    BulkVerb.STOP: verbs.stop_submission,
}


@router.post("/competitions/{competition}/bulk", summary="One verb for many submissions")
def act_on_many(competition: str, wanted: BulkAction, caller: Organiser, store: Store, workers: Workers) -> BulkDone:
    """Hide, show, disqualify, stop or re-evaluate; the answer says which were refused, and why."""
    with store.read() as session:
        organised = permissions.get_organised_competition(session, caller, competition).id
    done: list[UUID] = []
    refused: list[Refused] = []
    for submission_id in dict.fromkeys(wanted.submissions):
        try:
            _require_place(store, submission_id, organised)
            _act(wanted, submission_id, caller, store, workers)
            done.append(submission_id)
        except StoreError as error:
            refused.append(Refused(submission_id=submission_id, detail=str(error)))
    return BulkDone(done=done, refused=refused)


def _require_place(store: Database, submission_id: UUID, competition_id: UUID) -> None:
    with store.read() as session:
        found = session.get(Submission, submission_id)
        if found is None or found.competition_id != competition_id:
            raise NotFound("There is no such submission in this competition.")


def _act(wanted: BulkAction, submission_id: UUID, caller: SignedIn, store: Database, workers: TaskPublisher) -> None:
    why = Why(reason=wanted.reason)
    if wanted.verb is BulkVerb.REEVALUATE:
        verbs.reevaluate_submission(submission_id, why, caller, store, workers)
    else:
        _PLAIN[wanted.verb](submission_id, why, caller, store)
