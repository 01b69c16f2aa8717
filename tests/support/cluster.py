"""A cluster of one node for tests: a real Docker engine behind as much of Kubernetes' API as a worker uses.

There is no Kubernetes where these tests run, so this stands in for its API server and its kubelet. It refuses what
Kubernetes' own schema refuses, asks for the token, starts the containers of a pod one after another in one network
namespace, pulls by digest from a real registry, and says what a kubelet says. What it does not show: scheduling,
admission, RBAC and NetworkPolicy of a real cluster.
"""

import asyncio
import socket as sockets
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import docker
import uvicorn
from docker.errors import APIError, ImageNotFound, NotFound
from docker.models.containers import Container
from docker.types import Mount
from fastapi import Depends, FastAPI, Header, HTTPException, Request, WebSocket
from fastapi.responses import StreamingResponse

from support.engine import DockerEngine, image_tag

VERSION = "1.34"
TOKEN = "the-worker's-token"
PODS = "/api/v1/namespaces/{namespace}/pods"
Json = dict[str, Any]


class OnePod:
    """What the kubelet knows about a pod."""

    def __init__(self, engine: DockerEngine, body: Json) -> None:
        self._engine, self.body = engine, body
        self.name: str = body["metadata"]["name"]
        self.labels: Json = body["metadata"]["labels"]
        self.containers: dict[str, Container] = {}
        self._not_started: dict[str, Json] = {}
        self._gone = threading.Event()
        self._volumes: list[str] = []
        threading.Thread(target=self._start, daemon=True).start()

    def status(self) -> Json:
        states = [
            {"name": name, "state": self._state(name)} for name in (c["name"] for c in self.body["spec"]["containers"])
        ]
        return {**self.body, "status": {"phase": "Running", "containerStatuses": states}}

    def remove(self) -> None:
        self._gone.set()
        with suppress(APIError):
            for container in self._engine.client.containers.list(all=True, filters={"label": f"pod={self.name}"}):
                with suppress(APIError):
                    container.remove(force=True, v=True)
        for name in self._volumes:
            with suppress(APIError):
                self._engine.client.volumes.get(name).remove(force=True)

    def _state(self, name: str) -> Json:
        if name in self._not_started:
            return self._not_started[name]
        container = self.containers.get(name)
        if container is None:
            return {"waiting": {"reason": "ContainerCreating"}}
        with suppress(NotFound):
            container.reload()
        state = container.attrs["State"]
        if state["Status"] in ("exited", "dead"):
            reason = "OOMKilled" if state["OOMKilled"] else ("Error" if state["ExitCode"] else "Completed")
            return {"terminated": {"exitCode": state["ExitCode"], "reason": reason}}
        return {"running": {"startedAt": state["StartedAt"]}}

    def _start(self) -> None:
        spec = self.body["spec"]
        sandbox = self._engine.client.containers.run(
            image_tag("base"),
            ["sleep", "infinity"],
            name=f"{self.name}-sandbox",
            network_mode="none",
            labels={"pod": self.name},
            detach=True,
        )
        sources = {volume["name"]: self._source(volume) for volume in spec["volumes"]}
        if "fsGroup" in spec["securityContext"]:
            self._give_to(spec["securityContext"]["fsGroup"], spec["volumes"])
        for container in spec["containers"]:
            if self._gone.is_set():
                return
            try:
                self._start_one(container, sandbox, sources)
            except ImageNotFound as error:
                self._not_started[container["name"]] = {"waiting": {"reason": "ErrImagePull", "message": str(error)}}
            except APIError as error:  # as containerd says it
                said = {"exitCode": 128, "reason": "StartError", "message": str(error.explanation)}
                self._not_started[container["name"]] = {"terminated": said}

    def _source(self, volume: Json) -> str:
        if "persistentVolumeClaim" in volume:
            return str(volume["persistentVolumeClaim"]["claimName"])
        limit = volume["emptyDir"]["sizeLimit"].removesuffix("Mi")
        assert volume["emptyDir"]["medium"] == "Memory"
        name = f"{self.name}-{volume['name']}"
        options = {"type": "tmpfs", "device": "tmpfs", "o": f"size={limit}m,mode=777"}
        self._engine.client.volumes.create(name, driver="local", driver_opts=options)
        self._volumes.append(name)
        return name

    def _give_to(self, group: int, volumes: list[Json]) -> None:
        """Claims that the pod may write to belong to its group."""
        claims = [volume["persistentVolumeClaim"] for volume in volumes if "persistentVolumeClaim" in volume]
        for claim in claims:
            if not claim["readOnly"]:
                mount = Mount(target="/claim", source=claim["claimName"], type="volume", no_copy=True)
                command = ["sh", "-c", f"chgrp -R {group} /claim && chmod -R g+rwXs /claim"]
                self._engine.client.containers.run(image_tag("base"), command, mounts=[mount], remove=True)

    def _start_one(self, spec: Json, sandbox: Container, sources: dict[str, str]) -> None:
        client = self._engine.client
        if "@" in spec["image"] and not self._engine.has_image(spec["image"]):
            client.images.pull(spec["image"])
        walls = {**self.body["spec"]["securityContext"], **spec["securityContext"]}
        mounts = [
            Mount(
                target=mount["mountPath"],
                source=sources[mount["name"]],
                type="volume",
                read_only=mount["readOnly"],
                no_copy=True,
            )
            for mount in spec["volumeMounts"]
        ]
        limits = spec["resources"]["limits"]
        created = client.containers.create(
            spec["image"],
            name=f"{self.name}-{spec['name']}",
            labels={"pod": self.name},
            entrypoint=spec.get("command"),
            environment={entry["name"]: entry["value"] for entry in spec["env"]},
            user=f"{walls['runAsUser']}:{walls['runAsGroup']}",
            read_only=walls["readOnlyRootFilesystem"],
            cap_drop=walls["capabilities"]["drop"],
            security_opt=[] if walls["allowPrivilegeEscalation"] else ["no-new-privileges"],
            network_mode=f"container:{sandbox.id}",
            mounts=mounts,
            mem_limit=int(limits["memory"]),
            memswap_limit=int(limits["memory"]),
            nano_cpus=int(limits["cpu"].removesuffix("m")) * 1_000_000,
            stdin_open=spec.get("stdin", False),
            detach=True,
        )
        created.start()
        self.containers[spec["name"]] = created


