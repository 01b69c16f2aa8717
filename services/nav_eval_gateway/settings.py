"""How a gateway runs, from the environment. A secret may stand in a file: `NAME_FILE=/run/secrets/name`.

| variable | default | |
|---|---|---|
| `NAV_EVAL_HOME`, `NAV_EVAL_DATABASE`, `NAV_EVAL_BLOBS`, `NAV_EVAL_BROKER` | | as the store has them |
| `NAV_EVAL_SECRET_KEY` | made once, kept in `$NAV_EVAL_HOME/secret-key` | signs cookies |
| `NAV_EVAL_URL` | as the request says | public address, e.g. `https://challenge.example.org` |
| `NAV_EVAL_MAX_BODY_KB` | 1024 | of a request that is no upload |
| `NAV_EVAL_TEAM_GB` | 200 | of images and weights that a team holds; 0 is without limit |
| `NAV_EVAL_RATE_LIMIT` | 600 | requests per minute and user or address; 0 is none |
| `NAV_EVAL_LOGIN_RATE_LIMIT` | 20 | attempts per minute and address; 0 is none |
| `NAV_EVAL_LOGIN_FAILURES` | 20 | wrong passwords per quarter of an hour and account; 0 is without limit |
| `NAV_EVAL_REQUESTS_AT_ONCE` | 32 | of a user or an address, under way; 0 is without limit |
| `NAV_EVAL_STREAMS_PER_ADDRESS` | 100 | live event streams of strangers; of a user 20 |
| `NAV_EVAL_CONNECTIONS_PER_ADDRESS` | 256 | open at once; 0 is without limit |
| `NAV_EVAL_TRUST_PROXY` | no | believe X-Forwarded-For (behind a reverse proxy of ours only) |
| `NAV_EVAL_TRUSTED_PROXIES` | any peer | addresses and networks of that proxy, e.g. `10.0.0.0/8` |
| `NAV_EVAL_METRICS_TOKEN` | none needed | what a scraper of /metrics must bring |
| `NAV_EVAL_ALLOW_PRIVATE_WEBHOOKS` | no | webhooks may point into the local network |
| `NAV_EVAL_SMTP`, `NAV_EVAL_MAIL_FROM` | no e-mail | as the workers have them, for mails that confirm addresses |
| `NAV_EVAL_DOCS` | none | address of your documentation, which pages link to |
| `NAV_EVAL_OIDC_…` | no such login | login by OpenID Connect: `openid_settings` |
"""

import os
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from urllib.parse import urlsplit

from nav_eval_gateway.openid_settings import OpenIdSettings
from nav_eval_gateway.proxies import Network, ProxyTrust, parse_networks
from nav_eval_store.encryption import make_secret_file
from nav_eval_store.errors import OperatorError
from nav_eval_store.notifications.sender import SmtpSettings
from nav_eval_store.settings import StoreSettings, read_flag, read_variable
from nav_eval_store.work.broker import Broker


