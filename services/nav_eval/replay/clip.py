"""A few seconds of an episode as one moving picture (WebP), for pages that show what agents do."""

import io

from PIL import Image

from nav_eval.replay.model import CameraView

FRAMES = 36
WIDTH = 384
MILLISECONDS = 120
"""Of each picture; the last one stays longer."""


def make_clip(view: CameraView, *, still: bool = False) -> bytes:
    """Pictures of one camera, evenly over the episode; `still` is the first alone."""
    chosen = view.frames[:1] if still else _choose_evenly(view.frames)
    pictures = [_shrink(frame) for frame in chosen]
    out = io.BytesIO()
    if len(pictures) == 1:
        pictures[0].save(out, "WEBP", quality=60, method=2)
    else:
        durations = [MILLISECONDS] * (len(pictures) - 1) + [MILLISECONDS * 8]
        pictures[0].save(
            out, "WEBP", save_all=True, append_images=pictures[1:], duration=durations, loop=0, quality=55, method=2
        )
    return out.getvalue()


def _choose_evenly(frames: list[bytes]) -> list[bytes]:
    if len(frames) <= FRAMES:
        return frames
    return [frames[round(place * (len(frames) - 1) / (FRAMES - 1))] for place in range(FRAMES)]


def _shrink(frame: bytes) -> Image.Image:
    with Image.open(io.BytesIO(frame), formats=("JPEG", "WEBP", "PNG")) as picture:
        image = picture.convert("RGB")
    if image.width <= WIDTH:
        return image
    return image.resize((WIDTH, max(1, round(image.height * WIDTH / image.width))), Image.Resampling.BILINEAR)
