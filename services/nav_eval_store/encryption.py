"""The keys with which secrets are kept in the database, so that whoever reads the database alone can use none of them.

A key is 64 hexadecimal digits. `NAV_EVAL_ENCRYPTION_KEYS` (or a file, `NAV_EVAL_ENCRYPTION_KEYS_FILE`) holds one or
several: the first one seals, all of them open. An installation on SQLite makes its own beside its other files.

    v1:1f0c2ab9:…      AES-256-GCM; the key's id, then nonce and ciphertext in base64

What a secret belongs to is sealed with it: moved to another row, it does not open.
"""

import base64
import hashlib
import os
import re
import secrets
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import NamedTemporaryFile

from nav_eval_store.errors import KeyMissing, OperatorError, SecretDamaged

_KEY = re.compile(r"[0-9a-fA-F]{64}")
_SEALED = re.compile(r"v1:([0-9a-f]{8}):([A-Za-z0-9_-]+=*)")
_NONCE = 12
ADVICE = (
    "Set NAV_EVAL_ENCRYPTION_KEYS, or NAV_EVAL_ENCRYPTION_KEYS_FILE to a file that holds it; "
    "`make secrets` makes one, and it is the same for gateways and workers."
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Keyring:
    """Keys as they were given, or the file where they are; read when they are needed."""

    keys: str | None = field(default=None, repr=False)
    file: Path | None = None  #: made when something is to be sealed and it is not there

    def seal(self, secret: str, *, owner: str) -> str:
        """The secret as it may be kept."""
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        self.ensure()
        key_id, key = next(iter(self.read_keys().items()))
        nonce = os.urandom(_NONCE)
        sealed = AESGCM(key).encrypt(nonce, secret.encode(), owner.encode())
        return f"v1:{key_id}:{base64.urlsafe_b64encode(nonce + sealed).decode()}"

    def unseal(self, sealed: str, *, owner: str) -> str:
        """The secret itself."""
        from cryptography.exceptions import InvalidTag
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        self.check(sealed)
        key = self.read_keys()[get_key_id(sealed)]
        try:
            data = base64.urlsafe_b64decode(sealed.rpartition(":")[2])
            opened = AESGCM(key).decrypt(data[:_NONCE], data[_NONCE:], owner.encode())
        except (InvalidTag, ValueError) as error:
            raise SecretDamaged(
                f"The secret of {owner} is not as it was kept; make a new one in its place, or restore a backup."
            ) from error
        return opened.decode()

    def ensure(self) -> None:
        """Make the first key where we may; refuse to go on without any."""
        if not self.read_keys() and self.file is not None:
            make_secret_file(self.file, secrets.token_hex(32))
        if not self.read_keys():
            raise KeyMissing(f"There is no key to keep secrets with. {ADVICE}")

    def check(self, sealed: str) -> None:
        """Refuse what none of the keys opens."""
        needed, keys = get_key_id(sealed), self.read_keys()
        if needed not in keys:
            have = f"there are {', '.join(keys)}" if keys else "there is none"
            raise KeyMissing(f"Secrets are kept with the key {needed}, which is not here ({have}). {ADVICE}")

    def is_current(self, sealed: str) -> bool:
        """Whether it is kept with the key that is used now."""
        return get_key_id(sealed) == next(iter(self.read_keys()), None)

    def read_keys(self) -> dict[str, bytes]:
        """By their ids, the one that seals first."""
        text = self.keys
        if text is None and self.file is not None and self.file.exists():
            text = self.file.read_text()
        found = re.split(r"[\s,]+", (text or "").strip())
        if any(key and not _KEY.fullmatch(key) for key in found):
            raise OperatorError("NAV_EVAL_ENCRYPTION_KEYS: each key has 64 hexadecimal digits; `openssl rand -hex 32`.")
        keys = [bytes.fromhex(key) for key in found if key]
        return {_compute_id(key): key for key in keys}


def _compute_id(key: bytes) -> str:
    return hashlib.sha256(b"nav-eval key id" + key).hexdigest()[:8]


def is_sealed(text: str) -> bool:
    return _SEALED.fullmatch(text) is not None


def get_key_id(sealed: str) -> str:
    """Of the key that opens it."""
    form = _SEALED.fullmatch(sealed)
    if form is None:
        raise SecretDamaged("A secret in the database is not one that we kept; make a new one in its place.")
    return form[1]


def make_secret_file(file: Path, text: str) -> str:
    """What the file holds, which only its owner can read; `text` if there was none. Whoever is first has made it."""
    file.parent.mkdir(parents=True, exist_ok=True)
    if not file.exists():
        with NamedTemporaryFile("w", dir=file.parent, prefix=f".{file.name}-") as made:  # mode 0600
            made.write(text)
            made.flush()
            with suppress(FileExistsError):
                os.link(made.name, file)
    return file.read_text().strip()
