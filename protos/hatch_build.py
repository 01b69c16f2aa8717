"""The engine's wheel carries the built wire contract, and so does an editable install."""

import runpy
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

TARGET = "services/nav_eval/agents/_generated"


class WireContract(BuildHookInterface):  # type: ignore[type-arg]
    """Run build.py before anything is packed."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        build = Path(self.root) / "protos" / "build.py"
        runpy.run_path(str(build))["main"](["--target", str(Path(self.root) / TARGET)])
        build_data["artifacts"].append(f"{TARGET}/*")
