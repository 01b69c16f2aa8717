"""The document that clients are made from: whole, kept in docs/openapi.json, and never broken by accident."""

import copy
import json
from pathlib import Path

import pytest

from nav_eval_gateway import openapi
from nav_eval_gateway.openapi import TAGS, find_breaking_changes, format_document, list_operations, main, make_document
from support.paths import ROOT

pytestmark = pytest.mark.integration

KEPT = ROOT / "docs/openapi.json"


@pytest.fixture(scope="module")
def document() -> dict:
    return make_document()


def test_the_kept_document_is_current(document: dict) -> None:
    kept = json.loads(KEPT.read_text())
    assert find_breaking_changes(kept, document) == [], "this breaks clients; is it worth a new version of the API?"
    assert KEPT.read_text() == format_document(document), "run `python -m nav_eval_gateway.openapi docs/openapi.json`"


def test_nothing_is_left_out(document: dict) -> None:
    lacking = [
        f"{name}: no {part}"
        for name, operation in list_operations(document)
        for part in ("tags", "summary", "description", "operationId", "responses")
        if not operation.get(part)
    ]
    assert lacking == []
    ids = [operation["operationId"] for _, operation in list_operations(document)]
    assert len(ids) == len(set(ids))
    used = {tag for _, operation in list_operations(document) for tag in operation["tags"]}
    assert used == set(TAGS)


def bodies(document: dict):
    for name, operation in list_operations(document):
        answers = [answer for code, answer in operation["responses"].items() if code.startswith("2")]
        for body in (operation.get("requestBody", {}), *answers):
            if "application/json" in body.get("content", {}):
                yield name, body["content"]["application/json"]


def test_every_body_has_an_example_of_its_own_shape(document: dict) -> None:
    import jsonschema  # loads a grammar for a second, which every process that looks for tests would

    wrong = []
    for name, media in bodies(document):
        schema = {**media["schema"], "components": document["components"]}
        try:
            jsonschema.validate(media["example"], schema)
        except jsonschema.ValidationError as error:
            wrong.append(f"{name}: {error.json_path} {error.message[:200]}")
    assert not wrong, "\n".join(wrong)


def test_every_refusal_is_a_problem(document: dict) -> None:
    for name, operation in list_operations(document):
        for code, answer in operation["responses"].items():
            if code[0] in "45" and name != "GET /readyz":
                assert list(answer["content"]) == ["application/problem+json"], f"{name} {code}"


ME = "/api/v1/me"


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (lambda d: d["paths"].pop(ME), "GET /api/v1/me: gone"),
        (lambda d: d["components"]["schemas"]["Me"]["properties"].pop("team"), "'team' is missing in the answer"),
        (lambda d: d["components"]["schemas"]["Me"]["properties"]["name"].update(type="integer"), "another type"),
        (
            lambda d: d["components"]["schemas"]["NewToken"]["properties"].pop("days"),
            "takes 'days' in the body no more",
        ),
        (lambda d: d["components"]["schemas"]["NewToken"]["required"].append("days"), "needs 'days' in the body now"),
        (
            lambda d: d["paths"][ME]["get"].update(parameters=[{"in": "query", "name": "x", "required": True}]),
            "needs the query parameter 'x' now",
        ),
        (lambda d: d["paths"]["/api/v1/submissions"]["get"].update(parameters=[]), "'cursor' no more"),
        (lambda d: d["paths"]["/api/v1/tokens"]["post"]["responses"].pop("201"), "answers 201 no more"),
    ],
)
def test_what_breaks_clients_is_found(document: dict, change, complaint: str) -> None:
    changed = copy.deepcopy(document)
    change(changed)
    assert any(complaint in found for found in find_breaking_changes(document, changed))


@pytest.mark.parametrize(
    "change",
    [
        lambda d: d["paths"].update({"/api/v1/new": {"get": {"responses": {}}}}),
        lambda d: d["components"]["schemas"]["Me"]["properties"].update(more={"type": "string"}),
        lambda d: d["components"]["schemas"]["NewToken"]["properties"].update(more={"type": "string"}),
        lambda d: d["paths"][ME]["get"].update(parameters=[{"in": "query", "name": "x"}]),
    ],
)
def test_what_only_adds_breaks_nothing(document: dict, change) -> None:
    changed = copy.deepcopy(document)
    change(changed)
    assert find_breaking_changes(document, changed) == []


def test_a_breaking_document_is_written_only_on_purpose(document: dict, tmp_path: Path, monkeypatch, capsys) -> None:
    file = tmp_path / "openapi.json"
    assert main([str(file)]) == 0
    assert json.loads(file.read_text())["paths"] == document["paths"]
    without = copy.deepcopy(document)
    del without["paths"][ME]
    monkeypatch.setattr(openapi, "make_document", lambda: without)
    before = file.read_text()
    assert main([str(file)]) == 1
    assert file.read_text() == before
    assert "GET /api/v1/me: gone" in capsys.readouterr().err
    assert main([str(file), "--allow-breaking"]) == 0
    assert ME not in json.loads(file.read_text())["paths"]
