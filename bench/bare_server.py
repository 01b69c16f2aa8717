"""The yardstick of `bench.gateway`: FastAPI with nothing around it.

`python -m bench.bare_server PORT BODY FOLDER`: `GET /board` answers with the bytes of BODY as JSON, `PUT /copy` writes
what it gets into a file of FOLDER.
"""

import sys
from pathlib import Path

import uvicorn
from fastapi import FastAPI, Request, Response


def create(body: bytes, folder: Path) -> FastAPI:
    app = FastAPI()

    @app.get("/board")
    async def board() -> Response:
        return Response(body, media_type="application/json")

    @app.put("/copy", status_code=204)
    async def copy(request: Request) -> Response:
        with (folder / "copy").open("wb") as file:
            async for chunk in request.stream():
                file.write(chunk)
        return Response(status_code=204)

    return app


if __name__ == "__main__":
    port, body, folder = sys.argv[1:]
    app = create(Path(body).read_bytes(), Path(folder))
    uvicorn.run(
        app, host="127.0.0.1", port=int(port), loop="uvloop", http="httptools", log_level="warning", access_log=False
    )
