"""`nav-eval scenes …`: look into scene files. `scenes generate` comes from the package that generates worlds."""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
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

app = typer.Typer(no_args_is_help=True, suggest_commands=False, help="Look into scene files.")


@app.command()
def inspect(
    file: Annotated[Path, typer.Argument(help="A .glb, .gltf, .ply, .obj, .dae, .3mf, .stl, .off or .splat file.")],
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
    files: Annotated[list[Path], typer.Argument(help="Scene files; several are prepared at once, on all cores.")],
    radius: Annotated[float, typer.Option(help="Of the agent, metres.")] = 0.1,
    height: Annotated[float, typer.Option(help="Of the agent, metres.")] = 1.5,
    up: FileUp = "auto",
    scale: FileScale = None,
) -> None:
    """Make FILES ready for evaluation ahead of time: navigation mesh and drawing data go into the cache."""
    if len(files) > 1:
        options = [f"--radius={radius}", f"--height={height}", f"--up={up}"]
        _prepare_all(files, options if scale is None else [*options, f"--scale={scale}"])
        return
    (file,) = files
    source, mesh, seconds = _prepare_scene(file, radius=radius, height=height, up=up, scale=scale)
    typer.echo(
        f"{file}: {mesh.area:.1f} m² to walk on, {source.prepared.triangle_count:,} triangles to draw, "
        f"ready in {seconds:.1f} s."
    )
    _warn_of_missing_ground(mesh)
    for island in mesh.islands[:8]:
        kept = "walkable" if island.index is not None else "left out"
        typer.echo(f"  {island.area:8.1f} m² at height {island.height:+.2f} m: {island.verdict}, {kept}")


def _prepare_all(files: list[Path], options: list[str]) -> None:
    """Say of each scene what became of it, as it is ready; exit code 1 if one failed."""
    from nav_eval.simulator.scene_preparation import Prepared, count_processes, prepare_scenes

    with _show_progress("scenes", total=len(files)) as advance:

        def tell(result: Prepared) -> None:
            advance()
            typer.echo(result.said.partition("\n")[0] if result.ok else result.said, err=not result.ok)

        results = prepare_scenes(files, options, processes=count_processes(len(files)), on_result=tell)
    failed = [result.file for result in results if not result.ok]
    if failed:
        typer.echo(f"{len(failed)} of {len(files)} scenes cannot be used: {', '.join(map(str, failed))}.", err=True)
        raise typer.Exit(1)


@contextmanager
def _show_progress(title: str, *, total: int) -> Iterator[Callable[[], None]]:
    """A bar on a terminal's stderr; call what it yields after each part."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn(f"[bold]{title}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    console = Console(stderr=True)
    with Progress(*columns, console=console, disable=not console.is_terminal) as bar:
        task = bar.add_task(title, total=total)
        yield lambda: bar.advance(task)


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
    _warn_of_missing_ground(mesh)


@app.command()
def convert(
    file: Annotated[Path, typer.Argument(help="A scene file, or a Gazebo world (.world, .sdf).")],
    out: Annotated[Path, typer.Option(help="The .glb file to write; names of things go beside it.")],
    models: Annotated[
        list[Path] | None,
        typer.Option(envvar="GAZEBO_MODEL_PATH", help="Folders of a world's models, those beside it aside."),
    ] = None,
    up: FileUp = "auto",
    scale: FileScale = None,
) -> None:
    """Write FILE as a GLB, which every viewer opens; a Gazebo world is put together from its models."""
    from nav_eval.errors import SceneError
    from nav_eval.scene.formats import read_scene, write_glb
    from nav_eval.scene.formats.gazebo import WORLD_SUFFIXES, ModelLibrary, read_world
    from nav_eval.scene.semantics import get_semantics_path, write_semantics

    if out.suffix.lower() != ".glb":
        raise SceneError(f"{out}: scenes are written as .glb files; choose such a name.")
    is_world = file.suffix.lower() in WORLD_SUFFIXES
    scene = read_world(file, ModelLibrary(file, models or ())) if is_world else read_scene(file, up=up, scale=scale)
    if scene.splats is not None:
        raise SceneError(f"{file}: is a scene of splats, which GLB has no place for; use the file as it is.")
    out.parent.mkdir(parents=True, exist_ok=True)
    write_glb(scene, out)
    if scene.semantics.objects:
        write_semantics(scene.semantics, get_semantics_path(out))
    for warning in scene.report.warnings:
        typer.secho(f"warning: {warning}", fg="yellow", err=True)
    typer.echo(f"{out}: {len(scene.triangles):,} triangles, {len(scene.semantics.objects):,} objects.")


def _warn_of_missing_ground(mesh: "NavigationMesh") -> None:
    if all(island.index is None for island in mesh.islands):
        advice = "If it lies on its side, pass --up; if it is not drawn in metres, pass --scale."
        typer.secho(f"warning: nobody can walk in it: there is no ground large enough. {advice}", fg="yellow", err=True)


def _prepare_scene(
    file: Path, *, radius: float, height: float, up: str, scale: float | None
) -> "tuple[SceneSource, NavigationMesh, float]":
    from nav_eval.cache import open_cache_folder
    from nav_eval.scene.navigation import AgentShape
    from nav_eval.simulator.scene_manager import SceneSource
    from nav_eval.simulator.scene_preparation import return_large_arrays

    return_large_arrays()
    started = time.perf_counter()
    source = SceneSource(path=file, things=(), root=file.parent, cache=open_cache_folder(), up=up, scale=scale)
    with _show_progress(file.name, total=3) as advance:
        mesh = source.ground(AgentShape(radius=radius, height=height))
        advance()
        source.prepared  # noqa: B018 (it is made when it is first asked for)
        advance()
        source.prepare_for(mesh)
        advance()
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
