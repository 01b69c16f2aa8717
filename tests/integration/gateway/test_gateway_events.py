"""Live events: in order, from where one left off, and only what concerns one."""

import json
import os
import threading
import time
from collections.abc import Callable, Iterator
from uuid import UUID

import httpx
import pytest

from nav_eval_gateway.server_sent_events import ServerSentEvent, parse_last_event_id
from nav_eval_store.competitions import moderation
from nav_eval_store.people import accounts
from nav_eval_store.submissions import creation
from nav_eval_store.work import jobs
from support.challenge import TEST, Challenge
from support.gateway import Server

pytestmark = pytest.mark.integration

Event = tuple[str, str, dict]


def listen(client: httpx.Client, path: str, *, last: str | None = None, until: Callable[[Event], bool]) -> list[Event]:
    """Kind, id and data of what comes, up to the first that `until` wants."""
    headers = {"Last-Event-ID": last} if last else {}
    heard: list[Event] = []
    kind, number = "", ""
    with client.stream("GET", path, headers=headers) as response:
        assert response.status_code == 200
        assert response.headers["content-type"].startswith("text/event-stream")
        for row in response.iter_lines():
            name, _, value = row.partition(": ")
            if name == "event":
                kind = value
            elif name == "id":
                number = value
            elif name == "data":
                heard.append((kind, number, json.loads(value)))
                if until(heard[-1]):
                    return heard
                kind = ""
    return heard


def is_done(event: Event) -> bool:
    return event[0] == "done"


@pytest.fixture
def team(gateway: Server, cup: Challenge) -> Iterator[httpx.Client]:
    with gateway.captain(f"sse-{os.urandom(4).hex()}") as client:
        yield client


def team_id(client: httpx.Client) -> UUID:
    return UUID(client.get("/me").json()["teams"][0]["team_id"])


def test_a_life_from_the_queue_to_the_score(gateway: Server, cup: Challenge, team: httpx.Client) -> None:
    submission = cup.queue(team_id(team))
    heard: list[Event] = []
    path = f"/submissions/{submission}/events"
    thread = threading.Thread(target=lambda: heard.extend(listen(team, path, until=is_done)))
    thread.start()
    while not heard and not gateway.app.state.services.events._subscriptions:
        time.sleep(0.01)
    cup.run(submission)
    thread.join(timeout=120)
    assert not thread.is_alive()
    kinds = [kind for kind, _, _ in heard]
    assert kinds[0] == "status"
    assert heard[0][2]["status"] in ("queued", "running", "scoring", "completed")
    assert kinds[-1] == "done"
    assert heard[-1][2] == {"status": "completed"}
    numbers = [int(number) for _, number, _ in heard if number]
    assert numbers == sorted(numbers)


def test_one_who_comes_back_hears_all_that_was_missed(cup: Challenge, team: httpx.Client) -> None:
    submission = cup.submit(team_id(team))
    path = f"/submissions/{submission}/events"
    ((kind, number, data),) = listen(team, path, until=lambda _: True)
    assert (kind, data["status"]) == ("status", "validating")
    cup.prepare(submission)
    cup.run(submission)
    missed = listen(team, path, last=number, until=is_done)
    states = [data["status"] for kind, _, data in missed if kind == "status"]
    assert states == ["queued", "running", "scoring", "completed"]
    progress = next(data for kind, _, data in missed if kind == "progress")
    assert (progress["done"], progress["total"]) == (4, 4)
    assert "tar 0.500" in progress["note"]
    assert any(kind == "canary" and data["passed"] for kind, _, data in missed)
    middle = next(number for kind, number, data in missed if kind == "status" and data["status"] == "running")
    rest = listen(team, path, last=middle, until=is_done)
    assert [data["status"] for kind, _, data in rest if kind == "status"] == ["scoring", "completed"]
    over = listen(team, path, last=missed[-1][1], until=is_done)  # cut between the last status and `done`
    assert over[-1][0] == "done"


def test_a_failure_says_why_and_what_to_do(cup: Challenge, team: httpx.Client) -> None:
    from nav_eval.records.results import Cause

    submission = cup.submit(team_id(team))
    lease = cup.claim_of(submission)
    cup.do(lambda session: jobs.fail_job(session, lease, Cause.IMAGE_INVALID, "two images in the archive"))
    heard = listen(team, f"/submissions/{submission}/events", until=is_done)
    assert heard[-1][2]["cause"] == "image_invalid"
    assert heard[-1][2]["message"] == "two images in the archive"
    assert "docker save" in heard[-1][2]["advice"]


