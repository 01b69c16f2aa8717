"""Login by OpenID Connect: we are the relying party of one provider, by the authorization code flow with PKCE.

A login that begins leaves three secrets in the browser, signed by us: `state` says that the answer belongs to it,
`nonce` that the ID token does, `verifier` (PKCE) that the code does. What comes back is believed if the ID token is
signed by a key that the provider publishes, and names us, the provider, the nonce and a time that is not over.
"""

from collections.abc import Callable, Mapping
from threading import Lock
from time import time
from typing import Any
from urllib.parse import urlencode

import requests
from authlib.common.errors import AuthlibBaseError
from authlib.integrations.requests_client import OAuth2Session
from authlib.oidc.core import CodeIDToken
from joserfc import jwt
from joserfc.errors import InvalidKeyIdError, JoseError
from joserfc.jwk import KeySet

from nav_eval_gateway.errors import Unavailable
from nav_eval_gateway.openid_attempt import LoginAttempt
from nav_eval_gateway.openid_settings import OpenIdSettings, is_safe
from nav_eval_gateway.rate_limit import ConcurrencyLimit
from nav_eval_store.errors import BadCredentials, NotAllowed
from nav_eval_store.people.identities import ProvedPerson
from nav_eval_store.people.mailboxes import EMAIL

ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"]
"""Signatures with a key that only the provider has: never `none`, never one that our own secret could make."""
METADATA_SECONDS = 3600
"""How long we remember what a provider says of itself."""
AWAY_SECONDS = 5
"""A provider that did not answer is not asked again for so long: who waits for it would wait for all before them."""
LEEWAY = 60
"""Seconds that clocks may differ."""
SECONDS = 10.0
"""For each question to the provider."""


