"""The gateway's pure parts: tus headers, settings, problems, turnstile, messages."""

import logging
import re
import stat
import threading
from base64 import b64encode
from pathlib import Path
from uuid import uuid4

import pytest
from starlette.datastructures import Headers

from nav_eval.errors import NavEvalError
from nav_eval_gateway import errors, tus_protocol
from nav_eval_gateway import errors as gateway_errors
from nav_eval_gateway.errors import BadHeader, GatewayError, Unavailable, UnsupportedContent, UnsupportedVersion
from nav_eval_gateway.rate_limit import ConcurrencyLimit
from nav_eval_gateway.settings import GatewaySettings
from nav_eval_gateway.task_publisher import CeleryTaskPublisher
from nav_eval_store import errors as store_errors
from nav_eval_store.encryption import make_secret_file
from nav_eval_store.errors import StoreError
from nav_eval_store.submissions.lifecycle import JobKind
from nav_eval_store.work.broker import Broker, make_task_name
from nav_eval_store.work.queues import JobMessage, JobQueue


def headers(**named: str) -> Headers:
    return Headers({name.replace("_", "-"): value for name, value in named.items()})


def b64(text: str | bytes) -> str:
    return b64encode(text if isinstance(text, bytes) else text.encode()).decode()


def test_metadata_goes_around_unchanged() -> None:
    details = {"filename": "Übung.tar", "empty": "", "sha256": "0" * 64}
    assert tus_protocol.parse_metadata(headers(upload_metadata=tus_protocol.encode_metadata(details))) == details
    assert tus_protocol.parse_metadata(headers()) == {}


@pytest.mark.parametrize("text", ["key !!!", "kéy YQ==", "a b c", "key " + b64(b"\xff"), "k" * 101, "x" * 9000])
def test_metadata_that_is_none(text: str) -> None:
    with pytest.raises(BadHeader):
        tus_protocol.parse_metadata(headers(upload_metadata=text))


@pytest.mark.parametrize(
    ("given", "length"),
    [({"upload_length": "0"}, 0), ({"upload_length": "17"}, 17), ({"upload_defer_length": "1"}, None)],
)
def test_lengths(given: dict[str, str], length: int | None) -> None:
    assert tus_protocol.parse_length(headers(**given)) == length


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"upload_length": "-1"},
        {"upload_length": "1.0"},
        {"upload_length": "²"},
        {"upload_length": "1" * 19},
        {"upload_defer_length": "2"},
        {"upload_length": "1", "upload_defer_length": "1"},
    ],
)
def test_lengths_that_are_none(given: dict[str, str]) -> None:
    with pytest.raises(BadHeader):
        tus_protocol.parse_length(headers(**given))


def test_other_versions_and_contents_are_refused() -> None:
    tus_protocol.refuse_other_versions(headers(tus_resumable="1.0.0"))
    with pytest.raises(UnsupportedVersion) as refusal:
        tus_protocol.refuse_other_versions(headers(tus_resumable="2.0.0"))
    assert refusal.value.headers == {"Tus-Version": "1.0.0"}
    tus_protocol.refuse_other_content(headers(content_type="Application/Offset+Octet-Stream; x=y"))
    with pytest.raises(UnsupportedContent):
        tus_protocol.refuse_other_content(headers(content_type="text/plain"))


def test_every_refusal_has_a_status_and_a_sentence() -> None:
    kinds = [
        kind
        for module in (gateway_errors, store_errors)
        for kind in vars(module).values()
        if isinstance(kind, type)
        and issubclass(kind, NavEvalError)
        and kind not in (NavEvalError, store_errors.Refusal, GatewayError)
    ]
    assert len(kinds) > 25
    for kind in kinds:
        error = kind()
        assert 400 <= errors.get_status(error) < 600
        assert errors.get_status(error) != 500
        assert str(error).endswith((".", "`"))
        assert errors.get_title(errors.get_status(error))
    assert errors.get_status(NavEvalError()) == 500


def test_the_secret_key_is_made_once_and_is_ours_alone(tmp_path: Path) -> None:
    environ = {"NAV_EVAL_HOME": str(tmp_path)}
    first = GatewaySettings.from_environment(environ).secret_key
    assert GatewaySettings.from_environment(environ).secret_key == first
    assert len(first) >= 40
    assert stat.S_IMODE((tmp_path / "secret-key").stat().st_mode) == 0o600
    assert make_secret_file(tmp_path / "secret-key", "another") == first
    (tmp_path / "given").write_text("from a file\n")
    told = {**environ, "NAV_EVAL_SECRET_KEY_FILE": str(tmp_path / "given")}
    assert GatewaySettings.from_environment(told).secret_key == "from a file"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("NAV_EVAL_URL", "challenge.example.org"),
        ("NAV_EVAL_MAX_BODY_KB", "1 MB"),
        ("NAV_EVAL_TRUST_PROXY", "perhaps"),
        ("NAV_EVAL_BROKER", "amqp://host"),
    ],
)
def test_settings_that_are_refused_by_name(tmp_path: Path, name: str, text: str) -> None:
    with pytest.raises(StoreError, match=name):
        GatewaySettings.from_environment({"NAV_EVAL_HOME": str(tmp_path), name: text})


def test_cookies_are_bound_to_the_host_over_https(tmp_path: Path) -> None:
    plain = GatewaySettings.from_environment({"NAV_EVAL_HOME": str(tmp_path)})
    secure = GatewaySettings.from_environment({"NAV_EVAL_HOME": str(tmp_path), "NAV_EVAL_URL": "https://x.org/"})
    assert (plain.session_cookie, plain.is_https) == ("nav_eval_session", False)
    assert (secure.session_cookie, secure.base_url) == ("__Host-nav_eval_session", "https://x.org")


def test_a_turnstile_turns_away_whom_it_cannot_hold() -> None:
    turnstile, inside, leave = ConcurrencyLimit(inside=1, waiting=1), threading.Event(), threading.Event()

    def stay() -> None:
        with turnstile:
            inside.set()
            leave.wait(60)

    threads = [threading.Thread(target=stay) for _ in range(2)]
    for thread in threads:
        thread.start()
    inside.wait(60)
    while turnstile._admitted._value:
        pass
    with pytest.raises(Unavailable), turnstile:
        pass
    leave.set()
    for thread in threads:
        thread.join()
    with turnstile:
        pass


def test_messages_are_sent_by_the_name_of_the_task(tmp_path: Path) -> None:
    publisher = CeleryTaskPublisher(Broker(f"filesystem://{tmp_path}"))
    job, submission = uuid4(), uuid4()
    publisher.publish([JobMessage(job, JobKind.SHARD, submission, JobQueue.SHARDS)])
    publisher.publish([])
    publisher.close()
    (sent,) = (tmp_path / "queue").glob("*.msg")
    assert make_task_name(JobKind.SHARD) == "nav_eval_worker.shard"
    assert make_task_name(JobKind.SHARD) in sent.read_text()
    assert sent.name.endswith(".shards.msg")
    assert {str(job), str(submission)} <= set(re.findall(r"[0-9a-f-]{36}", sent.read_text()))


def test_a_broker_that_is_away_is_a_line_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    publisher = CeleryTaskPublisher(Broker("redis://127.0.0.1:1/0"))
    with caplog.at_level(logging.WARNING):
        publisher.publish([JobMessage(uuid4(), JobKind.VALIDATE, uuid4(), JobQueue.QUICK)])
        publisher.close()
    assert "the dispatcher will send again" in caplog.text
