"""Webhooks: signed, sent to public addresses only, tried again; and e-mail."""

import json
import socketserver
import ssl
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from sqlalchemy import select

from nav_eval_store.database import Database, ManualClock
from nav_eval_store.errors import QuotaExceeded, StoreError
from nav_eval_store.migrations import runner
from nav_eval_store.models import Delivery, Team
from nav_eval_store.notifications import sender, signatures, webhooks
from nav_eval_store.notifications.sender import DeliverySettings, SmtpSettings
from nav_eval_store.notifications.webhook_secrets import open_secret
from nav_eval_store.notifications.webhooks import ForbiddenAddress
from nav_eval_store.people import accounts, addresses, teams
from nav_eval_store.submissions import creation
from support.challenge import KEYRING, TEST, Challenge
from support.load import Deadline, measure_slowdown
from support.mailbox import receiving_letters

pytestmark = pytest.mark.integration

NOW = datetime(2026, 1, 1, tzinfo=UTC)
PRIVATE = DeliverySettings(allow_private=True)


def test_a_signature_holds_for_these_bytes_now_and_with_this_secret() -> None:
    header = signatures.sign_body("s3cret", b'{"a":1}', NOW)
    assert header.startswith("t=1767225600,v1=")
    assert signatures.verify_signature("s3cret", b'{"a":1}', header, now=NOW + timedelta(minutes=4))
    assert not signatures.verify_signature("s3cret", b'{"a":1}', header, now=NOW + timedelta(minutes=6))
    assert not signatures.verify_signature("s3cret", b'{"a":2}', header, now=NOW)
    assert not signatures.verify_signature("other", b'{"a":1}', header, now=NOW)
    for nonsense in ("", "t=x,v1=y", "v1=" + header.partition("v1=")[2], "t=" + "9" * 30):
        assert not signatures.verify_signature("s3cret", b'{"a":1}', nonsense, now=NOW)


@pytest.mark.parametrize(
    ("number", "public"),
    [
        ("93.184.216.34", True),
        ("2606:2800:220:1:248:1893:25c8:1946", True),
        ("127.0.0.1", False),
        ("10.1.2.3", False),
        ("172.16.0.1", False),
        ("192.168.1.1", False),
        ("169.254.169.254", False),  # the metadata service of clouds
        ("100.64.0.1", False),  # a provider's own network
        ("0.0.0.0", False),
        ("224.0.0.1", False),
        ("255.255.255.255", False),
        ("::1", False),
        ("::", False),
        ("fe80::1%eth0", False),
        ("fd00::1", False),
        ("::ffff:127.0.0.1", False),  # IPv4 in IPv6's clothes
        ("::ffff:93.184.216.34", True),
        ("64:ff9b::7f00:1", False),  # by NAT64
        ("2002:7f00:1::", False),  # by 6to4
        ("not an address", False),
    ],
)
def test_which_addresses_are_public(number: str, public: bool) -> None:
    assert webhooks.is_public(number) is public


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1/",
        "http://localhost:8000/x",
        "http://[::1]/",
        "http://0x7f.1/",  # the resolver knows old spellings
        "http://2130706433/",
        "http://[::ffff:10.0.0.1]/",
    ],
)
def test_a_webhook_cannot_point_into_our_own_network(url: str) -> None:
    with pytest.raises(ForbiddenAddress):
        webhooks.resolve_target(url)
    assert webhooks.resolve_target(url, allow_private=True)


def test_one_private_number_among_public_ones_is_enough_to_refuse() -> None:
    with pytest.raises(ForbiddenAddress):
        webhooks.resolve_target("http://two.example/", resolve=lambda *_: ["93.184.216.34", "10.0.0.1"])
    assert webhooks.resolve_target("http://one.example/", resolve=lambda *_: ["93.184.216.34"]) == "93.184.216.34"


@pytest.mark.parametrize(
    "url",
    [
        "ftp://example.org/",
        "https://",
        "https://user:pw@example.org/",
        "https://example.org:0/",
        "https://example.org:99999/",
        "https://exa mple.org/",
        "https://example.org/\r\nX: y",
        "https://example.org\\@127.0.0.1/",
        "file:///etc/passwd",
        "https://[::1",
    ],
)
def test_addresses_with_tricks_are_refused(url: str) -> None:
    with pytest.raises(StoreError):
        webhooks.parse_url(url)


