"""What is kept of a password, and what a guess costs. Tests of the gateway make it cheap; these do not."""

import hashlib

import pytest

from nav_eval_store.people import accounts

PASSWORD = "correct horse battery"


def derive(password: str, salt: bytes) -> str:
    """32 MB and a twentieth of a second per guess."""
    return hashlib.scrypt(password.encode(), salt=salt, n=2**15, r=8, p=1, maxmem=2**26).hex()


def test_a_guess_costs_what_it_should() -> None:
    kept = accounts.hash_password(PASSWORD)
    name, salt, digest = kept.split("$")
    assert (name, digest) == ("scrypt", derive(PASSWORD, bytes.fromhex(salt)))
    assert accounts.is_password_correct(PASSWORD, kept)
    assert not accounts.is_password_correct(PASSWORD + "!", kept)


def test_what_older_versions_kept_opens_the_door() -> None:
    assert accounts.is_password_correct(PASSWORD, f"scrypt${'07' * 16}${derive(PASSWORD, bytes([7] * 16))}")


def test_an_unknown_name_costs_as_much(monkeypatch: pytest.MonkeyPatch) -> None:
    derived: list[str] = []
    monkeypatch.setattr(accounts, "_derive_key", lambda password, salt: derived.append(password) or b"")
    assert not accounts.is_password_correct(PASSWORD, accounts.UNMATCHABLE)
    assert derived == [PASSWORD]
