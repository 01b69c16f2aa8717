"""The Pod Security Standard `restricted`, as far as one can read it off a pod: what its admission would refuse."""

from collections.abc import Iterator
from typing import Any

VOLUMES = {"configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "persistentVolumeClaim", "projected", "secret"}
HOST = ("hostNetwork", "hostPID", "hostIPC")


def breaches_of_restricted(spec: dict[str, Any]) -> list[str]:
    """One line per rule that is broken."""
    return [*_of_pod(spec), *(line for container in _containers(spec) for line in _of_container(spec, container))]


def _containers(spec: dict[str, Any]) -> list[dict[str, Any]]:
    return [*spec.get("initContainers", ()), *spec["containers"], *spec.get("ephemeralContainers", ())]


def _of_pod(spec: dict[str, Any]) -> Iterator[str]:
    yield from (f"pod: {key}" for key in HOST if spec.get(key))
    for volume in spec.get("volumes", ()):
        if not set(volume) - {"name"} <= VOLUMES:
            yield f"volume {volume['name']}: {sorted(volume)}"
    if spec.get("securityContext", {}).get("runAsUser") == 0:
        yield "pod: runs as root"


def _of_container(spec: dict[str, Any], container: dict[str, Any]) -> Iterator[str]:
    own, name = container.get("securityContext", {}), container["name"]
    both = {**spec.get("securityContext", {}), **own}
    if own.get("privileged"):
        yield f"{name}: privileged"
    if own.get("allowPrivilegeEscalation") is not False:
        yield f"{name}: may gain privileges"
    capabilities = own.get("capabilities", {})
    if "ALL" not in capabilities.get("drop", ()) or set(capabilities.get("add", ())) - {"NET_BIND_SERVICE"}:
        yield f"{name}: capabilities"
    if both.get("runAsNonRoot") is not True or both.get("runAsUser") == 0:
        yield f"{name}: may run as root"
    if both.get("seccompProfile", {}).get("type") not in ("RuntimeDefault", "Localhost"):
        yield f"{name}: no seccomp profile"
    if any("hostPort" in port for port in container.get("ports", ())):
        yield f"{name}: a port of the host"
    if own.get("procMount", "Default") != "Default":
        yield f"{name}: procMount"
