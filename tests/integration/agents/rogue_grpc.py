"""An agent over gRPC that misbehaves in the way that it is told: NAV_EVAL_ROGUE names it."""

import os
import signal
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import grpc

from nav_eval_sdk._generated import agent_pb2 as pb

MODE = os.environ["NAV_EVAL_ROGUE"]
ACTS = 0


def describe(request: bytes, context: grpc.ServicerContext) -> bytes:
    if MODE == "hangs in describe":
        time.sleep(60)
    versions = {"wrong version": [2, 3]}.get(MODE, [1])
    sensors = {"unknown sensor": ["x_ray"]}.get(MODE, ["gps"])
    reply = pb.DescribeReply(
        name=MODE,
        protocol_versions=versions,
        sensors=[pb.SensorRequest(name=name) for name in sensors],
        max_episodes=5000 if MODE == "too many episodes" else 1,
        max_actions=3,
    )
    if MODE == "forges the proof":
        reply.shared_memory_proof = b"0123456789abcdef"
    return b"\xff" * 50 if MODE == "garbage in describe" else reply.SerializeToString()


def actions() -> list[pb.Action]:
    return {
        "unknown action": [pb.Action(name="move_foward")],
        "no action": [],
        "too many actions": [pb.Action(name="stop")] * 4,
        "a million actions": [pb.Action(name="stop")] * 100_000,
        "NaN argument": [pb.Action(name="move_forward", arguments={"step_size": float("nan")})],
        "infinite argument": [pb.Action(name="move_forward", arguments={"step_size": float("inf")})],
        "argument out of range": [pb.Action(name="move_forward", arguments={"step_size": 99.0})],
        "unknown argument": [pb.Action(name="stop", arguments={"where": 1.0})],
        "pose without question": [pb.Action(name="stop", poses=[pb.Pose(position=[0, 0, 0], rotation=[0, 0, 0, 1])])],
    }.get(MODE, [pb.Action(name="turn_left")])


def act(sequence: int, context: grpc.ServicerContext) -> bytes:
    global ACTS  # noqa: PLW0603
    ACTS += 1
    if ACTS < 3:
        return pb.EpisodeReply(
            act=pb.ActReply(sequence=sequence, actions=[pb.Action(name="turn_left")])
        ).SerializeToString()
    if MODE == "hangs in act":
        time.sleep(60)
    if MODE == "is killed":
        os.kill(os.getpid(), signal.SIGKILL)
    if MODE == "exits":
        print("I have had enough", flush=True)
        os._exit(3)
    if MODE == "garbage":
        return b"\xff\xfe\xfd" * 30
    if MODE == "huge":
        return bytes(100 << 20)
    if MODE == "out of memory":
        context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, "CUDA out of memory")
    if MODE == "much metadata":
        context.set_trailing_metadata([("x", "y" * 200_000)])
        context.abort(grpc.StatusCode.INTERNAL, "with a long tail")
    if MODE == "raises":
        raise ValueError("a bug of the team")
    if MODE == "answers something else":
        return pb.EpisodeReply(reset=pb.ResetReply()).SerializeToString()
    if MODE == "answers another request":
        sequence = 1
    return pb.EpisodeReply(act=pb.ActReply(sequence=sequence, actions=actions())).SerializeToString()


def episode(requests, context: grpc.ServicerContext):
    for data in requests:
        request = pb.EpisodeRequest.FromString(data)
        kind = request.WhichOneof("request")
        if kind == "reset":
            if MODE == "hangs in reset":
                time.sleep(60)
            if MODE == "claims shared memory":
                yield pb.EpisodeReply(reset=pb.ResetReply(shared_memory=True)).SerializeToString()
                continue
            yield pb.EpisodeReply(reset=pb.ResetReply()).SerializeToString()
        elif kind == "act":
            if MODE == "closes the stream" and request.act.sequence == 3:
                return
            yield act(request.act.sequence, context)
        elif MODE == "hangs in end":
            time.sleep(60)
        else:
            yield pb.EpisodeReply(end=pb.EndReply()).SerializeToString()


if MODE == "never starts":
    threading.Event().wait()
if MODE == "dies at once":
    sys.exit("no such weights: model.pt")
if MODE == "runs out of memory at start":
    raise MemoryError
server = grpc.server(ThreadPoolExecutor(8), options=[("grpc.max_send_message_length", -1)])
server.add_generic_rpc_handlers(
    (
        grpc.method_handlers_generic_handler(
            "nav_eval.v1.Agent",
            {
                "Describe": grpc.unary_unary_rpc_method_handler(describe),
                "Episode": grpc.stream_stream_rpc_method_handler(episode),
            },
        ),
    )
)
server.add_insecure_port(f"unix:{os.environ['NAV_EVAL_SOCKET']}")
server.start()
server.wait_for_termination()