class Cluster:
    """The API. `with Cluster(engine, namespace=…, key=…) as cluster: cluster.url`."""

    def __init__(self, engine: DockerEngine, *, namespace: str, certificate: Path | None = None) -> None:
        self._engine, self._namespace = engine, namespace
        self.pods: dict[str, OnePod] = {}
        self.seen: list[Json] = []
        self._listening = sockets.create_server(("127.0.0.1", 0))
        scheme = "http" if certificate is None else "https"
        self.url = f"{scheme}://localhost:{self._listening.getsockname()[1]}"
        files = {} if certificate is None else {"ssl_certfile": str(certificate), "ssl_keyfile": str(certificate)}
        self._server = uvicorn.Server(uvicorn.Config(self._app(), log_level="warning", **files))  # type: ignore[arg-type]
        self._thread = threading.Thread(target=self._server.run, args=([self._listening],), daemon=True)

    def __enter__(self) -> "Cluster":
        self._thread.start()
        while not self._server.started:
            time.sleep(0.02)
        return self

    def __exit__(self, *_: object) -> None:
        self._server.should_exit = True
        self._server.force_exit = True
        for pod in list(self.pods.values()):
            pod.remove()
        self._thread.join(timeout=10)
        self._listening.close()

    def _check(self, namespace: str, authorization: str = Header("")) -> None:
        if authorization != f"Bearer {TOKEN}":
            raise HTTPException(401, "Unauthorized")
        if namespace != self._namespace:
            raise HTTPException(403, f"pods is forbidden in the namespace {namespace}")

    def _pod(self, name: str) -> OnePod:
        if name not in self.pods:
            raise HTTPException(404, f'pods "{name}" not found')
        return self.pods[name]

    def _app(self) -> FastAPI:
        import kubernetes_validate  # loads a grammar for seconds, which tests of other things need not

        app = FastAPI(dependencies=[])
        known = [Depends(self._check)]

        @app.post(PODS, status_code=201, dependencies=known)
        async def create(request: Request) -> Json:
            body: Json = await request.json()
            try:
                kubernetes_validate.validate(body, VERSION, strict=True)
            except kubernetes_validate.ValidationError as error:
                raise HTTPException(422, str(error)) from error
            if body["metadata"]["name"] in self.pods:
                raise HTTPException(409, "AlreadyExists")
            self.seen.append(body)
            self.pods[body["metadata"]["name"]] = OnePod(self._engine, body)
            return body

        @app.get(PODS, dependencies=known)
        def find(labelSelector: str = "") -> Json:  # noqa: N803
            wanted = dict(part.split("=") for part in labelSelector.split(",") if part)
            found = [pod for pod in list(self.pods.values()) if wanted.items() <= pod.labels.items()]
            return {"kind": "PodList", "items": [pod.status() for pod in found]}

        @app.get(PODS + "/{name}", dependencies=known)
        def look(name: str) -> Json:
            return self._pod(name).status()

        @app.delete(PODS + "/{name}", dependencies=known)
        def delete(name: str) -> Json:
            pod = self._pod(name)
            pod.remove()
            self.pods.pop(name, None)
            return pod.body

        @app.get(PODS + "/{name}/log", dependencies=known)
        def log(name: str, container: str) -> StreamingResponse:
            found = self._pod(name).containers[container]
            return StreamingResponse(found.logs(stream=True, follow=True), media_type="text/plain")

        @app.websocket(PODS + "/{name}/attach")
        async def attach(socket: WebSocket, namespace: str, name: str, container: str) -> None:
            self._check(namespace, socket.headers.get("authorization", ""))
            await socket.accept(subprotocol="v4.channel.k8s.io")
            await _bridge(socket, self._engine, self._pod(name).containers[container])

        return app


