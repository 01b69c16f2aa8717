"""Kombu's broker of files, with messages that appear whole.

Kombu writes a message into the file from which others read it; a worker that looks in between gets half of it, and
ends. Here it is written beside and moved into place.
"""

import time
import uuid
from pathlib import Path
from typing import Any

from kombu.exceptions import ChannelError
from kombu.transport import TRANSPORT_ALIASES, filesystem
from kombu.utils.json import dumps

SCHEME = "nav-eval-files"
"""How a URL asks for it; registered with kombu when this module is imported."""


class FileChannel(filesystem.Channel):
    """Messages as files, each moved into the queue's folder when it is complete."""

    def _put(self, queue: str, payload: dict[str, Any], **_: Any) -> None:  # type: ignore[override]  # noqa: ANN401
        folder = Path(self.data_folder_out)
        name = f"{round(time.monotonic() * 1000)}_{uuid.uuid4()}.{queue}.msg"
        draft = folder / f"{name}.part"  # readers look at names that end in the queue's alone
        try:
            draft.write_text(dumps(payload))
            draft.rename(folder / name)
        except OSError as error:
            raise ChannelError(f"Cannot add a message to {folder}: {error.strerror}.") from error


class FileTransport(filesystem.Transport):
    """Kombu's own, with our channel."""

    Channel = FileChannel


TRANSPORT_ALIASES[SCHEME] = f"{__name__}:{FileTransport.__qualname__}"
