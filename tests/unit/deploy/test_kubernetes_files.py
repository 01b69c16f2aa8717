"""The Kubernetes manifests against Kubernetes' own schemas, and against what we promise about them."""

import json
import subprocess
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
import yaml

from nav_eval_worker.runtime.pods.cluster import PREFIX, KubernetesSettings
from support.pod_security import breaches_of_restricted
from support.tools import program

FOLDER = Path(__file__).resolve().parents[3] / "deploy" / "kubernetes"
SHARDS = "nav-eval-shards"
VERSIONS = ("1.29", "1.31", "1.34")


def objects() -> Iterator[tuple[str, dict[str, Any]]]:
    for name in yaml.safe_load((FOLDER / "kustomization.yaml").read_text())["resources"]:
        for document in yaml.safe_load_all((FOLDER / name).read_text()):
            yield f"{name}-{document['kind']}-{document['metadata']['name']}", document


OBJECTS = dict(objects())
PODS = {name: obj["spec"]["template"]["spec"] for name, obj in OBJECTS.items() if "template" in obj.get("spec", {})}


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", OBJECTS)
def test_manifests_follow_the_schema(name: str, version: str) -> None:
    import kubernetes_validate  # loads a grammar for seconds

    kubernetes_validate.validate(OBJECTS[name], version, strict=True)


def test_every_file_is_applied() -> None:
    listed = set(yaml.safe_load((FOLDER / "kustomization.yaml").read_text())["resources"])
    assert listed == {file.name for file in FOLDER.glob("*.yaml")} - {"kustomization.yaml"}


def test_kustomize_builds_every_object() -> None:
    kubectl = program("kubectl", package="kubernetes-client")
    made = subprocess.run([kubectl, "kustomize", str(FOLDER)], capture_output=True, text=True, check=True).stdout
    built = {(obj["kind"], obj["metadata"]["name"]) for obj in yaml.safe_load_all(made)}
    assert built == {(obj["kind"], obj["metadata"]["name"]) for obj in OBJECTS.values()}


def test_every_object_has_a_namespace() -> None:
    assert [
        name for name, obj in OBJECTS.items() if obj["kind"] != "Namespace" and "namespace" not in obj["metadata"]
    ] == []


@pytest.mark.parametrize("name", PODS)
def test_pods_are_restricted_and_get_nothing_that_they_do_not_need(name: str) -> None:
    pod = PODS[name]
    assert breaches_of_restricted(pod) == []
    assert pod["automountServiceAccountToken"] is False
    for container in pod["containers"]:
        assert "limits" in container["resources"]


def test_only_workers_hold_a_token() -> None:
    holders = {name for name, pod in PODS.items() if "serviceAccountToken" in json.dumps(pod)}
    assert holders == {"worker.yaml-Deployment-worker"}


def test_an_account_may_touch_pods_of_the_shards_and_nothing_else() -> None:
    roles = [obj for obj in OBJECTS.values() if obj["kind"] in ("Role", "ClusterRole")]
    bindings = [obj for obj in OBJECTS.values() if obj["kind"] in ("RoleBinding", "ClusterRoleBinding")]
    assert [(role["kind"], role["metadata"]["namespace"]) for role in roles] == [("Role", SHARDS)]
    assert {resource.partition("/")[0] for rule in roles[0]["rules"] for resource in rule["resources"]} == {"pods"}
    assert "*" not in json.dumps(roles)
    assert [binding["subjects"] for binding in bindings] == [
        [{"kind": "ServiceAccount", "name": "worker", "namespace": "nav-eval"}]
    ]


def test_both_namespaces_begin_with_a_closed_network() -> None:
    policies = [obj for obj in OBJECTS.values() if obj["kind"] == "NetworkPolicy" and obj["spec"]["podSelector"] == {}]
    closed = {
        obj["metadata"]["namespace"] for obj in policies if set(obj["spec"]["policyTypes"]) == {"Ingress", "Egress"}
    }
    assert closed == {"nav-eval", SHARDS}


def test_nothing_opens_the_network_of_the_shards() -> None:
    specs = [
        obj["spec"]
        for obj in OBJECTS.values()
        if obj["kind"] == "NetworkPolicy" and obj["metadata"]["namespace"] == SHARDS
    ]
    assert specs == [{"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}]


def test_both_namespaces_enforce_the_strictest_pods() -> None:
    found = {
        obj["metadata"]["name"]: obj["metadata"]["labels"] for obj in OBJECTS.values() if obj["kind"] == "Namespace"
    }
    assert {name: labels["pod-security.kubernetes.io/enforce"] for name, labels in found.items()} == {
        "nav-eval": "restricted",
        SHARDS: "restricted",
    }


def test_the_worker_is_told_what_its_settings_know() -> None:
    (container,) = PODS["worker.yaml-Deployment-worker"]["containers"]
    variables = {entry["name"]: entry.get("value", "") for entry in container["env"]}
    known = {f"{PREFIX}{field.name.upper()}" for field in fields(KubernetesSettings)}
    assert {name for name in variables if name.startswith(PREFIX)} <= known
    settings = KubernetesSettings.from_environment(variables)
    assert settings.namespace == SHARDS
    mounted = {mount["mountPath"] for mount in container["volumeMounts"]}
    assert {settings.account, str(Path(settings.registry_login).parent)} <= mounted
    claims = {
        obj["metadata"]["name"]
        for obj in OBJECTS.values()
        if obj["kind"] == "PersistentVolumeClaim" and obj["metadata"]["namespace"] == SHARDS
    }
    assert claims == {settings.data, settings.prepared}