def test_others_do_not_hear_it(gateway: Server, cup: Challenge, team: httpx.Client) -> None:
    submission = cup.submit(team_id(team))
    path = f"/submissions/{submission}/events"
    with gateway.captain(f"sse-{os.urandom(4).hex()}") as stranger, gateway.client() as anybody:
        assert stranger.get(path).status_code == 404
        assert anybody.get(path).status_code == 401


@pytest.mark.parametrize("path", ["/submissions/{}/events", "/competitions/cup/events"])
@pytest.mark.parametrize("end", ["shut out", "revoked"])
def test_who_is_shut_out_hears_nothing_more(gateway: Server, cup: Challenge, path: str, end: str) -> None:
    """A stream that was begun before does not outlive the right to it."""
    name = f"sse-{os.urandom(4).hex()}"
    with gateway.captain(name) as client:
        submission = cup.submit(team_id(client))
        heard: list[Event] = []
        follow = threading.Thread(
            target=lambda: heard.extend(listen(client, path.format(submission), until=is_done)), daemon=True
        )
        before = len(gateway.app.state.services.events._subscriptions)
        follow.start()
        while len(gateway.app.state.services.events._subscriptions) == before:
            time.sleep(0.01)
        with gateway.database.begin() as session:
            user = accounts.get_user(session, name)
            if end == "shut out":
                accounts.disable_user(session, user, actor=TEST, reason="test")
            else:
                accounts.revoke_all_tokens(session, user, actor=TEST)
        cup.do(lambda session: creation.cancel_open_submission(session, submission, actor=TEST, reason="SECRET"))
        follow.join(120)
        assert not follow.is_alive(), "the stream has ended"
        assert "SECRET" not in json.dumps(heard)


def test_silence_is_broken_by_signs_of_life(cup: Challenge, team: httpx.Client) -> None:
    submission = cup.submit(team_id(team))
    with team.stream("GET", f"/submissions/{submission}/events") as response:
        assert any(row.startswith(": still here") for row in response.iter_lines())


def test_a_competition_tells_everybody_what_is_public_and_teams_what_is_theirs(
    gateway: Server, cup: Challenge, team: httpx.Client
) -> None:
    path = "/competitions/cup/events"
    with gateway.database.read() as session:
        from nav_eval_store.notifications import events

        before = str(events.get_latest_id(session))
    mine = cup.complete(team_id(team))
    with gateway.captain(f"sse-{os.urandom(4).hex()}") as other:
        theirs = cup.start(team_id(other))
        cup.do(lambda session: creation.cancel_open_submission(session, theirs, actor=TEST, reason="done"))
        cup.do(lambda s: moderation.pause_phase(s, cup.phase(s), actor=TEST, reason="lunch"))
        cup.do(lambda s: moderation.resume_phase(s, cup.phase(s), actor=TEST))
        organiser = gateway.client(gateway.user("sse-organiser", organiser=True))

        def subjects(client: httpx.Client) -> set[str]:
            def ended(event: Event) -> bool:
                return event[0] == "phase.changed" and event[2]["data"]["paused"] is False

            heard = listen(client, path, last=before, until=ended)
            return {event[2].get("submission_id", event[0]) for event in heard}

        public = {"board.changed", "phase.changed"}
        with gateway.client() as anybody:
            assert subjects(anybody) == public
        assert subjects(team) == public | {str(mine)}
        assert subjects(other) == public | {str(theirs)}
        assert subjects(organiser) == public | {str(mine), str(theirs)}
        organiser.close()


@pytest.mark.parametrize(
    ("text", "number"),
    [("17", 17), (" 17 ", 17), ("", None), (None, None), ("-1", None), ("x", None), ("9" * 30, None), ("١٢", None)],
)
def test_only_our_numbers_are_taken_for_ids(text: str | None, number: int | None) -> None:
    assert parse_last_event_id(text) == number


def test_no_text_breaks_out_of_its_event() -> None:
    encoded = ServerSentEvent("log", {"text": "a\n\nevent: done\ndata: {}"}, 3).encode()
    assert encoded.count(b"\n") == 4