class Receiver:
    """A server that keeps what it gets and answers as told."""

    def __init__(self) -> None:
        self.got: list[tuple[dict[str, str], bytes]] = []
        self.answers: list[int] = []
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                receiver.got.append(({key.lower(): value for key, value in self.headers.items()}, body))
                self.send_response(receiver.answers.pop(0) if receiver.answers else 204)
                self.send_header("Location", "http://127.0.0.1:1/")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://localhost:{self.server.server_port}/hook?x=1"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    receiver = Receiver()
    yield receiver
    receiver.server.shutdown()
    receiver.server.server_close()


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def cup(tmp_path, clock: ManualClock) -> Iterator[Challenge]:
    database = Database(f"sqlite:///{tmp_path / 'store.db'}", clock=clock, keyring=KEYRING)
    runner.upgrade(database)
    yield Challenge(database)
    database.dispose()


def hooked(cup: Challenge, url: str) -> str:
    """A team with a webhook, and a submission that was just cancelled; the secret."""
    team = cup.team("Ants")
    with cup.database.begin() as session:
        hook = webhooks.add_webhook(session, session.get_one(Team, team), url, actor=TEST)
        secret = open_secret(KEYRING, hook.id, hook.secret)
    submission = cup.start(team)
    with cup.database.begin() as session:
        creation.cancel_open_submission(session, submission, actor=TEST, reason="enough")
    return secret


def test_a_change_of_state_arrives_signed(cup: Challenge, receiver: Receiver, clock: ManualClock) -> None:
    secret = hooked(cup, receiver.url)
    assert sender.deliver(cup.database, PRIVATE) == 1
    assert sender.deliver(cup.database, PRIVATE) == 0  # once
    ((headers, body),) = receiver.got
    assert signatures.verify_signature(secret, body, headers["x-nav-eval-signature"], now=clock.now())
    assert headers["host"].startswith("localhost:")
    assert headers["x-nav-eval-event"] == "submission.state"
    assert json.loads(body)["data"]["to"] == "cancelled"


def test_what_fails_is_tried_again_later_and_redirects_are_not_followed(
    cup: Challenge, receiver: Receiver, clock: ManualClock
) -> None:
    hooked(cup, receiver.url)
    receiver.answers = [500, 302, 200]
    for pause in (0, 10, 60):
        clock.advance(seconds=pause)
        assert sender.deliver(cup.database, PRIVATE) == 1
        assert sender.deliver(cup.database, PRIVATE) == 0
    clock.advance(days=3)
    assert sender.deliver(cup.database, PRIVATE) == 0
    assert len(receiver.got) == 3
    with cup.database.read() as session:
        team = session.query(Team).one()
        (hook,) = webhooks.list_webhooks(session, team)
        (delivery,) = webhooks.list_recent_deliveries(session, hook)
    assert (delivery.attempts, delivery.status, delivery.delivered_at is not None) == (3, 200, True)


def test_receivers_that_take_their_time_cost_the_others_nothing(
    cup: Challenge, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One drips its answer byte by byte, so that no single byte is late."""
    monkeypatch.setattr(sender, "SECONDS", 1.0)
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Dripping) as dripping:
        dripping.daemon_threads = True
        threading.Thread(target=dripping.serve_forever, daemon=True).start()
        team = cup.team("Ants")
        slow = f"http://127.0.0.1:{dripping.server_address[1]}/"
        with cup.database.begin() as session:
            row = session.get_one(Team, team)
            for url in (slow, slow, slow, receiver.url):
                webhooks.enqueue_test(session, webhooks.add_webhook(session, row, url, actor=TEST))
        began = time.monotonic()
        assert sender.deliver(cup.database, PRIVATE) == 4
        assert time.monotonic() - began < 4 * measure_slowdown()
        dripping.shutdown()
    assert len(receiver.got) == 1
    with cup.database.read() as session:
        hook = webhooks.list_webhooks(session, session.get_one(Team, team))[0]
        assert webhooks.list_recent_deliveries(session, hook)[0].error == "no answer within 1 s"


def test_a_receiver_with_a_thousand_messages_keeps_nobody_waiting(
    cup: Challenge, receiver: Receiver, monkeypatch: pytest.MonkeyPatch, clock: ManualClock
) -> None:
    """The oldest twenty were taken together, and waited for together: one receiver's pile stood before all others."""
    monkeypatch.setattr(sender, "SECONDS", 2.0)
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Dripping) as dripping:
        dripping.daemon_threads = True
        threading.Thread(target=dripping.serve_forever, daemon=True).start()
        ids = [cup.team(name) for name in ("Ants", "Bees")]
        with cup.database.begin() as session:
            ants, bees = (session.get_one(Team, team) for team in ids)
            slow = webhooks.add_webhook(session, ants, f"http://127.0.0.1:{dripping.server_address[1]}/", actor=TEST)
            for number in range(100):
                due = clock.now() - timedelta(hours=1)
                body = {"id": number, "kind": "submission.state", "at": due.isoformat(), "data": {}}
                session.add(Delivery(webhook_id=slow.id, event_id=1, body=body, due_at=due, created_at=due))
            webhooks.enqueue_test(session, webhooks.add_webhook(session, bees, receiver.url, actor=TEST))
        with cup.database.begin() as session:
            first = webhooks.take_due(session)
            assert [delivery.webhook.team_id for delivery in first].count(bees.id) == 1
            assert len(first) == 1 + webhooks.PER_RECEIVER
            session.rollback()
        delivering = threading.Thread(target=sender.deliver, args=(cup.database, PRIVATE), daemon=True)
        delivering.start()
        deadline = Deadline(60)
        while not receiver.got:
            assert not deadline.is_over, "it waits behind another one's pile"
            time.sleep(0.01)
        with cup.database.begin() as session:
            for delivery in session.query(Delivery).filter_by(delivered_at=None):
                delivery.given_up_at = clock.now()
        delivering.join(60)
        dripping.shutdown()


