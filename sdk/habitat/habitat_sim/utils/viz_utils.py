"""Pictures and films of observations."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from habitat_sim.utils.common.common import d3_40_colors_rgb
from nav_eval_habitat.scope import OutOfScope

_GRAY = 150


def is_notebook() -> bool:
    try:
        get_ipython  # type: ignore[name-defined] # noqa: B018
    except NameError:
        return False
    return True


def depth_to_rgb(depth_image: NDArray[Any], clip_max: float = 10.0) -> NDArray[np.uint8]:
    """Grey by distance: white at the clip and beyond."""
    gray: NDArray[np.uint8] = (np.clip(depth_image, 0, clip_max) / clip_max * 255).astype(np.uint8)
    return gray


def semantic_to_rgb(semantic_image: NDArray[Any]) -> Image.Image:
    colors = d3_40_colors_rgb[np.asarray(semantic_image).astype(np.int64) % 40]
    return Image.fromarray(colors).convert("RGBA")


def observation_to_image(
    observation_image: NDArray[Any], observation_type: str, depth_clip: float | None = 10.0
) -> Image.Image | None:
    """A picture of a "color", "depth" or "semantic" observation; None for any other."""
    if observation_type == "color":
        return Image.fromarray(np.ascontiguousarray(observation_image[:, :, :3], dtype=np.uint8))
    if observation_type == "depth":
        return Image.fromarray(depth_to_rgb(observation_image, depth_clip or 10.0))
    if observation_type == "semantic":
        return semantic_to_rgb(observation_image)
    return None


def border_frames_from_overlay(
    overlay_settings: Sequence[dict[str, Any]] | None, observation_to_image: Callable[..., Any] = observation_to_image
) -> list[Image.Image]:
    """A plain frame behind each small picture."""
    frames = []
    for overlay in overlay_settings or []:
        width, height = (side + 2 * overlay["border"] for side in overlay["dims"])
        color = overlay.get("border_color", _GRAY)
        frames.append(observation_to_image(np.full((height, width, 3), color, dtype=np.uint8), "color"))
    return frames


def make_video_frame(
    ob: dict[str, Any],
    primary_obs: str,
    primary_obs_type: str,
    video_dims: tuple[int, int] | None,
    overlay_settings: Sequence[dict[str, Any]] | None = None,
    depth_clip: float | None = 10.0,
    observation_to_image: Callable[..., Any] = observation_to_image,
    border_frames: list[Image.Image] | None = None,
) -> Image.Image:
    """One observation with others laid over it."""
    frame: Image.Image | None = observation_to_image(ob[primary_obs], primary_obs_type, depth_clip)
    if frame is None:
        raise RuntimeError("make_video_frame : primary image processing failed")
    borders = border_frames or border_frames_from_overlay(overlay_settings)
    for overlay, border in zip(overlay_settings or [], borders, strict=True):
        x, y = overlay["pos"]
        small = observation_to_image(ob[overlay["obs"]], overlay["type"], depth_clip).resize(overlay["dims"])
        frame.paste(border, box=(x - overlay["border"], y - overlay["border"]))
        frame.paste(small, box=(x, y))
    return frame if video_dims is None else frame.resize(video_dims)


def save_video(video_file: str, frames: Sequence[Any], fps: int = 60) -> None:
    """An mp4 by imageio, which habitat-lab brings along."""
    try:
        import imageio
    except ImportError as error:
        raise OutOfScope("save_video without imageio and imageio-ffmpeg") from error
    imageio.mimwrite(video_file, [np.asarray(frame) for frame in frames], fps=fps, quality=5)


def display_video(video_file: str, height: int = 400) -> None:
    print(f"The film is in {video_file}")


def make_video(
    observations: Sequence[dict[str, Any]],
    primary_obs: str,
    primary_obs_type: str,
    video_file: str,
    fps: int = 60,
    open_vid: bool = True,
    video_dims: tuple[int, int] | None = None,
    overlay_settings: Sequence[dict[str, Any]] | None = None,
    depth_clip: float | None = 10.0,
    observation_to_image: Callable[..., Any] = observation_to_image,
) -> None:
    file = str(Path(video_file).with_suffix(".mp4"))
    frames = [
        make_video_frame(
            observation, primary_obs, primary_obs_type, video_dims, overlay_settings, depth_clip, observation_to_image
        )
        for observation in observations
    ]
    save_video(file, frames, fps)
    if open_vid:
        display_video(file)


def get_island_colored_map(island_top_down_map_data: NDArray[Any]) -> Image.Image:
    """A colour per island on white, x across as in Habitat's: the picture is the map on its side."""
    islands = np.asarray(island_top_down_map_data)
    picture = np.full((*islands.shape, 3), 255, dtype=np.uint8)
    inside = islands >= 0
    picture[inside] = d3_40_colors_rgb[islands[inside] % 40]
    return Image.fromarray(picture.transpose(1, 0, 2).copy())
