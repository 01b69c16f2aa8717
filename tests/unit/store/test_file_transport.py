"""A broker of files shows messages whole or not at all."""

import json
import threading
from pathlib import Path

from kombu import Connection, Producer
from kombu.transport import filesystem

from nav_eval_store.work.broker import Broker
from nav_eval_store.work.file_transport import SCHEME, FileTransport

MESSAGES = 300


def send_all(folder: Path) -> None:
    settings = Broker(f"filesystem://{folder}").configuration()
    options = settings["broker_transport_options"]
    with Connection(settings["broker_url"], transport_options=options) as connection:
        producer = Producer(connection.default_channel)
        for number in range(MESSAGES):
            producer.publish({"number": number, "text": "x" * 20_000}, routing_key="jobs", serializer="json")


def test_who_looks_while_others_write_finds_no_half_message(tmp_path: Path) -> None:
    sender = threading.Thread(target=send_all, args=(tmp_path,))
    sender.start()
    found = set()
    while sender.is_alive() or len(found) < MESSAGES:
        for file in (tmp_path / "queue").glob("*.msg"):
            found.add(file.name)
            assert "body" in json.loads(file.read_text())
        if not sender.is_alive():
            found |= {file.name for file in (tmp_path / "queue").glob("*.msg")}
            break
    sender.join()
    assert len(found) == MESSAGES
    assert not list(tmp_path.glob("queue/*.part"))


def test_celery_and_kombu_take_our_transport(tmp_path: Path) -> None:
    settings = Broker(f"filesystem://{tmp_path}").configuration()
    with Connection(settings["broker_url"], transport_options=settings["broker_transport_options"]) as connection:
        assert settings["broker_url"] == f"{SCHEME}://"
        assert isinstance(connection.transport, FileTransport)
        assert isinstance(connection.transport, filesystem.Transport)
        queue = connection.SimpleQueue("jobs")
        queue.put({"job": 1})
        assert queue.get(timeout=5).payload == {"job": 1}
