"""The Kubernetes manifests against Kubernetes' own schemas, and against what we promise about them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

FOLDER = Path(__file__).resolve().parents[3] / "deploy" / "kubernetes"
VERSIONS = ("1.29", "1.31", "1.34")


def objects() -> Iterator[tuple[str, dict[str, Any]]]:
    for name in yaml.safe_load((FOLDER / "kustomization.yaml").read_text())["resources"]:
        for document in yaml.safe_load_all((FOLDER / name).read_text()):
            yield f"{name}-{document['kind']}-{document['metadata']['name']}", document


OBJECTS = dict(objects())
PODS = {
    name: obj["spec"]["template"]["spec"]
    for name, obj in OBJECTS.items()
    if "template" in obj["spec" if "spec" in obj else "metadata"]
}


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", OBJECTS)
def test_manifests_follow_the_schema(name: str, version: str) -> None:
    kubernetes_validate.validate(OBJECTS[name], version, strict=True)


def test_every_file_is_applied() -> None:
    listed = set(yaml.safe_load((FOLDER / "kustomization.yaml").read_text())["resources"])
    assert listed == {file.name for file in FOLDER.glob("*.yaml")} - {"kustomization.yaml"}


def test_every_object_has_a_namespace() -> None:
    assert [
        name for name, obj in OBJECTS.items() if obj["kind"] != "Namespace" and "namespace" not in obj["metadata"]
    ] == []


@pytest.mark.parametrize("name", PODS)
def test_pods_get_nothing_that_they_do_not_need(name: str) -> None:
    pod = PODS[name]
    assert pod["automountServiceAccountToken"] is False
    assert not {"hostNetwork", "hostPID", "hostIPC"} & set(pod)
    assert all("hostPath" not in volume for volume in pod["volumes"])
    for container in pod["containers"]:
        assert "limits" in container["resources"]
        if container["name"] == "engine":  # it makes containers; nothing else may
            continue
        assert container["securityContext"]["allowPrivilegeEscalation"] is False
        assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}


def test_only_the_engine_is_privileged_and_it_sees_no_secret() -> None:
    privileged = [
        container
        for pod in PODS.values()
        for container in pod["containers"]
        if container.get("securityContext", {}).get("privileged")
    ]
    assert [container["name"] for container in privileged] == ["engine"]
    assert {mount["name"] for mount in privileged[0]["volumeMounts"]} == {"engine", "images", "data"}


def test_both_namespaces_begin_with_a_closed_network() -> None:
    policies = [obj for obj in OBJECTS.values() if obj["kind"] == "NetworkPolicy" and obj["spec"]["podSelector"] == {}]
    closed = {
        obj["metadata"]["namespace"] for obj in policies if set(obj["spec"]["policyTypes"]) == {"Ingress", "Egress"}
    }
    assert closed == {"nav-eval", "nav-eval-workers"}
