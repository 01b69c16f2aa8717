"""A competition as text: what is sent, what it would change, and who would see what."""

from typing import Annotated, Any
from uuid import UUID

from pydantic import Field, StringConstraints

from nav_eval.config import CompetitionConfig
from nav_eval.config.competition_text import MAX_TEXT_BYTES
from nav_eval_gateway.schemas.base import Answer, FilledLine, Paragraph, Reason, Request, make_example
from nav_eval_store.competitions.configuration import Change, Plan
from nav_eval_store.competitions.visibility import PARTS, Audience, Part, find_least_audience

EXAMPLE = (
    "competition:\n  name: spring\n  title: Spring challenge\n"
    "  phases:\n    - {name: dev, benchmark: demo_vln, visibility: practice}\n"
)
ConfigText = Annotated[str, StringConstraints(min_length=1, max_length=MAX_TEXT_BYTES)]
"""YAML, as `nav-eval competition apply` reads it; without `extends`, and with benchmarks by their names."""


class DraftConfig(Request):
    """A text to be looked at."""

    model_config = make_example(text=EXAMPLE)

    text: ConfigText


class NewCompetition(Request):
    """A competition to be created."""

    model_config = make_example(text=EXAMPLE, reason="the spring course begins")

    text: ConfigText
    reason: Reason


class NewConfig(Request):
    """A competition as it is to be from now on."""

    model_config = make_example(text=EXAMPLE, reason="one more week")

    text: ConfigText
    reason: Reason
    allow_dangerous: bool = False
    """Also change what gives published numbers another meaning."""
    digest: FilledLine | None = None
    """Of the competition that was edited: refused when somebody else changed it in the meantime."""


class ChangeAnswer(Answer):
    """One difference between what is and what the text says."""

    path: str
    before: Any
    after: Any
    danger: str | None
    """Why it would make published numbers wrong."""
    danger_kind: str | None

    @classmethod
    def of(cls, change: Change) -> "ChangeAnswer":
        text, kind = (None, None) if change.danger is None else (change.danger.text, change.danger.kind)
        return cls(path=change.path, before=change.before, after=change.after, danger=text, danger_kind=kind)


class VisibilityLine(Answer):
    """Who sees a part of the usual submission of a phase."""

    phase: str
    part: Part
    public: bool
    team: bool
    organiser: bool


class PlanAnswer(Answer):
    """What a text says, and what applying it would change."""

    name: str
    title: str
    is_new: bool
    digest: str | None
    """Of the competition as it is."""
    changes: list[ChangeAnswer]
    notes: list[str]
    """What deserves a second look."""
    visibility: list[VisibilityLine]

    @classmethod
    def of(cls, config: CompetitionConfig, plan: Plan, notes: list[str]) -> "PlanAnswer":
        return cls(
            name=config.name,
            title=config.title,
            is_new=plan.competition is None,
            digest=None if plan.competition is None else plan.competition.digest,
            changes=[ChangeAnswer.of(change) for change in plan.changes],
            notes=notes,
            visibility=list_visibility(config, plan),
        )


def list_visibility(config: CompetitionConfig, plan: Plan) -> list[VisibilityLine]:
    """Who would see what, as it is decided when they look."""
    rows = plan.competition.phases if plan.competition is not None else ()
    published = {row.name for row in rows if row.published_at is not None}
    lines = []
    for phase in config.phases:
        for part in PARTS:
            least = find_least_audience(phase.visibility, part, is_published=phase.name in published)
            seen = {audience.name.lower(): audience >= least for audience in Audience}
            lines.append(VisibilityLine(phase=phase.name, part=part, **seen))
    return lines


class NewMessage(Request):
    """Something that teams should know."""

    model_config = make_example(subject="New scenes", text="The test split has two houses more from Monday on.")

    subject: FilledLine
    text: Annotated[Paragraph, Field(min_length=1)]
    teams: Annotated[list[UUID], Field(min_length=1, max_length=1000)] | None = None
    """By id; null is all of the competition."""