@dataclass(frozen=True, kw_only=True, slots=True)
class GatewaySettings:
    """All that a gateway is told."""

    store: StoreSettings
    broker: Broker
    secret_key: str  #: signs cookies; whoever has it can forge them
    docs_url: str | None = None  #: of the installation's documentation
    base_url: str | None = None  #: public address without a slash at its end; None is as the request says

    max_body: int = 1 << 20  #: bytes of a request that is no upload
    body_seconds: float = 30.0  #: for all of such a body
    upload_idle_seconds: float = 60.0  #: between two pieces of an upload
    team_bytes: int | None = 200_000_000_000  #: of images and weights that a team holds; None is without limit
    threads: int = 32  #: requests that are with the database at the same time

    rate_limit: int = 600  #: requests per minute and user, or address; 0 is none
    login_rate_limit: int = 20  #: attempts per minute and address; 0 is none
    login_failures: int = 20  #: wrong passwords per quarter of an hour and account; 0 is without limit
    requests_at_once: int = 32  #: of a user or an address, under way; 0 is without limit
    streams_per_address: int = 100  #: live event streams of strangers
    streams_per_account: int = 20  #: live event streams of a user
    lookups_at_once: int = 2  #: names that are looked up for a user's webhooks
    searches_at_once: int = 3  #: boards that are searched for an address
    connections_per_address: int = 256  #: open at once; 0 is without limit
    refusal_seconds: float = 0.5  #: before a refusal is sent
    trust_proxy: bool = False  #: X-Forwarded-For is set by a proxy of ours
    trusted_proxies: tuple[Network, ...] = ()  #: where that proxy is; empty is anywhere

    smtp: SmtpSettings | None = None  #: how mails leave that confirm addresses
    openid: OpenIdSettings | None = None  #: a provider by which people can log in, too

    metrics_token: str | None = None  #: what a scraper of /metrics must bring

    cookie_name: str = "nav_eval_session"
    session_lifetime: timedelta = timedelta(days=14)  #: of a browser's session
    login_lifetime: timedelta = timedelta(days=90)  #: of a token that was got by a password

    poll_seconds: float = 0.5  #: between two looks at the database for live events
    heartbeat_seconds: float = 15.0  #: between signs of life on a silent event stream
    allow_private_webhooks: bool = False

    @property
    def proxy_trust(self) -> ProxyTrust:
        return ProxyTrust(hops=int(self.trust_proxy), networks=self.trusted_proxies)

    @property
    def session_cookie(self) -> str:
        """Over https its name begins so that no neighbour on another sub-domain can plant one."""
        return f"__Host-{self.cookie_name}" if self.is_https else self.cookie_name

    @property
    def is_https(self) -> bool:
        return self.base_url is not None and self.base_url.startswith("https://")

    @classmethod
    def from_environment(cls, environ: Mapping[str, str] | None = None) -> "GatewaySettings":
        variables = os.environ if environ is None else environ
        home = Path(variables.get("NAV_EVAL_HOME", "var")).absolute()
        return cls(
            store=StoreSettings.from_environment(variables),
            broker=Broker.from_environment(variables),
            secret_key=read_variable(variables, "NAV_EVAL_SECRET_KEY")
            or make_secret_file(home / "secret-key", secrets.token_urlsafe(48)),
            base_url=_parse_address(variables.get("NAV_EVAL_URL")),
            max_body=_parse_number(variables, "NAV_EVAL_MAX_BODY_KB", 1024) << 10,
            team_bytes=_parse_number(variables, "NAV_EVAL_TEAM_GB", 200) * 1_000_000_000 or None,
            rate_limit=_parse_number(variables, "NAV_EVAL_RATE_LIMIT", 600),
            login_rate_limit=_parse_number(variables, "NAV_EVAL_LOGIN_RATE_LIMIT", 20),
            login_failures=_parse_number(variables, "NAV_EVAL_LOGIN_FAILURES", 20),
            requests_at_once=_parse_number(variables, "NAV_EVAL_REQUESTS_AT_ONCE", 32),
            streams_per_address=_parse_number(variables, "NAV_EVAL_STREAMS_PER_ADDRESS", 100),
            connections_per_address=_parse_number(variables, "NAV_EVAL_CONNECTIONS_PER_ADDRESS", 256),
            trust_proxy=read_flag(variables, "NAV_EVAL_TRUST_PROXY"),
            trusted_proxies=parse_networks(variables.get("NAV_EVAL_TRUSTED_PROXIES", "")),
            smtp=SmtpSettings.from_environment(variables),
            openid=OpenIdSettings.from_environment(variables),
            docs_url=_parse_address(variables.get("NAV_EVAL_DOCS"), "NAV_EVAL_DOCS"),
            metrics_token=read_variable(variables, "NAV_EVAL_METRICS_TOKEN") or None,
            allow_private_webhooks=read_flag(variables, "NAV_EVAL_ALLOW_PRIVATE_WEBHOOKS"),
        )


def _parse_address(url: str | None, name: str = "NAV_EVAL_URL") -> str | None:
    if not url:
        return None
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise OperatorError(f"{name} is {url!r}; it must be a public address, such as https://nav.example.org.")
    return url.rstrip("/")


def _parse_number(variables: Mapping[str, str], name: str, default: int) -> int:
    text = variables.get(name, "")
    if not text:
        return default
    if not text.isdecimal():
        raise OperatorError(f"{name} is {text!r}; it must be a whole number.")
    return int(text)
