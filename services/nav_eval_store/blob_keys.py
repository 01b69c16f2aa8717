"""Names of blobs: `logs/0b5d…/ep_12.txt`. Checked before they come near a file system.

A key is a path of plain segments, never absolute and never upwards. Text from outside (an episode's
id) becomes a segment through `make_segment`, and two texts never become the same one.

Where the blobs of a submission lie (workers write there, the gateway reads):

logs/<submission>/agent.txt              what the agent printed before and between episodes
logs/<submission>/episodes/<episode>.txt what it printed in an episode
replays/<submission>/<episode>.json      the whole line of episodes.jsonl, with trajectory and actions
films/<submission>/<episode>.mp4         a video of it, to keep
films/<submission>/<episode>.json        the same as people look at it: map, cameras, goals (nav_eval.replay.model)
artifacts/<submission>/<name>            anything else that the phase shows as replays: maps, videos, reports
"""

import hashlib
import re
from urllib.parse import quote
from uuid import UUID

from nav_eval_store.errors import BadKey

_SEGMENT = r"[A-Za-z0-9_%=@+-][A-Za-z0-9_.%=@+-]{0,199}"
_KEY = re.compile(rf"{_SEGMENT}(/{_SEGMENT}){{0,9}}")
_PLAIN = re.compile(r"[A-Za-z0-9_=@+-][A-Za-z0-9_.=@+-]*")
LONGEST_SEGMENT = 150


def check_key(key: str) -> str:
    """`key`, if it is one."""
    if not _KEY.fullmatch(key):
        raise BadKey(f"{key[:100]!r} cannot be the name of a blob: it must be segments of letters, digits and ._%=@+-.")
    return key


def join_key(*parts: object) -> str:
    """A key of these parts, whatever text they are."""
    return check_key("/".join(make_segment(str(part)) for part in parts))


def make_segment(text: str) -> str:
    """`text` as one segment of a key."""
    plain = text if _PLAIN.fullmatch(text) else quote(text, safe="").replace("~", "%7E")
    if plain.startswith("."):
        plain = "%2E" + plain[1:]
    if 0 < len(plain) <= LONGEST_SEGMENT:
        return plain
    return f"%{hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()}"


LOGS, REPLAYS, FILMS, ARTIFACTS = "logs", "replays", "films", "artifacts"


def make_agent_log_key(submission_id: UUID) -> str:
    """What the agent printed while it was validated, tried and started."""
    return join_key(LOGS, submission_id, "agent.txt")


def make_episode_log_key(submission_id: UUID, episode_id: str) -> str:
    return join_key(LOGS, submission_id, "episodes", f"{episode_id}.txt")


def make_replay_key(submission_id: UUID, episode_id: str) -> str:
    return join_key(REPLAYS, submission_id, f"{episode_id}.json")


def make_film_key(submission_id: UUID, episode_id: str) -> str:
    """An episode with its pictures, as `encode_replay` writes it."""
    return join_key(FILMS, submission_id, f"{episode_id}.json")


def make_video_key(submission_id: UUID, episode_id: str) -> str:
    """The same as a file that any player shows."""
    return join_key(FILMS, submission_id, f"{episode_id}.mp4")


def make_artifact_key(submission_id: UUID, *name: str) -> str:
    """`make_artifact_key(submission.id, "maps", "ep_1.png")`."""
    return join_key(ARTIFACTS, submission_id, *name)


def make_artifacts_prefix(submission_id: UUID) -> str:
    """The prefix of all artifacts."""
    return join_key(ARTIFACTS, submission_id)
