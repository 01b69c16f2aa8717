"""An episode as an MP4 that every browser plays: H.264, yuv420p, the index in front."""

from collections.abc import Iterable
from pathlib import Path

import numpy as np
from PIL import Image

from nav_eval.errors import NavEvalError

PRESET, CRF = "veryfast", "23"


class VideoMissing(NavEvalError):
    """Videos need PyAV: pip install 'nav-eval[video]'."""


def check_video() -> None:
    """Refuse now rather than after hours of evaluation."""
    try:
        import av  # noqa: F401
    except ImportError as error:
        raise VideoMissing from error


def write_video(path: Path, frames: Iterable[Image.Image], *, fps: int = 5) -> int:
    """Write frames of one size as they come; returns how many. The file appears when it is complete."""
    check_video()
    import av
    from av.video.frame import VideoFrame

    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.part")
    count = 0
    try:
        with av.open(str(partial), "w", format="mp4", options={"movflags": "+faststart"}) as container:
            stream = None
            for image in frames:
                if stream is None:
                    stream = container.add_stream("libx264", rate=fps, options={"preset": PRESET, "crf": CRF})
                    stream.width, stream.height, stream.pix_fmt = image.width, image.height, "yuv420p"
                frame = VideoFrame.from_ndarray(np.asarray(image), format="rgb24")
                container.mux(stream.encode(frame))
                count += 1
            if stream is not None:
                container.mux(stream.encode(None))
        partial.replace(path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise
    return count
