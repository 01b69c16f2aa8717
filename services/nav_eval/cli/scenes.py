"""`nav-eval scenes …`: look into scene files. `scenes generate` comes from the package that generates worlds."""

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

if TYPE_CHECKING:
    from nav_eval.scene.navigation.mesh import NavigationMesh
    from nav_eval.simulator.scene_manager import SceneSource

FileUp = Annotated[str, typer.Option("--up", help="Which way is up in the file: auto, x, y, z, -y, … or x,y,z.")]
FileScale = Annotated[float | None, typer.Option("--scale", help="Metres per unit of the file.")]

app = typer.Typer(no_args_is_help=True, help="Look into scene files.")


@app.command()
def inspect(
    file: Annotated[Path, typer.Argument(help="A .glb, .gltf, .ply, .obj, .dae, .3mf, .stl or .off file.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
    up: FileUp = "auto",
    scale: FileScale = None,
) -> None:
    """Read FILE and say what is in it, what was converted and what was left out."""
    from nav_eval.scene.formats import compute_scene_digest, inspect_scene, read_scene

    inspection = inspect_scene(read_scene(file, up=up, scale=scale))
    figures = {**inspection.as_dict(), "digest": compute_scene_digest(file)}
    if as_json:
        typer.echo(json.dumps(figures, indent=2, ensure_ascii=False))
        return
    console = Console()
    console.print(_make_table(figures))
    for note in inspection.notes:
        console.print(f"note: {note}", markup=False, highlight=False, soft_wrap=True)
    for warning in inspection.warnings:
        console.print(f"warning: {warning}", markup=False, highlight=False, style="yellow", soft_wrap=True)


@app.command()
def prepare(
    file: Annotated[Path, typer.Argument(help="A scene file.")],
    radius: Annotated[float, typer.Option(help="Of the agent, metres.")] = 0.1,
    height: Annotated[float, typer.Option(help="Of the agent, metres.")] = 1.5,
    up: FileUp = "auto",
    scale: FileScale = None,
) -> None:
    """Make FILE ready for evaluation ahead of time: navigation mesh and drawing data go into the cache."""
    source, mesh, seconds = _prepare_scene(file, radius=radius, height=height, up=up, scale=scale)
    typer.echo(
        f"{file}: {mesh.area:.1f} m² to walk on, {source.prepared.triangle_count:,} triangles to draw, "
        f"ready in {seconds:.1f} s."
    )
    for island in mesh.islands[:8]:
        kept = "walkable" if island.index is not None else "left out"
        typer.echo(f"  {island.area:8.1f} m² at height {island.height:+.2f} m: {island.verdict}, {kept}")


@app.command()
def preview(
    file: Annotated[Path, typer.Argument(help="A scene file.")],
    out: Annotated[Path, typer.Option(help="Folder for the pictures.")] = Path("preview"),
    views: Annotated[int, typer.Option(help="How many views.", min=0)] = 4,
    seed: Annotated[int, typer.Option(help="Which places to look from.", min=0)] = 0,
    up: FileUp = "auto",
    scale: FileScale = None,
) -> None:
    """Write pictures of FILE: a map of every floor, and a few views."""
    from nav_eval.simulator.preview import write_previews

    source, mesh, _ = _prepare_scene(file, radius=0.1, height=1.5, up=up, scale=scale)
    for path in write_previews(source, mesh, out, views=views, seed=seed):
        typer.echo(str(path))


def _prepare_scene(
    file: Path, *, radius: float, height: float, up: str, scale: float | None
) -> "tuple[SceneSource, NavigationMesh, float]":
    from nav_eval.cache import get_cache_folder
    from nav_eval.scene.navigation import AgentShape
    from nav_eval.simulator.scene_manager import SceneSource

    started = time.perf_counter()
    source = SceneSource(path=file, things=(), root=file.parent, cache=get_cache_folder(), up=up, scale=scale)
    mesh = source.ground(AgentShape(radius=radius, height=height))
    source.prepare_for(mesh)
    return source, mesh, time.perf_counter() - started


def _make_table(figures: dict[str, object]) -> Table:
    table = Table(show_header=False, box=None, pad_edge=False)
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    for name, value in figures.items():
        if name not in ("notes", "warnings"):
            table.add_row(name.replace("_", " "), _format_value(value))
    return table


def _format_value(value: object) -> str:
    match value:
        case None:
            return "unclear"
        case bool():
            return "yes" if value else "no"
        case int():
            return f"{value:,}"
        case tuple():
            return ", ".join(f"{part:g}" if isinstance(part, float) else str(part) for part in value) or "none"
        case dict():
            return ", ".join(f"{name} {count}" for name, count in list(value.items())[:20]) or "none"
    return str(value)