async def _bridge(socket: WebSocket, engine: DockerEngine, container: Container) -> None:
    """Frames of the engine's attachment as frames of Kubernetes', both ways."""
    client = docker.APIClient(base_url=engine.url, timeout=None)  # type: ignore[arg-type]
    asked = {"stdin": 1, "stdout": 1, "stderr": 1, "stream": 1}
    attachment = await asyncio.to_thread(client.attach_socket, str(container.id), params=asked)
    raw: sockets.socket = attachment._sock  # type: ignore[attr-defined]
    raw.settimeout(None)

    async def outwards() -> None:
        frames = _frames(raw)
        while (frame := await asyncio.to_thread(next, frames, None)) is not None:
            await socket.send_bytes(frame)
        await socket.close()

    async def inwards() -> None:
        with suppress(Exception):
            while True:
                frame = await socket.receive_bytes()
                await asyncio.to_thread(raw.sendall, frame[1:])

    listening = asyncio.create_task(inwards())
    with suppress(Exception):
        await outwards()
    listening.cancel()
    client.close()


def _frames(raw: sockets.socket) -> Iterator[bytes]:
    while len(header := _exactly(raw, 8)) == 8:
        stream, size = struct.unpack(">BxxxL", header)
        yield bytes([stream]) + _exactly(raw, size)


def _exactly(raw: sockets.socket, size: int) -> bytes:
    data = b""
    while len(data) < size and (more := raw.recv(size - len(data))):
        data += more
    return data
