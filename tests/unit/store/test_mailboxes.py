"""Addresses that lead to the same mailbox are told, others are not taken for it."""

import pytest

from nav_eval_store.people.mailboxes import make_mailbox


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("ada@example.org", "ada+1@example.org"),
        ("ada+1@example.org", "ada+2+3@example.org"),
        ("ada@example.org", "ADA@Example.ORG."),
        ("ada@bücher.example", "ada@xn--bcher-kva.example"),
        ("ada@example.org", "ａｄａ@example.org"),
        ("ada.l@gmail.com", "adal+x@googlemail.com"),
        ("ada.l@proton.me", "ada-l@pm.me"),
    ],
)
def test_addresses_of_one_mailbox(one: str, other: str) -> None:
    assert make_mailbox(one) == make_mailbox(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("ada@example.org", "ada@example.com"),
        ("ada.l@example.org", "adal@example.org"),  # most hosts mind a dot
        ("+1@example.org", "+2@example.org"),  # nothing is left without it
        ("ada-1@example.org", "ada-2@example.org"),
        ("...@gmail.com", "@gmail.com"),
    ],
)
def test_addresses_of_two(one: str, other: str) -> None:
    assert make_mailbox(one) != make_mailbox(other)
