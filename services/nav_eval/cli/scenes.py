"""`nav-eval scenes …`: look into scene files."""

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

app = typer.Typer(no_args_is_help=True, help="Look into scene files.")


@app.command()
def inspect(
    file: Annotated[Path, typer.Argument(help="A .glb, .gltf, .ply or .obj file.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
    up: Annotated[str, typer.Option(help="Which way is up in the file: auto, x, y, z, -y, … or x,y,z.")] = "auto",
    scale: Annotated[float | None, typer.Option(help="Metres per unit of the file.")] = None,
) -> None:
    """Read FILE and say what is in it, what was converted and what was left out."""
    from nav_eval.scene.reading import inspect_scene, read_scene, scene_digest

    inspection = inspect_scene(read_scene(file, up=up, scale=scale))
    figures = {**inspection.as_dict(), "digest": scene_digest(file)}
    if as_json:
        typer.echo(json.dumps(figures, indent=2, ensure_ascii=False))
        return
    console = Console()
    console.print(_table(figures))
    for note in inspection.notes:
        console.print(f"note: {note}", markup=False, highlight=False, soft_wrap=True)
    for warning in inspection.warnings:
        console.print(f"warning: {warning}", markup=False, highlight=False, style="yellow", soft_wrap=True)


@app.command()
def prepare(
    file: Annotated[Path, typer.Argument(help="A scene file.")],
    radius: Annotated[float, typer.Option(help="Of the agent, metres.")] = 0.1,
    height: Annotated[float, typer.Option(help="Of the agent, metres.")] = 1.5,
) -> None:
    """Make FILE ready for evaluation ahead of time: navigation mesh and drawing data go into the cache."""
    source, mesh, seconds = _prepared(file, radius=radius, height=height)
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
) -> None:
    """Write pictures of FILE: a map of every floor, and a few views."""
    from nav_eval.simulator.preview import write_previews

    source, mesh, _ = _prepared(file, radius=0.1, height=1.5)
    for path in write_previews(source, mesh, out, views=views, seed=seed):
        typer.echo(str(path))


def _prepared(file: Path, *, radius: float, height: float) -> "tuple[SceneSource, NavigationMesh, float]":
    from nav_eval.cache import cache_folder
    from nav_eval.scene.navigation import AgentShape
    from nav_eval.simulator.scene_manager import SceneSource

    started = time.perf_counter()
    source = SceneSource(path=file, things=(), root=file.parent, cache=cache_folder())
    mesh = source.ground(AgentShape(radius=radius, height=height))
    _ = source.prepared
    return source, mesh, time.perf_counter() - started


@app.command()
def generate(
    out: Annotated[Path, typer.Option(help="Folder for the houses.")],
    *,
    count: Annotated[int, typer.Option(help="How many houses.", min=1)] = 1,
    seed: Annotated[int, typer.Option(help="Seed of the first house; the others count up.", min=0)] = 0,
    split: Annotated[str, typer.Option(help="seen or unseen: disjoint plans, furniture and textures.")] = "seen",
    template: Annotated[str | None, typer.Option(help="flat_1 … duplex_5; drawn if not given.")] = None,
    detail: Annotated[int, typer.Option(help="Cut every triangle into four, so many times.", min=0, max=4)] = 0,
) -> None:
    """Generate furnished houses: a .glb and a .semantics.json each, and a manifest."""
    from nav_eval.scene.houses.writing import write_houses

    for house in write_houses(out, count=count, seed=seed, split=split, template=template, detail=detail):
        typer.echo(
            f"{house.file}: {house.template}, {house.rooms} rooms, {house.area:g} m², "
            f"{house.objects} objects, {house.triangles:,} triangles"
        )


def _table(figures: dict[str, object]) -> Table:
    table = Table(show_header=False, box=None, pad_edge=False)
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    for name, value in figures.items():
        if name not in ("notes", "warnings"):
            table.add_row(name.replace("_", " "), _shown(value))
    return table


def _shown(value: object) -> str:
    match value:
        case None:
            return "unclear"
        case int():
            return f"{value:,}"
        case tuple():
            return ", ".join(f"{part:g}" if isinstance(part, float) else str(part) for part in value) or "none"
        case dict():
            return ", ".join(f"{name} {count}" for name, count in list(value.items())[:20]) or "none"
    return str(value)
