"""Build the Python side of the wire contract: `python protos/build.py`.

The messages are made from the descriptor when the module is imported, with the documented calls of
protobuf, rather than from protoc's own Python output: that output refuses every protobuf runtime that
is older than the compiler, and a team's image often holds an old one for the sake of another library.
So one built file works from protobuf 3.20 on. protoc still writes the type stubs.

Each package gets its own copy in `_generated/`, which git does not know; the wheels contain it.
"""

import argparse
import json
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCE = Path(__file__).resolve().parent
AGENT = "nav_eval/v1/agent.proto"
PROTOS = (AGENT, "grpc/health/v1/health.proto")
SNAPSHOT = ROOT / "tests/data/protos/agent_v1.json"
TARGETS = (ROOT / "services/nav_eval/agents/_generated", ROOT / "sdk/nav_eval_sdk/_generated")

MODULE = '''"""Built from protos/{proto} by protos/build.py. Do not edit: change the proto and build again."""

from google.protobuf import descriptor_pool, message_factory

# A pool of our own: another copy of the same contract may be loaded in this process.
_POOL = descriptor_pool.DescriptorPool()
_POOL.AddSerializedFile(
{serialized}
)


def _message(name):
    descriptor = _POOL.FindMessageTypeByName("{package}." + name)
    if hasattr(message_factory, "GetMessageClass"):
        return message_factory.GetMessageClass(descriptor)
    return message_factory.MessageFactory(_POOL).GetPrototype(descriptor)  # before protobuf 4.22


{messages}

{constants}

DESCRIPTOR = _POOL.FindFileByName("{proto}")
'''


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--target", type=Path, action="append", help="directories to build into")
    parser.add_argument("--snapshot", action="store_true", help="accept the contract as it is now")
    arguments = parser.parse_args(argv)
    for proto in PROTOS:
        file, stubs = compiled(proto)
        for target in arguments.target or TARGETS:
            write(target, name=f"{Path(proto).stem}_pb2", module=module_text(file), stubs=stubs)
        if arguments.snapshot and proto == AGENT:
            accept(file)


def compiled(proto: str):  # noqa: ANN201 (protobuf is there only while building)
    """The descriptor of one file of the contract, and protoc's type stubs for it."""
    from google.protobuf import descriptor_pb2
    from grpc_tools import protoc

    with tempfile.TemporaryDirectory() as scratch:
        descriptors = Path(scratch) / "descriptors.binpb"
        outputs = [f"--descriptor_set_out={descriptors}", f"--pyi_out={scratch}"]
        if protoc.main(["protoc", f"-I{SOURCE}", *outputs, str(SOURCE / proto)]):
            sys.exit(f"protoc refused {proto}; see above.")
        (file,) = descriptor_pb2.FileDescriptorSet.FromString(descriptors.read_bytes()).file
        return file, (Path(scratch) / proto.replace(".proto", "_pb2.pyi")).read_text()


def module_text(file) -> str:  # noqa: ANN001
    serialized = file.SerializeToString(deterministic=True)
    lines = (f"    {serialized[start : start + 64]!r}" for start in range(0, len(serialized), 64))
    messages = (f'{message.name} = _message("{message.name}")' for message in file.message_type)
    constants = (f"{value.name} = {value.number}" for enum in file.enum_type for value in enum.value)
    return MODULE.format(
        proto=file.name,
        package=file.package,
        serialized="\n".join(lines),
        messages="\n".join(messages),
        constants="\n".join(constants),
    )


def write(target: Path, *, name: str, module: str, stubs: str) -> None:
    target.mkdir(parents=True, exist_ok=True)
    (target / "__init__.py").write_text('"""Built by protos/build.py."""\n')
    (target / f"{name}.py").write_text(module)
    (target / f"{name}.pyi").write_text("# mypy: disable-error-code=type-arg\n" + stubs)


def accept(file) -> None:  # noqa: ANN001
    """Make the contract of today the one that later changes are compared with."""
    sys.path.insert(0, str(SOURCE))
    from breaking import contract_of

    SNAPSHOT.parent.mkdir(parents=True, exist_ok=True)
    SNAPSHOT.write_text(json.dumps(contract_of(file), indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
