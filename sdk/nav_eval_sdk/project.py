"""`nav-eval-sdk init`: a project that can be submitted as it is, and then made clever."""

from __future__ import annotations

import re
from pathlib import Path

from nav_eval_sdk.errors import SdkError

TEMPLATES = Path(__file__).parent / "templates"

#: What each file of the project is made from.
FILES = {
    "agent.py": "agent.py.txt",
    "Dockerfile": "Dockerfile.txt",
    ".dockerignore": "dockerignore.txt",
    "requirements.txt": "requirements.txt",
    "README.md": "README.md.txt",
    ".github/workflows/check.yml": "check.yml.txt",
    "wheels/README": "wheels.txt",
}


def create_project(directory: Path) -> list[Path]:
    """Write the project; refuses to overwrite anything."""
    name = re.sub(r"[^a-z0-9-]+", "-", directory.resolve().name.lower()).strip("-") or "agent"
    targets = [directory / path for path in FILES]
    existing = [path for path in targets if path.exists()]
    if existing:
        raise SdkError(f"{existing[0]} exists already; choose another directory.")
    for path, source in zip(targets, FILES.values()):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text((TEMPLATES / source).read_text().replace("{{name}}", name))
    return targets
