"""`nav-eval bench`: how fast things are on this machine."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nav_eval.errors import ConfigError

if TYPE_CHECKING:
    from nav_eval.simulator.rendering.throughput import EyePose, Lens, Measurement


DEFAULT_STEPS = 200

bench_app = typer.Typer(
    no_args_is_help=True, suggest_commands=False, help="Measure how fast things are on this machine."
)


@bench_app.callback()
def bench() -> None:
    """Measure how fast things are on this machine."""


@bench_app.command()
def render(
    scene: Annotated[Path, typer.Argument(help="A .glb, .gltf, .ply or .obj file.")],
    *,
    sensors: Annotated[str, typer.Option(help="Any of rgb,depth,semantic,instance.")] = "rgb,depth",
    size: Annotated[str, typer.Option(help="Width × height in pixels.")] = "640x480",
    hfov: Annotated[float, typer.Option(help="Horizontal field of view, degrees.")] = 90.0,
    steps: Annotated[int | None, typer.Option(help="Frames; 200, or as many as there are poses.", min=1)] = None,
    poses: Annotated[Path | None, typer.Option(help="JSON list of [x, y, z, yaw]: camera and radians.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of the walk that is taken without --poses.", min=0)] = 0,
    device: Annotated[int | None, typer.Option(help="EGL device by number; the first by default.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, with the poses.")] = False,
) -> None:
    """Draw SCENE along a walk and say what a frame costs."""
    from nav_eval.cache import open_cache_folder
    from nav_eval.simulator.rendering.device import Device
    from nav_eval.simulator.rendering.throughput import measure

    given = None if poses is None else _read_poses(poses, steps)
    figures = measure(
        scene,
        lens=_make_lens(sensors, size, hfov),
        steps=steps or DEFAULT_STEPS,
        poses=given,
        cache=open_cache_folder(),
        device=Device.open(device),
        seed=seed,
    )
    typer.echo(json.dumps(asdict(figures)) if as_json else _format_measurement(figures))


@bench_app.command()
def card(
    file: Annotated[Path, typer.Argument(help="A scene file to measure, or a card (.json) to check and print.")],
    *,
    out: Annotated[Path, typer.Option(help="Where to write the card.")] = Path("card.json"),
    sensors: Annotated[str, typer.Option(help="Any of rgb,depth,semantic,instance.")] = "rgb,depth",
    size: Annotated[str, typer.Option(help="Width × height in pixels.")] = "640x480",
    steps: Annotated[int, typer.Option(help="Frames.", min=1)] = DEFAULT_STEPS,
    device: Annotated[int | None, typer.Option(help="EGL device by number; the first by default.")] = None,
) -> None:
    """Write a result card: what a frame of FILE costs, on which machine and driver, with a digest."""
    from nav_eval.cache import open_cache_folder
    from nav_eval.scene.formats import compute_scene_digest
    from nav_eval.simulator.rendering.device import Device
    from nav_eval.simulator.rendering.result_card import make_card, read_card
    from nav_eval.simulator.rendering.throughput import measure

    if file.suffix == ".json":
        typer.echo(_format_card(read_card(file)))
        return
    lens, opened = _make_lens(sensors, size, 90.0), Device.open(device)
    figures = measure(file, lens=lens, steps=steps, poses=None, cache=open_cache_folder(), device=opened)
    made = make_card(figures, lens=lens, scene=file.name, scene_digest=compute_scene_digest(file), device=opened)
    out.write_text(json.dumps(made, indent=2) + "\n")
    typer.echo(f"{_format_card(made)}\n{out}")


def _format_card(card: dict[str, Any]) -> str:
    figures, picture = card["figures"], card["picture"]
    return (
        f"{card['scene']['name']}, {'+'.join(picture['channels'])} {picture['width']}×{picture['height']}: "
        f"{figures['first_walk_cpu_ms_per_frame']:.2f} ms CPU per frame on a first walk, "
        f"{figures['repeated_walk_cpu_ms_per_frame']:.2f} on a repeated one, {figures['rss_mb']:.0f} MB; "
        f"{card['machine']['processor']}, {card['driver']['renderer']}"
    )


def _format_measurement(figures: "Measurement") -> str:
    return (
        f"{figures.fps:.1f} frames/s, {figures.first_walk_cpu_ms_per_frame:.2f} ms CPU per frame "
        f"({figures.repeated_walk_cpu_ms_per_frame:.2f} where one walked before), "
        f"{figures.triangles:,} triangles, loaded in {figures.load_s:.2f} s, {figures.rss_mb:.0f} MB resident, "
        f"{figures.renderer}"
    )


def _make_lens(sensors: str, size: str, hfov: float) -> "Lens":
    from nav_eval.simulator.rendering import Channel
    from nav_eval.simulator.rendering.throughput import Lens

    known = {str(channel) for channel in Channel}
    wanted = [name.strip() for name in sensors.split(",") if name.strip()]
    if not wanted or not known.issuperset(wanted):
        raise ConfigError(f"--sensors {sensors!r}: use some of {', '.join(sorted(known))}, separated by commas.")
    width, separator, height = size.lower().replace("×", "x").partition("x")
    if not separator or not (width.isdecimal() and height.isdecimal()):
        raise ConfigError(f"--size {size!r}: use width x height in pixels, for example 640x480.")
    return Lens(channels=frozenset(map(Channel, wanted)), width=int(width), height=int(height), hfov=hfov)


def _read_poses(path: Path, steps: int | None) -> "list[EyePose]":
    """The poses of a file, repeated or cut to `steps`; takes a list, or what --json printed."""
    from nav_eval.simulator.rendering.throughput import EyePose

    try:
        content = json.loads(path.read_bytes())
        rows = content["poses"] if isinstance(content, dict) else content
        poses = [EyePose(*map(float, row)) for row in rows]
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise ConfigError(f"{path}: not a JSON list of [x, y, z, yaw] ({error}).") from error
    if not poses:
        raise ConfigError(f"{path}: there is no pose in it.")
    count = steps or len(poses)
    return [poses[number % len(poses)] for number in range(count)]
