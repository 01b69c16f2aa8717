"""Result cards: what drawing a scene cost, on which machine and driver, in a file small enough to send around.

A card carries a digest of everything else on it. It proves nothing about who measured, but a figure that was changed
or mistyped afterwards is found.
"""

import hashlib
import json
import os
import platform
from collections.abc import Mapping
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

from nav_eval.errors import ConfigError
from nav_eval.simulator.rendering.device import Device
from nav_eval.simulator.rendering.throughput import Lens, Measurement

CARD_VERSION = 1


def make_card(figures: Measurement, *, lens: Lens, scene: str, scene_digest: str, device: Device) -> dict[str, Any]:
    """The card of one measurement."""
    measured = asdict(figures)
    frames = len(measured.pop("poses"))
    card = {
        "card": CARD_VERSION,
        "nav_eval": version("nav-eval"),
        "machine": {
            "processor": _read_processor(),
            "cores": os.cpu_count(),
            "system": f"{platform.system()} {platform.machine()}",
        },
        "driver": {
            "renderer": device.name,
            "version": device.driver,
            "software": device.is_software,
            "threads": os.environ.get("LP_NUM_THREADS") if device.is_software else None,
        },
        "scene": {"name": scene, "digest": scene_digest},
        "picture": {"channels": sorted(lens.channels), "width": lens.width, "height": lens.height, "hfov": lens.hfov},
        "frames": frames,
        "load_average": round(os.getloadavg()[0], 1),
        "figures": {name: round(value, 3) if isinstance(value, float) else value for name, value in measured.items()},
    }
    return {**card, "digest": compute_card_digest(card)}


def compute_card_digest(card: Mapping[str, Any]) -> str:
    """Of everything on a card but the digest itself."""
    content = {name: value for name, value in card.items() if name != "digest"}
    return hashlib.sha256(json.dumps(content, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def read_card(path: Path) -> dict[str, Any]:
    """A card from a file, refused if its digest is not that of its figures."""
    try:
        card: dict[str, Any] = json.loads(path.read_bytes())
        is_whole = card["digest"] == compute_card_digest(card)
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise ConfigError(f"{path} is not a result card ({error}); `nav-eval bench card` writes one.") from error
    if not is_whole:
        raise ConfigError(f"{path} was changed after it was measured: its digest is another one. Measure again.")
    return card


def _read_processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()
