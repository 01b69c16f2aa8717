"""What a gateway can make again and keeps while it runs: in a folder of its process, once there is something."""

from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock


class KeptFiles:
    """A gateway that is killed leaves no folder behind unless somebody had asked for a file."""

    def __init__(self) -> None:
        self._made: TemporaryDirectory[str] | None = None
        self._lock = Lock()

    @property
    def folder(self) -> Path:
        with self._lock:
            if self._made is None:
                self._made = TemporaryDirectory(prefix="nav-eval-gateway-", ignore_cleanup_errors=True)
            return Path(self._made.name)

    def close(self) -> None:
        with self._lock:
            if self._made is not None:
                self._made.cleanup()
