"""Each board has a version, which grows with everything that the board shows.

A gateway answers from memory while the version stands still, and the version is the ETag.
"""

from uuid import UUID

from sqlalchemy import ColumnElement, select, update

from nav_eval_store import audit, events
from nav_eval_store.database import Session
from nav_eval_store.models import Phase


def hold_board(session: Session, phase_id: UUID) -> Phase:
    """Lock a board before its rows are changed: whoever ranks it does so, too."""
    return session.get_one(Phase, phase_id, with_for_update={"key_share": True}, populate_existing=True)


def board_changed(session: Session, which: ColumnElement[bool]) -> None:
    """The boards of these phases show something else from now on."""
    session.flush()
    session.execute(
        update(Phase)
        .where(which)
        .values(board_version=Phase.board_version + 1)
        .execution_options(synchronize_session=False)
    )
    for phase in session.scalars(select(Phase).where(which).execution_options(populate_existing=True)):
        events.emit(session, events.BOARD_CHANGED, audit.about(phase), version=phase.board_version)
