"""`nav-eval replay`: a run again from its action log, to be looked at."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nav_eval.cache import open_cache_folder

if TYPE_CHECKING:
    from nav_eval.replay.builder import ReplayBuilder

SHOWN_METRICS = 4


def replay(
    run: Annotated[Path, typer.Argument(help="Folder of a run.")],
    *,
    episode: Annotated[
        str | None, typer.Option(help="Which episode; without it they are listed, and the first is taken.")
    ] = None,
    html: Annotated[Path | None, typer.Option(help="Write a self-contained page to this file.")] = None,
    mp4: Annotated[Path | None, typer.Option(help="Write a video to this file (needs nav-eval[video]).")] = None,
    map_file: Annotated[Path | None, typer.Option("--map", help="Write the map as a PNG to this file.")] = None,
    json: Annotated[Path | None, typer.Option(help="Write the replay's data to this file.")] = None,
    sensors: Annotated[
        str | None, typer.Option(help="Cameras to show, by comma; none leaves them out. Default: the colour ones.")
    ] = None,
    also: Annotated[
        str | None, typer.Option(help="What to show of each camera beside its own: depth, semantic, by comma.")
    ] = None,
    size: Annotated[int | None, typer.Option(min=32, max=2048, help="Longest side of camera pictures.")] = None,
    quality: Annotated[int, typer.Option(min=1, max=95, help="JPEG quality of camera pictures.")] = 70,
    fps: Annotated[int, typer.Option(min=1, max=60, help="Steps per second of the video.")] = 5,
    language: Annotated[str, typer.Option(help="Language of the page: en or zh.")] = "en",
) -> None:
    """Play an episode of RUN again from its action log; writes <episode>.html unless told otherwise."""
    from nav_eval.evaluation.run_folder import make_file_name
    from nav_eval.replay import drawings, page
    from nav_eval.replay.builder import ReplayBuilder
    from nav_eval.replay.model import encode_replay
    from nav_eval.replay.video import PictureSize, check_video
    from nav_eval.replay.view_kinds import parse_kinds
    from nav_eval.whole_files import write_atomically

    page.get_words(language)
    if mp4:
        check_video()
    builder = ReplayBuilder(
        run,
        cache=open_cache_folder(),
        sensors=split_names(sensors),
        size=PictureSize(side=size, quality=quality),
        kinds=parse_kinds(split_names(also) or ()),
    )
    if episode is None:
        _print_episodes(builder, run)
        episode = next(iter(builder.results))
    if not (html or mp4 or map_file or json):
        html = Path(f"{make_file_name(episode)}.html")
    with builder:
        made = builder.replay(episode)
        for difference in made.differences:
            typer.echo(f"Differs from the run: {difference}", err=True)
        if map_file:
            drawings.write_map(map_file, made)
        if mp4:
            drawings.write_replay_video(mp4, made, builder, fps=fps)
        if html or json:
            made = builder.with_views(made)
        if html:
            page.write_page(html, made, language=language)
        if json:
            write_atomically(json, encode_replay(made))
    for path in filter(None, (html, mp4, map_file, json)):
        typer.echo(f"{path} ({path.stat().st_size / 1e6:.1f} MB, {made.last_step} steps)")


def split_names(sensors: str | None) -> list[str] | None:
    if sensors is None:
        return None
    return [name.strip() for name in sensors.split(",") if name.strip() and name.strip() != "none"]


def _print_episodes(builder: "ReplayBuilder", run: Path) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from nav_eval.evaluation.report import format_number
    from nav_eval.evaluation.terminal_report import choose_headline_metrics

    results = list(builder.results.values())
    metrics = choose_headline_metrics(
        dict.fromkeys(name for result in results for name in result.metrics), SHOWN_METRICS
    )
    table = Table(title=Text(f"Episodes of {run}"), title_justify="left")
    for column in ("episode", "status", "steps", *metrics):
        is_text = column in ("episode", "status")
        table.add_column(
            Text(column), justify="left" if is_text else "right", overflow="fold" if is_text else "ellipsis"
        )
    for result in results:
        values = [format_number(result.metrics.get(name)) for name in metrics]
        table.add_row(Text(result.episode_id), Text(result.cause or str(result.status)), str(result.num_steps), *values)
    Console().print(table)
    typer.echo(f"Another one: nav-eval replay {run} --episode ID")