def test_failures_take_at_most_the_places_that_are_left_to_them(cup: Challenge, clock: ManualClock) -> None:
    ids = [cup.team(f"Team {number}") for number in range(8)]
    with cup.database.begin() as session:
        for number, team_id in enumerate(ids):
            team = session.get_one(Team, team_id)
            delivery = webhooks.enqueue_test(
                session, webhooks.add_webhook(session, team, f"https://x{number}.org", actor=TEST)
            )
            delivery.attempts = 1 if number < 6 else 0
    with cup.database.begin() as session:
        taken = webhooks.take_due(session, limit=4, retries=2)
    assert sorted(delivery.attempts for delivery in taken) == [1, 1, 2, 2]


@pytest.mark.parametrize("again", [False, True], ids=["one webhook", "a new webhook each time"])
def test_tests_are_limited_by_receiver(cup: Challenge, clock: ManualClock, again: bool) -> None:
    """250 mails went to a stranger's address in 14 seconds."""
    team = cup.team("Ants")
    with cup.database.begin() as session:
        owner = session.get_one(Team, team)
        hook = webhooks.add_webhook(session, owner, "mailto:stranger@example.org", actor=TEST)
        for _ in range(webhooks.TESTS_PER_HOUR):
            webhooks.enqueue_test(session, hook)
            if again:
                webhooks.remove_webhook(session, owner, hook.id, actor=TEST)
                hook = webhooks.add_webhook(session, owner, "mailto:stranger@example.org", actor=TEST)
        with pytest.raises(QuotaExceeded) as refused:
            webhooks.enqueue_test(session, hook)
        assert refused.value.retry_seconds == 3600
    clock.advance(hours=1, seconds=1)
    with cup.database.begin() as session:
        webhooks.enqueue_test(session, session.merge(hook))


class Dripping(socketserver.BaseRequestHandler):
    def handle(self) -> None:
        try:
            for byte in b"HTTP/1.1 200 OK\r\nX-Long: " + b"x" * 1000:
                self.request.sendall(bytes([byte]))
                time.sleep(0.1)
        except OSError:
            pass


def test_private_addresses_are_allowed_by_the_environment() -> None:
    assert DeliverySettings.from_environment({"NAV_EVAL_ALLOW_PRIVATE_WEBHOOKS": "yes"}) == PRIVATE
    assert DeliverySettings.from_environment({}) == DeliverySettings()


def test_a_private_address_is_refused_when_it_is_called(cup: Challenge, receiver: Receiver) -> None:
    hooked(cup, receiver.url)  # as if its name had meant something else when it was added
    assert sender.deliver(cup.database, DeliverySettings()) == 1
    assert receiver.got == []
    with cup.database.read() as session:
        (hook,) = webhooks.list_webhooks(session, session.query(Team).one())
        assert "private network" in str(webhooks.list_recent_deliveries(session, hook)[0].error)


