"""Signatures of webhooks: a receiver checks that a message is ours and fresh.

X-Nav-Eval-Signature: t=1767225600,v1=<hex of HMAC-SHA256(secret, "1767225600." + body)>
"""

import hashlib
import hmac
from datetime import UTC, datetime, timedelta

SIGNATURE = "X-Nav-Eval-Signature"
TOLERANCE = timedelta(minutes=5)
"""A signature older than this is not believed."""


def sign_body(secret: str, body: bytes, at: datetime) -> str:
    """The value of X-Nav-Eval-Signature."""
    moment = int(at.timestamp())
    return f"t={moment},v1={_compute_mac(secret, moment, body)}"


def verify_signature(secret: str, body: bytes, header: str, *, now: datetime | None = None) -> bool:
    """Whether a message is ours and fresh; for receivers."""
    fields = dict(part.partition("=")[::2] for part in header.split(","))
    moment = fields.get("t", "")
    if not moment.isdecimal() or len(moment) > 12:
        return False
    age = abs((now or datetime.now(UTC)).timestamp() - int(moment))
    fresh = age <= TOLERANCE.total_seconds()
    return hmac.compare_digest(_compute_mac(secret, int(moment), body), fields.get("v1", "")) and fresh


def _compute_mac(secret: str, moment: int, body: bytes) -> str:
    return hmac.new(secret.encode(), f"{moment}.".encode() + body, hashlib.sha256).hexdigest()
