"""Where the blobs of a submission lie: workers write there, the gateway reads.

logs/<submission>/agent.txt              what the agent printed before and between episodes
logs/<submission>/episodes/<episode>.txt what it printed in an episode
replays/<submission>/<episode>.json      the whole line of episodes.jsonl, with trajectory and actions
films/<submission>/<episode>.json        the same as people look at it: map, cameras, goals (evaluation.replay.model)
artifacts/<submission>/<name>            anything else that the phase shows as replays: maps, videos, reports
"""

from uuid import UUID

from nav_eval_store import keys

LOGS, REPLAYS, FILMS, ARTIFACTS = "logs", "replays", "films", "artifacts"


def agent_log(submission_id: UUID) -> str:
    """What the agent printed while it was validated, tried and started."""
    return keys.join(LOGS, submission_id, "agent.txt")


def episode_log(submission_id: UUID, episode_id: str) -> str:
    return keys.join(LOGS, submission_id, "episodes", f"{episode_id}.txt")


def episode_logs(submission_id: UUID) -> str:
    """The prefix of all logs of episodes."""
    return keys.join(LOGS, submission_id, "episodes")


def replay(submission_id: UUID, episode_id: str) -> str:
    return keys.join(REPLAYS, submission_id, f"{episode_id}.json")


def film(submission_id: UUID, episode_id: str) -> str:
    """An episode with its pictures, as `encode_replay` writes it."""
    return keys.join(FILMS, submission_id, f"{episode_id}.json")


def artifact(submission_id: UUID, *name: str) -> str:
    """`artifact(submission.id, "maps", "ep_1.png")`."""
    return keys.join(ARTIFACTS, submission_id, *name)


def artifacts(submission_id: UUID) -> str:
    """The prefix of all artifacts."""
    return keys.join(ARTIFACTS, submission_id)