def test_certificates_are_checked_against_the_name(
    cup: Challenge, receiver: Receiver, tmp_path, monkeypatch: pytest.MonkeyPatch
) -> None:
    certificate = self_signed(tmp_path, "localhost")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    receiver.server.socket = context.wrap_socket(receiver.server.socket, server_side=True)
    team = cup.team("Ants")

    def sent(url: str) -> str | None:
        with cup.database.begin() as session:
            hook = webhooks.add_webhook(session, session.get_one(Team, team), url, actor=TEST)
            delivery = webhooks.enqueue_test(session, hook).id
        assert sender.deliver(cup.database, PRIVATE) == 1
        with cup.database.read() as session:
            return session.get_one(Delivery, delivery).error

    by_name = receiver.url.replace("http:", "https:")
    assert "CERTIFICATE_VERIFY_FAILED" in str(sent(by_name))
    monkeypatch.setattr("certifi.where", lambda: str(certificate))
    assert "CERTIFICATE_VERIFY_FAILED" in str(sent(by_name.replace("localhost", "127.0.0.1")))
    assert sent(by_name) is None
    assert len(receiver.got) == 1


def self_signed(folder, name: str):
    """A certificate and its key in one file."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    built = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .sign(key, hashes.SHA256())
    )
    form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    file = folder / "certificate.pem"
    file.write_bytes(built.public_bytes(serialization.Encoding.PEM) + key.private_bytes(*form))
    return file


def prove_address(cup: Challenge, name: str) -> None:
    with cup.database.begin() as session:
        user = accounts.get_user(session, name)
        addresses.vouch_for(session, user, actor=TEST, reason="test", email=f"{name}@example.org")


def test_a_letter_where_smtp_is_set(cup: Challenge) -> None:
    hooked(cup, "mailto:ants@example.org")
    prove_address(cup, "ants")
    with receiving_letters() as (smtp, letters):
        assert sender.deliver(cup.database, DeliverySettings(smtp=smtp)) == 1
    (letter,) = letters
    assert "To: ants@example.org" in letter
    assert "Subject: The Cup: submission 1 of Ants is cancelled" in letter
    assert "detail: enough" in letter


@pytest.mark.parametrize("how", ["left", "shut out", "another address"])
def test_who_is_no_longer_in_the_team_gets_no_mail_of_it(cup: Challenge, how: str) -> None:
    """The address was a member's when the webhook was made."""
    hooked(cup, "mailto:ants@example.org")
    prove_address(cup, "ants")
    with cup.database.begin() as session:
        ant = accounts.get_user(session, "ants")
        team = session.scalars(select(Team).where(Team.name == "Ants")).one()
        if how == "left":
            teams.remove_member(session, team, ant, actor=TEST)
        elif how == "shut out":
            accounts.disable_user(session, ant, actor=TEST, reason="test")
        else:
            addresses.give_email(session, ant, "bee@example.org", actor=TEST)
    with receiving_letters() as (smtp, letters):
        assert sender.deliver(cup.database, DeliverySettings(smtp=smtp)) == 0
        assert sender.deliver(cup.database, DeliverySettings(smtp=smtp)) == 0
    assert letters == []
    with cup.database.read() as session:
        (delivery,) = session.scalars(select(Delivery))
        assert (delivery.error, delivery.webhook.disabled_reason) == (webhooks.NO_READER, webhooks.NO_READER)


def test_an_organiser_is_written_to_as_long_as_they_organise(cup: Challenge) -> None:
    with cup.database.begin() as session:
        olga = accounts.create_user(session, "olga", actor=TEST)
        accounts.grant_organiser(session, olga, actor=TEST)
        webhooks.add_webhook(session, cup.competition(session), "mailto:olga@example.org", actor=TEST)
    prove_address(cup, "olga")
    team = cup.team("Ants")
    with receiving_letters() as (smtp, letters):
        cup.start(team)
        sender.deliver(cup.database, DeliverySettings(smtp=smtp))
        submission = cup.submit(team)
        assert sender.deliver(cup.database, DeliverySettings(smtp=smtp)) > 0
        told = len(letters)
        with cup.database.begin() as session:
            accounts.revoke_organiser(session, accounts.get_user(session, "olga"), actor=TEST)
            creation.cancel_open_submission(session, submission, actor=TEST, reason="enough")
        assert sender.deliver(cup.database, DeliverySettings(smtp=smtp)) == 0
    assert len(letters) == told > 0


def test_smtp_from_the_environment() -> None:
    assert SmtpSettings.from_environment({}) is None
    smtp = SmtpSettings.from_environment({"NAV_EVAL_SMTP": "smtps://me:p%40ss@mail.example.org"})
    assert smtp is not None
    assert (smtp.port, smtp.tls, smtp.user, smtp.password) == (465, True, "me", "p@ss")
    with pytest.raises(StoreError, match="NAV_EVAL_SMTP"):
        SmtpSettings.from_environment({"NAV_EVAL_SMTP": "mail.example.org"})
