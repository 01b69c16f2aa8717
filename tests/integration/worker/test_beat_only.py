"""A hub whose jobs are done elsewhere still sends its messages, ranks and recovers: `nav-eval worker --beat-only`."""

import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from nav_eval_store.models import Team
from nav_eval_store.notifications import webhooks
from nav_eval_store.submissions import creation
from nav_eval_store.submissions.lifecycle import SubmissionState
from support.challenge import TEST
from support.stack import Stack

pytestmark = pytest.mark.integration


def test_a_hub_without_a_worker_sends_messages_and_takes_no_job(make_stack) -> None:
    heard: list[dict] = []

    class Receiver(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            heard.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    stack: Stack = make_stack("sqlite")
    server = HTTPServer(("127.0.0.1", 0), Receiver)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    team = stack.team("ada")
    url = f"http://127.0.0.1:{server.server_port}/"
    with stack.database.begin() as session:
        webhooks.add_webhook(session, session.get_one(Team, team), url, actor=TEST)
    cancelled, waiting = stack.submit(team), stack.submit(team)
    with stack.database.begin() as session:
        creation.cancel_open_submission(session, cancelled, actor=TEST, reason="test")
    without_engine = {
        "NAV_EVAL_RUNTIME": "docker",
        "DOCKER_HOST": "unix:///nonexistent/docker.sock",
        "NAV_EVAL_ALLOW_PRIVATE_WEBHOOKS": "yes",
    }
    with stack.worker("hub", "--beat-only", **without_engine) as process:
        stack.wait_until(lambda: any(body.get("submission_id") == str(cancelled) for body in heard), what="A message")
        process.terminate()
        assert process.wait(120) == 0
    assert stack.get(waiting).state is SubmissionState.VALIDATING
    assert "Traceback" not in stack.log("hub")
    server.shutdown()
    server.server_close()
