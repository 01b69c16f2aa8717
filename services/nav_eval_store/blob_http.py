"""Blobs that lie in a folder of another host: `BlobStore("hub://tunnel:8081")`, for workers that joined a hub.

The other end is a plain web server on that folder (deploy/worker-host/nginx.hub.conf): GET with ranges, PUT that is
whole or not at all, listings as JSON. Who may connect, the tunnel decides. Nothing can be deleted from here.
"""

import errno
import tempfile
from typing import Any
from urllib.parse import quote

import httpx
from fsspec.spec import AbstractBufferedFile, AbstractFileSystem  # type: ignore[import-untyped]
from fsspec.utils import infer_storage_options  # type: ignore[import-untyped]

SECONDS = 60.0
SMALL = 1 << 20
"""What is written is kept in memory up to this size, else in a temporary file, until it is whole."""


class HubFileSystem(AbstractFileSystem):  # type: ignore[misc]
    """As much of a file system as `BlobStore` needs."""

    protocol = "hub"

    def __init__(self, host: str, port: int = 8081, **options: Any) -> None:  # noqa: ANN401
        super().__init__(host=host, port=port, **options)
        self._client = httpx.Client(
            base_url=f"http://{host}:{port}", timeout=SECONDS, transport=httpx.HTTPTransport(retries=3)
        )

    @classmethod
    def _strip_protocol(cls, path: str) -> str:
        return "/" + str(infer_storage_options(path)["path"]).strip("/")

    @staticmethod
    def _get_kwargs_from_urls(path: str) -> dict[str, Any]:
        parts = infer_storage_options(path)
        return {name: parts[name] for name in ("host", "port") if name in parts}

    def info(self, path: str, **_: Any) -> dict[str, Any]:  # noqa: ANN401
        answer = self.ask("HEAD", path, fine=(httpx.codes.OK, httpx.codes.MOVED_PERMANENTLY))
        if answer.is_redirect or path.strip("/") == "":  # nginx adds a slash to the name of a folder
            return {"name": path, "size": 0, "type": "directory"}
        return {"name": path, "size": int(answer.headers["content-length"]), "type": "file"}

    def ls(self, path: str, detail: bool = True, **_: Any) -> list[Any]:  # noqa: ANN401
        entries = [_parse_entry(path, entry) for entry in self.ask("GET", f"{path.rstrip('/')}/").json()]
        return entries if detail else [entry["name"] for entry in entries]

    def ask(
        self,
        method: str,
        path: str,
        *,
        fine: tuple[int, ...] = (httpx.codes.OK,),
        **what: Any,  # noqa: ANN401
    ) -> httpx.Response:
        """One request; every refusal is an `OSError`, as of a disk."""
        try:
            answer = self._client.request(method, quote(path), **what)
        except httpx.HTTPError as error:
            raise OSError(errno.EIO, f"The hub does not answer: {error}", path) from error
        if answer.status_code == httpx.codes.NOT_FOUND:
            raise FileNotFoundError(errno.ENOENT, "The hub has no such blob", path)
        if answer.status_code not in fine:
            raise OSError(errno.EIO, f"The hub answers {method} with {answer.status_code}", path)
        return answer

    def _open(self, path: str, mode: str = "rb", **options: Any) -> "HubFile":  # noqa: ANN401
        return HubFile(self, path, mode, **options)


def _parse_entry(folder: str, entry: dict[str, Any]) -> dict[str, Any]:
    is_file = entry["type"] == "file"
    return {
        "name": f"{folder.rstrip('/')}/{entry['name']}",
        "size": int(entry["size"]) if is_file else 0,
        "type": "file" if is_file else "directory",
    }


class HubFile(AbstractBufferedFile):  # type: ignore[misc]
    """Read in pieces; written in one request, when all of it is known."""

    def _fetch_range(self, start: int, end: int) -> bytes:
        headers = {"Range": f"bytes={start}-{end - 1}"}
        return bytes(self.fs.ask("GET", self.path, headers=headers, fine=(httpx.codes.PARTIAL_CONTENT,)).content)

    def _initiate_upload(self) -> None:
        self._whole = tempfile.SpooledTemporaryFile(max_size=SMALL)  # noqa: SIM115 (closed by its last chunk)

    def _upload_chunk(self, final: bool = False) -> bool:
        self._whole.write(self.buffer.getvalue())
        if final:
            self._whole.seek(0)
            with self._whole:
                fine = (httpx.codes.CREATED, httpx.codes.NO_CONTENT)
                self.fs.ask("PUT", self.path, content=self._whole, fine=fine)
        return True

    def discard(self) -> None:
        """Forget what was written; the hub never hears of it."""
        if hasattr(self, "_whole"):
            self._whole.close()
