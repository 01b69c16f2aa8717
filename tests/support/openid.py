"""OpenID providers for tests: a certified one in a process of its own, and one that says whatever a test wants."""

import json
import re
import shutil
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urljoin, urlsplit

import httpx
from joserfc import jwt
from joserfc.jwk import KeySet, RSAKey

from support.tools import absent, program

HERE = Path(__file__).parent / "openid_provider"
CLIENT_ID, CLIENT_SECRET = "nav-eval", "a secret of ours and the provider's"


def install_provider(folder: Path) -> Path:
    """The provider with all that it needs."""
    program("node", package="nodejs")
    npm = program("npm", package="npm")
    shutil.copytree(HERE, folder, dirs_exist_ok=True)
    command = [npm, "install", "--no-audit", "--no-fund"]
    done = subprocess.run(command, cwd=folder, capture_output=True, timeout=300, check=False)
    if done.returncode != 0:
        absent(f"npm cannot install oidc-provider: {done.stderr.decode()[-500:]}")
    return folder


@contextmanager
def providing(folder: Path, port: int, site: str) -> Iterator[str]:
    """The certified provider, which knows the gateway at SITE; its issuer."""
    client = {
        "client_id": CLIENT_ID,
        "client_secret": CLIENT_SECRET,
        "redirect_uris": [f"{site}/login/openid/callback"],
        "post_logout_redirect_uris": [f"{site}/"],
    }
    command = ["node", "provider.js", str(port), json.dumps(client)]
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    try:
        assert process.stdout is not None
        while process.stdout.readline().strip() != b"ready":
            assert process.poll() is None, "the provider did not start"
        yield f"http://127.0.0.1:{port}"
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def log_in_at_provider(url: str, login: str) -> str:
    """What a person does at the certified provider; the address that it sends the browser back to."""
    with httpx.Client(timeout=30) as browser:
        answer = browser.get(url)
        for _ in range(20):
            if answer.is_redirect:
                there = urljoin(str(answer.url), answer.headers["location"])
                if "/login/openid/callback" in there:
                    return there
                answer = browser.get(there)
                continue
            prompt = re.search(r'name="prompt" value="(\w+)"', answer.text)
            action = re.search(r'action="([^"]+)"', answer.text)
            assert prompt is not None, answer.text[:2000]
            assert action is not None, answer.text[:2000]
            fields = {"prompt": prompt[1], "login": login, "password": "any"}
            answer = browser.post(urljoin(str(answer.url), action[1]), data=fields)
    raise AssertionError("the provider sends us in circles")


@dataclass
class HostileProvider:
    """A provider whose answers a test can change."""

    url: str = ""
    key: RSAKey = field(default_factory=lambda: RSAKey.generate_key(2048, {"kid": "one", "use": "sig"}))
    claims: dict[str, Any] = field(default_factory=dict)  #: on top of good ones; None leaves one out
    header: dict[str, Any] = field(default_factory=lambda: {"alg": "RS256", "kid": "one"})
    signer: Any = None  #: another key than the one that is published
    token: str | None = None  #: instead of an ID token
    metadata: dict[str, Any] = field(default_factory=dict)
    userinfo: dict[str, Any] = field(default_factory=dict)
    asked: list[dict[str, str]] = field(default_factory=list)  #: what the token endpoint was sent
    looked_at: int = 0  #: how often somebody asked what it is
    nonce: str = ""  #: of the login that is under way

    def make_id_token(self) -> str:
        if self.token is not None:
            return self.token
        now = int(time.time())
        usual = {"iss": self.url, "aud": CLIENT_ID, "sub": "s-1", "nonce": self.nonce, "iat": now, "exp": now + 300}
        person = {"preferred_username": "mallory", "email": "mallory@lab.example", "email_verified": True}
        claims = {key: value for key, value in {**usual, **person, **self.claims}.items() if value is not None}
        return jwt.encode(self.header, claims, self.signer or self.key, algorithms=[self.header["alg"]])

    def answer(self, path: str, body: str) -> dict[str, Any]:
        if path.endswith("openid-configuration"):
            self.looked_at += 1
            names = ("authorization_endpoint", "token_endpoint", "userinfo_endpoint", "end_session_endpoint")
            usual = {
                "issuer": self.url,
                "jwks_uri": f"{self.url}/jwks",
                **{name: f"{self.url}/{name}" for name in names},
            }
            return {**usual, **self.metadata}
        if path == "/jwks":
            return dict(KeySet([self.key]).as_dict(private=False))
        if path == "/userinfo_endpoint":
            return {"sub": "s-1", **self.userinfo}
        self.asked.append({key: values[0] for key, values in parse_qs(body).items()})
        return {"access_token": "a", "token_type": "Bearer", "id_token": self.make_id_token()}

    def send_back(self, login_url: str, site: str) -> str:
        """The address that a person is sent back to who has logged in."""
        query = {key: values[0] for key, values in parse_qs(urlsplit(login_url).query).items()}
        self.nonce = query["nonce"]
        return f"{site}/login/openid/callback?code=c&state={query['state']}"


@contextmanager
def providing_lies() -> Iterator[HostileProvider]:
    provider = HostileProvider()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", 0))).decode()
            answer = json.dumps(provider.answer(urlsplit(self.path).path, body)).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        do_POST = do_GET  # noqa: N815

        def log_message(self, *_: object) -> None:
            """Not to the terminal."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    provider.url = f"http://127.0.0.1:{server.server_port}"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield provider
    finally:
        server.shutdown()
        server.server_close()
