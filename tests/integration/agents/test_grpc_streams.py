"""Streams of gRPC that one thread asks and hears: the direct one, and the one that stands in for it."""

import socket
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeAlias

import grpc
import pytest

from nav_eval.agents import grpc_streams
from nav_eval.agents.grpc_streams import DirectStream, QueuedStream, Stream, open_stream

pytestmark = pytest.mark.integration

METHOD = "/test.Peer/Talk"
#: frames of HTTP/2: settings with windows of 2 GB per stream, and such a window for the connection
SETTINGS = bytes.fromhex("00000604000000000000047fffffff")
WIDE_OPEN = bytes.fromhex("0000040800000000007fff0000")
LIMIT = 4096  #: bytes of a message that we take

Talk: TypeAlias = Callable[[Iterator[bytes], grpc.ServicerContext], Iterator[bytes]]
Dial: TypeAlias = Callable[[Talk], grpc.Channel]


def answer_all(requests: Iterator[bytes], context: grpc.ServicerContext) -> Iterator[bytes]:
    for request in requests:
        yield b"answer to " + request


def answer_once(requests: Iterator[bytes], context: grpc.ServicerContext) -> Iterator[bytes]:
    yield b"answer to " + next(requests)


def answer_twice(requests: Iterator[bytes], context: grpc.ServicerContext) -> Iterator[bytes]:
    for request in requests:
        yield b"answer to " + request
        yield b"and once more"


def break_down(requests: Iterator[bytes], context: grpc.ServicerContext) -> Iterator[bytes]:
    yield b"answer to " + next(requests)
    context.abort(grpc.StatusCode.DATA_LOSS, "it is gone")


def say_nothing(requests: Iterator[bytes], context: grpc.ServicerContext) -> Iterator[bytes]:
    gone = threading.Event()
    if context.add_callback(gone.set):  # unless it is gone already
        gone.wait()
    return iter(())


def say_too_much(requests: Iterator[bytes], context: grpc.ServicerContext) -> Iterator[bytes]:
    next(requests)
    yield bytes(LIMIT + 1)


@pytest.fixture
def dial() -> Iterator[Dial]:
    """A channel to a server that talks like this."""
    opened: list[tuple[grpc.Server, grpc.Channel]] = []

    def open_channel(talk: Talk) -> grpc.Channel:
        server = grpc.server(ThreadPoolExecutor(4))
        handlers = {"Talk": grpc.stream_stream_rpc_method_handler(talk)}
        server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("test.Peer", handlers),))
        port = server.add_insecure_port("127.0.0.1:0")
        server.start()
        options = [("grpc.max_receive_message_length", LIMIT)]
        opened.append((server, grpc.insecure_channel(f"127.0.0.1:{port}", options=options)))
        return opened[-1][1]

    yield open_channel
    for server, channel in opened:
        channel.close()
        server.stop(0)


@pytest.fixture(params=[DirectStream, QueuedStream])
def kind(request: pytest.FixtureRequest) -> type[Stream]:
    chosen: type[Stream] = request.param
    return chosen


def test_each_question_is_answered_in_turn(dial: Dial, kind: type[Stream]) -> None:
    stream = kind(dial(answer_all), METHOD)
    for question in (b"one", b"two", bytes(3000)):
        assert not stream.is_open
        stream.ask(question)
        assert stream.is_open
        assert stream.hear() == b"answer to " + question
    stream.close()


def test_a_stream_that_the_agent_ends_is_over_for_good(dial: Dial, kind: type[Stream]) -> None:
    stream = kind(dial(answer_once), METHOD)
    stream.ask(b"one")
    assert stream.hear() == b"answer to one"
    stream.ask(b"two")
    assert stream.hear() is None
    assert stream.hear() is None
    stream.close()


def test_what_is_said_twice_is_heard_twice(dial: Dial, kind: type[Stream]) -> None:
    stream = kind(dial(answer_twice), METHOD)
    stream.ask(b"one")
    assert [stream.hear(), stream.hear()] == [b"answer to one", b"and once more"]
    stream.close()


def test_the_status_of_a_broken_stream_is_told(dial: Dial, kind: type[Stream]) -> None:
    stream = kind(dial(break_down), METHOD)
    stream.ask(b"one")
    stream.hear()
    stream.ask(b"two")
    with pytest.raises(grpc.RpcError) as broken:
        stream.hear()
    assert broken.value.code() is grpc.StatusCode.DATA_LOSS
    assert broken.value.details() == "it is gone"
    stream.close()


def test_a_message_beyond_the_limit_is_not_taken(dial: Dial, kind: type[Stream]) -> None:
    stream = kind(dial(say_too_much), METHOD)
    stream.ask(b"one")
    with pytest.raises(grpc.RpcError) as refused:
        stream.hear()
    assert refused.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert "larger than max" in refused.value.details()
    stream.close()


def test_cancelling_releases_who_waits(dial: Dial, kind: type[Stream]) -> None:
    stream = kind(dial(say_nothing), METHOD)
    stream.ask(b"one")
    timer = threading.Timer(0.2, stream.cancel)
    timer.start()
    with pytest.raises(grpc.RpcError) as cancelled:
        stream.hear()
    assert cancelled.value.code() is grpc.StatusCode.CANCELLED
    stream.close()
    stream.cancel()  # a watchdog may come late


def test_closing_waits_for_nobody(dial: Dial, kind: type[Stream]) -> None:
    channel = dial(say_nothing)
    streams = [kind(channel, METHOD) for _ in range(3)]
    streams[0].ask(b"one")  # and is never answered
    for stream in streams:
        stream.close()


def test_a_peer_that_does_not_read_holds_nobody(kind: type[Stream]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        options = [("grpc.max_send_message_length", -1)]
        channel = grpc.insecure_channel(f"127.0.0.1:{deaf.getsockname()[1]}", options=options)
        stream = kind(channel, METHOD)
        connection, _ = deaf.accept()
        connection.sendall(SETTINGS + WIDE_OPEN)  # all may be sent, and nothing of it is ever read
        stream.ask(bytes(64 << 20))
        timer = threading.Timer(1.0, stream.cancel)
        timer.start()
        with pytest.raises(grpc.RpcError) as cancelled:
            stream.hear()
        assert cancelled.value.code() is grpc.StatusCode.CANCELLED
        stream.close()
        connection.close()
        channel.close()


def test_nobody_there(kind: type[Stream]) -> None:
    with grpc.insecure_channel("unix:/nowhere/agent.sock") as channel:
        stream = kind(channel, METHOD)
        stream.ask(b"one")
        with pytest.raises(grpc.RpcError) as broken:
            stream.hear()
        assert broken.value.code() is grpc.StatusCode.UNAVAILABLE
        stream.close()


def test_the_library_that_is_installed_has_the_pieces(dial: Dial) -> None:
    stream = open_stream(dial(answer_all), METHOD)
    assert isinstance(stream, DirectStream)
    stream.close()


def test_another_library_is_used_by_what_it_promises(dial: Dial, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> DirectStream:
        raise TypeError("segregated_call() takes other arguments")

    monkeypatch.setattr(grpc_streams, "DirectStream", refuse)
    stream = open_stream(dial(answer_all), METHOD)
    stream.ask(b"one")
    assert stream.hear() == b"answer to one"
    stream.close()
