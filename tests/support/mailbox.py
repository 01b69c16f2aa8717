"""A mail server for tests."""

import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from nav_eval_store.notifications.sender import SmtpSettings


class Mailbox(socketserver.StreamRequestHandler):
    """As much SMTP as it takes to receive a letter."""

    letters: list[str]

    def handle(self) -> None:
        self.say("220 here")
        while command := self.rfile.readline().decode().strip():
            word = command.split()[0].upper()
            if word == "DATA":
                self.say("354 go on")
                lines = iter(lambda: self.rfile.readline().decode().rstrip("\r\n"), ".")
                self.letters.append("\n".join([command, *lines]))
            self.say("221 bye" if word == "QUIT" else "250 ok")
            if word == "QUIT":
                return

    def say(self, text: str) -> None:
        self.wfile.write(f"{text}\r\n".encode())


@contextmanager
def receiving_letters() -> Iterator[tuple[SmtpSettings, list[str]]]:
    """How to send, and what has come."""
    letters: list[str] = []
    handler = type("Box", (Mailbox,), {"letters": letters})
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        smtp = SmtpSettings.from_environment({"NAV_EVAL_SMTP": f"smtp://127.0.0.1:{server.server_address[1]}"})
        assert smtp is not None
        try:
            yield smtp, letters
        finally:
            server.shutdown()
