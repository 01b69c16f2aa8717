"""Secrets are sealed with one key, opened with any of those that are here, and moved nowhere."""

import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from nav_eval_store.encryption import Keyring, get_key_id, is_sealed
from nav_eval_store.errors import KeyMissing, OperatorError, SecretDamaged
from nav_eval_store.settings import StoreSettings

OLD, NEW = "0a" * 32, "0b" * 32


def test_what_is_sealed_opens_and_says_nothing() -> None:
    ring = Keyring(keys=OLD)
    sealed = ring.seal("hush, ünï", owner="webhook 1")
    assert is_sealed(sealed)
    assert "hush" not in sealed
    assert sealed != ring.seal("hush, ünï", owner="webhook 1")
    assert ring.unseal(sealed, owner="webhook 1") == "hush, ünï"
    assert OLD not in repr(ring)


def test_keys_are_rotated() -> None:
    sealed = Keyring(keys=OLD).seal("hush", owner="x")
    both = Keyring(keys=f"{NEW}\n{OLD}\n")
    assert both.unseal(sealed, owner="x") == "hush"
    assert not both.is_current(sealed)
    again = both.seal("hush", owner="x")
    assert both.is_current(again)
    assert Keyring(keys=NEW).unseal(again, owner="x") == "hush"
    with pytest.raises(KeyMissing, match=f"key {get_key_id(sealed)}, which is not here"):
        Keyring(keys=NEW).unseal(sealed, owner="x")


def test_no_key_and_a_wrong_one_are_named() -> None:
    with pytest.raises(KeyMissing, match="NAV_EVAL_ENCRYPTION_KEYS_FILE"):
        Keyring().seal("hush", owner="x")
    with pytest.raises(KeyMissing, match="there is none"):
        Keyring().unseal(Keyring(keys=OLD).seal("hush", owner="x"), owner="x")
    with pytest.raises(OperatorError, match="64 hexadecimal digits"):
        Keyring(keys="password").seal("hush", owner="x")


def test_what_was_changed_or_moved_does_not_open() -> None:
    ring = Keyring(keys=OLD)
    sealed = ring.seal("hush", owner="webhook 1")
    with pytest.raises(SecretDamaged, match="webhook 2"):
        ring.unseal(sealed, owner="webhook 2")
    with pytest.raises(SecretDamaged):
        ring.unseal(sealed[:-8] + ("AAAA" if sealed[-8:-4] != "AAAA" else "BBBB") + sealed[-4:], owner="webhook 1")
    for nonsense in ("", "hush", f"{sealed[:12]}A"):
        with pytest.raises(SecretDamaged):
            ring.unseal(nonsense, owner="webhook 1")


def test_a_small_installation_makes_its_key_once(tmp_path: Path) -> None:
    ring = StoreSettings.from_environment({"NAV_EVAL_HOME": str(tmp_path / "home")}).keyring
    assert ring.read_keys() == {}
    assert not (tmp_path / "home").exists()  # who only looks makes nothing
    with ThreadPoolExecutor(8) as pool:
        sealed = list(pool.map(lambda _: ring.seal("hush", owner="x"), range(32)))
    assert len({get_key_id(each) for each in sealed}) == 1
    file = tmp_path / "home" / "encryption-keys"
    assert [each.name for each in file.parent.iterdir()] == [file.name]
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_postgres_needs_a_key_that_is_given(tmp_path: Path) -> None:
    environ = {"NAV_EVAL_HOME": str(tmp_path), "NAV_EVAL_DATABASE": "postgresql://db/nav"}
    with pytest.raises(KeyMissing):
        StoreSettings.from_environment(environ).keyring.ensure()
    (tmp_path / "keys").write_text(f"{NEW}\n")
    environ["NAV_EVAL_ENCRYPTION_KEYS_FILE"] = str(tmp_path / "keys")
    assert StoreSettings.from_environment(environ).keyring == Keyring(keys=NEW)
