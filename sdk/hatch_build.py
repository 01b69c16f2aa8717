"""Wheels carry the built wire contract.

Inside the repository it is built from protos/; an sdist already contains it.
"""

import runpy
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class WireContract(BuildHookInterface):  # type: ignore[type-arg]
    """Run protos/build.py before anything is packed."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        built = Path(self.root) / "nav_eval_sdk" / "_generated"
        build = Path(self.root).parent / "protos" / "build.py"
        if build.exists():
            runpy.run_path(str(build))["main"](["--target", str(built)])
        elif not (built / "agent_pb2.py").exists():
            raise FileNotFoundError(f"{built} is missing, and so is {build}, which makes it.")
        build_data["artifacts"].append("nav_eval_sdk/_generated/*")
