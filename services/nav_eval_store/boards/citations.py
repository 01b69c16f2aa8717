"""How a row of a board is quoted: with a digest over what it says, so that readers can tell whether it still does."""

import hashlib
import json

from nav_eval_store.boards.leaderboard import Row
from nav_eval_store.models import Phase

_SPECIAL = str.maketrans(
    {
        "\\": r"\textbackslash ",
        "{": r"\{",
        "}": r"\}",
        "~": r"\textasciitilde ",
        "^": r"\textasciicircum ",
        **{sign: f"\\{sign}" for sign in "&%$#_"},
    }
)


def compute_row_digest(phase: Phase, row: Row) -> str:
    """`sha256:…` over competition, phase, rules, submission, score and means: JSON with sorted keys, no spaces."""
    said = {
        "competition": phase.competition.name,
        "phase": phase.name,
        "rules_digest": phase.rules_digest,
        "submission_id": str(row.submission_id),
        "score": row.score.mean,
        "scores": {name: cell.mean for name, cell in row.metrics.items()},
    }
    text = json.dumps(said, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


def format_bibtex(phase: Phase, row: Row, *, url: str) -> str:
    """An entry for a bibliography."""
    title = f"{row.team}: {phase.competition.title}, {phase.config.title or phase.name}"
    standing = f"rank {row.rank}, " if row.rank is not None else ""
    score = "" if row.score.mean is None else f"score {row.score.mean:.4f}, "
    fields = {
        "title": _escape(title),
        "author": "{" + _escape(row.team) + "}",
        "year": f"{row.submitted_at:%Y}",
        "howpublished": "nav-eval leaderboard",
        "url": url,
        "note": _escape(f"{standing}{score}row {compute_row_digest(phase, row)}"),
    }
    lines = "".join(f"  {name} = {{{value}}},\n" for name, value in fields.items())
    return f"@misc{{naveval-{phase.competition.name}-{phase.name}-{row.submission_id.hex[:8]},\n{lines}}}\n"


def _escape(text: str) -> str:
    return " ".join(text.translate(_SPECIAL).split())
