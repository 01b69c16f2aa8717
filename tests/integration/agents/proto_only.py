"""An agent without the SDK: stubs from agent.proto by grpcio-tools, and the proto's comments.

It copies pictures out of shared memory, in ten lines, as the proto says.
"""

# ruff: noqa: N802 (methods are named as in the proto)

import importlib
import mmap
import os
import sys
import tempfile
import zlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import grpc
from grpc_tools import protoc

PROTOS, STYLE = sys.argv[1], sys.argv[2]  # where agent.proto is; "stream", "unary" or "least"; perhaps "roomy"
out = tempfile.mkdtemp()
protoc.main(["protoc", f"-I{PROTOS}", f"--python_out={out}", f"--grpc_python_out={out}", "agent.proto"])
sys.path.insert(0, out)
pb = importlib.import_module("agent_pb2")
rpc = importlib.import_module("agent_pb2_grpc")


class Agent(rpc.AgentServicer):
    def __init__(self):
        self.memory = {}
        self.shared = {}

    def reset(self, request):
        session = request.session_id
        self.memory[session] = zlib.crc32(request.episode.instruction.text.encode())
        if request.shared_memory.size:
            self.shared[session] = self.map(request.shared_memory)
        return pb.ResetReply(shared_memory=session in self.shared)

    def act(self, request):
        value = self.memory[request.session_id]
        for name in sorted(request.observation.sensors):
            value = zlib.crc32(self.content(request.session_id, request.observation.sensors[name]), value)
        self.memory[request.session_id] = value
        choice = ["move_forward", "turn_left", "turn_right"][value % 3]
        name = "stop" if request.observation.step == 19 else choice
        return pb.ActReply(sequence=request.sequence, actions=[pb.Action(name=name)])

    def content(self, session, tensor):
        if tensor.WhichOneof("content") == "raw":
            return tensor.raw
        size = 1 if tensor.dtype == "uint8" else 4  # uint8, float32, int32, uint32
        for extent in tensor.shape:
            size *= extent
        return self.shared[session][tensor.shared.offset : tensor.shared.offset + size]

    def map(self, memory):
        with Path(memory.path).open("rb") as file:
            return mmap.mmap(file.fileno(), memory.size, access=mmap.ACCESS_READ)


class Stream(Agent):
    def Describe(self, request, context):
        proof = self.map(request.shared_memory)[:16] if request.shared_memory.size else b""
        return pb.DescribeReply(name="proto only", max_episodes=4, shared_memory_proof=proof)

    def Episode(self, requests, context):
        for request in requests:
            kind = request.WhichOneof("request")
            if kind == "reset":
                yield pb.EpisodeReply(reset=self.reset(request.reset))
            elif kind == "act":
                yield pb.EpisodeReply(act=self.act(request.act))
            else:
                yield pb.EpisodeReply(end=pb.EndReply())


class Least(Agent):
    def Reset(self, request, context):
        return self.reset(request)

    def Act(self, request, context):
        return self.act(request)


class Unary(Least):
    Describe = Stream.Describe

    def End(self, request, context):
        return pb.EndReply()


roomy = [("grpc.max_receive_message_length", -1)] if sys.argv[3:] == ["roomy"] else None
server = grpc.server(ThreadPoolExecutor(8), options=roomy)
rpc.add_AgentServicer_to_server({"stream": Stream, "unary": Unary, "least": Least}[STYLE](), server)
server.add_insecure_port("unix:" + os.environ["NAV_EVAL_SOCKET"])
server.start()
server.wait_for_termination()