class OpenIdProvider:
    """The provider as we know it. Threads share it."""

    def __init__(self, settings: OpenIdSettings, *, clock: Callable[[], float] = time) -> None:
        self.settings, self._clock = settings, clock
        self._lock = Lock()
        self._metadata: tuple[float, dict[str, Any]] | None = None
        self._keys: tuple[float, KeySet] | None = None
        self._away_until = 0.0
        self._asking = ConcurrencyLimit(inside=4, waiting=8)  # a provider that is slow does not hold all threads

    def make_login_url(self, attempt: LoginAttempt, redirect_uri: str) -> str:
        """Where the browser goes to log in."""
        with self._asking, self._open_client(redirect_uri) as client:
            url, _ = client.create_authorization_url(
                self._get_metadata()["authorization_endpoint"],
                state=attempt.state,
                nonce=attempt.nonce,
                code_verifier=attempt.verifier,
            )
        return str(url)

    def make_logout_url(self, back: str) -> str | None:
        """Where the provider's own session ends; None where it does not offer that."""
        with self._asking:
            endpoint = self._get_metadata().get("end_session_endpoint")
        query = {"client_id": self.settings.client_id, "post_logout_redirect_uri": back}
        return f"{endpoint}{'&' if '?' in endpoint else '?'}{urlencode(query)}" if endpoint else None

    def identify(self, attempt: LoginAttempt, code: str, redirect_uri: str) -> ProvedPerson:
        """Who has logged in, if the provider's answer is good and they are let in."""
        with self._asking, self._open_client(redirect_uri) as client:
            try:
                endpoint = self._get_metadata()["token_endpoint"]
                token = client.fetch_token(
                    endpoint, grant_type="authorization_code", code=code, code_verifier=attempt.verifier
                )
                claims = self._verify(str(token.get("id_token", "")), attempt, token.get("access_token"))
                return self._admit(claims, self._ask_userinfo(client, claims))
            except (AuthlibBaseError, JoseError, ValueError, TypeError, KeyError) as error:
                raise BadCredentials("The login provider's answer is not valid; log in again.") from error
            except requests.RequestException as error:
                raise _make_refusal() from error

    def _open_client(self, redirect_uri: str) -> OAuth2Session:
        ours = self.settings
        methods = self._get_metadata().get("token_endpoint_auth_methods_supported", ["client_secret_basic"])
        posted = ours.client_secret and "client_secret_basic" not in methods and "client_secret_post" in methods
        return OAuth2Session(
            client_id=ours.client_id,
            client_secret=ours.client_secret,
            scope=ours.scopes,
            redirect_uri=redirect_uri,
            code_challenge_method="S256",
            token_endpoint_auth_method="client_secret_post" if posted else None,
            default_timeout=SECONDS,
        )

    def _verify(self, id_token: str, attempt: LoginAttempt, access_token: str | None) -> dict[str, Any]:
        """The claims of an ID token that is signed by the provider, for us, for this login, and still good."""
        try:
            decoded = jwt.decode(id_token, self._get_keys(), algorithms=ALGORITHMS)
        except InvalidKeyIdError:  # they have a new key
            decoded = jwt.decode(id_token, self._get_keys(fresh=True), algorithms=ALGORITHMS)
        issuer, us = self.settings.issuer, self.settings.client_id
        wanted = {
            "iss": {"essential": True, "value": issuer},
            "aud": {"essential": True, "value": us},
            "nonce": {"essential": True, "value": attempt.nonce},
        }
        proved = {"nonce": attempt.nonce, "client_id": us, "access_token": access_token}
        claims = CodeIDToken(decoded.claims, decoded.header, wanted, proved)
        claims.validate(now=int(self._clock()), leeway=LEEWAY)
        subject = claims["sub"]
        if not isinstance(subject, str) or not 1 <= len(subject) <= 255:
            raise ValueError("no subject")
        return dict(claims)

    def _ask_userinfo(self, client: OAuth2Session, claims: Mapping[str, Any]) -> Mapping[str, Any]:
        """What the provider says beside the ID token, where that does not say enough."""
        endpoint = self._get_metadata().get("userinfo_endpoint")
        if endpoint is None or {"email", self.settings.name_claim} <= claims.keys():
            return claims
        answer = client.get(endpoint)
        answer.raise_for_status()
        said = answer.json()
        if said["sub"] != claims["sub"]:  # an access token of somebody else
            raise ValueError("another subject")
        return {**claims, **said} if "email" in said else {**said, **claims}

    def _admit(self, claims: Mapping[str, Any], said: Mapping[str, Any]) -> ProvedPerson:
        email = str(said.get("email", "")).lower()
        is_verified = said.get("email_verified") is True or said.get("email_verified") == "true"
        if not is_verified or not EMAIL.fullmatch(email):
            email = ""
        if self.settings.domains and email.rpartition("@")[2] not in self.settings.domains:
            raise NotAllowed(
                "Only people with a verified e-mail address of {domains} can log in here.",
                domains=", ".join(sorted(self.settings.domains)),
            )
        title = said.get(self.settings.name_claim) or said.get("name") or email
        return ProvedPerson(self.settings.issuer, str(claims["sub"]), str(title or claims["sub"])[:200], email or None)

    def _get_metadata(self) -> dict[str, Any]:
        """What the provider says of itself; kept for an hour."""
        with self._lock:
            if self._metadata is None or self._metadata[0] < self._clock():
                if self._clock() < self._away_until:
                    raise _make_refusal()
                try:
                    self._metadata = (self._clock() + METADATA_SECONDS, self._fetch_metadata())
                except Unavailable:
                    self._away_until = self._clock() + AWAY_SECONDS
                    raise
            return self._metadata[1]

    def _fetch_metadata(self) -> dict[str, Any]:
        found = _fetch_json(f"{self.settings.issuer.rstrip('/')}/.well-known/openid-configuration")
        addresses = [found.get(key) for key in ("authorization_endpoint", "token_endpoint", "jwks_uri")]
        if found.get("issuer") != self.settings.issuer or not all(is_safe(address) for address in addresses):
            raise _make_refusal()
        return found

    def _get_keys(self, *, fresh: bool = False) -> KeySet:
        address = self._get_metadata()["jwks_uri"]
        with self._lock:
            if fresh or self._keys is None or self._keys[0] < self._clock():
                keys: Any = _fetch_json(address)
                self._keys = (self._clock() + METADATA_SECONDS, KeySet.import_key_set(keys))
            return self._keys[1]


def _fetch_json(url: str) -> dict[str, Any]:
    try:
        answer = requests.get(url, timeout=SECONDS, headers={"Accept": "application/json"})
        answer.raise_for_status()
        found = answer.json()
    except (requests.RequestException, ValueError) as error:
        raise _make_refusal() from error
    if not isinstance(found, dict):
        raise _make_refusal()
    return found


def _make_refusal() -> Unavailable:
    return Unavailable("The login provider is not answering properly; try again in a moment.")


__all__ = ["ALGORITHMS", "OpenIdProvider"]
