"""A competition typed into a page: what is read, what is refused, and that what is written reads the same."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nav_eval.config import CompetitionConfig, load_competition
from nav_eval.config.competition_text import (
    MAX_TEXT_BYTES,
    PhaseWish,
    find_whole_text,
    list_benchmarks,
    parse_competition,
    render_competition,
    write_copy,
    write_draft,
    write_phase_draft,
)
from nav_eval.config.schema.competition import VISIBILITY_PRESETS
from nav_eval.errors import ConfigError

HEAD = "competition:\n  name: cup\n  title: The Cup\n"
PHASES = "  phases:\n    - {name: dev, benchmark: demo_vln, visibility: practice}\n"


def parse(text: str, **options: Any) -> CompetitionConfig:
    return parse_competition(text, source="the text", **options).config


def test_a_text_is_read() -> None:
    assert parse(HEAD + PHASES).phases[0].benchmark == "demo_vln"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (HEAD + "  extends: demo\n" + PHASES, "line 4: `extends` names a file"),
        (HEAD + PHASES.replace("demo_vln", "/etc/passwd"), "line 5: there is no benchmark '/etc/passwd'"),
        (HEAD + PHASES.replace("demo_vln", "../../secret.yaml"), "there is no benchmark"),
        (HEAD + PHASES.replace("demo_vln", "configs/benchmarks/demo_vln.yaml"), "there is no benchmark"),
        (HEAD + PHASES.replace("demo_vln", "demo_vnl"), "Did you mean 'demo_vln'?"),
        (HEAD + PHASES.replace("demo_vln", "vln_base"), "is a template"),
        (HEAD + PHASES.replace("practice}", "practice, baselines: [{name: B, agent: 'os:system'}]}"), "names code"),
        (HEAD + PHASES.replace("practice}", "practice, baselines: [{name: B, agent: 'sh -c id'}]}"), "names code"),
        (HEAD + PHASES.replace("practice", "everybody"), "visibility"),
        ("task: vln\n", "holds a task"),
        ("[", "not valid YAML"),
        ("", "is empty"),
        ("a: &a [1,1,1,1]\nb: &b [*a,*a,*a,*a]\n" + "c: [" + ",".join(["*b"] * 9000) + "]", "values once its aliases"),
        (HEAD + PHASES + "#" * MAX_TEXT_BYTES, "is larger than"),
        (HEAD + "  title: !!python/object/apply:os.system [id]\n", "line 4"),
    ],
)
def test_what_a_text_cannot_say(text: str, said: str) -> None:
    with pytest.raises(ConfigError) as refusal:
        parse(text)
    assert said in str(refusal.value)
    assert "root:" not in str(refusal.value), "no file was read"


def test_a_baseline_that_was_there_before_may_stay() -> None:
    text = HEAD + PHASES.replace("practice}", "practice, baselines: [{name: B, agent: 'pkg:Agent'}]}")
    assert parse(text, agents={"pkg:Agent"}).phases[0].baselines[0].agent == "pkg:Agent"


audiences = st.sampled_from(["public", "team", "organiser"])
phases = st.fixed_dictionaries(
    {
        "benchmark": st.just("demo_vln"),
        "visibility": st.fixed_dictionaries(
            {"preset": st.sampled_from(sorted(VISIBILITY_PRESETS))},
            optional=dict.fromkeys(("scores", "logs", "replays", "episodes"), audiences),
        ),
    },
    optional={
        "title": st.text(st.characters(codec="utf-8", exclude_categories=("C", "Z")), min_size=1, max_size=20),
        "quota": st.fixed_dictionaries({"per_day": st.none() | st.integers(1, 9)}),
        "opens": st.just("2026-09-01T00:00:00+02:00"),
        "ranking": st.sampled_from([{"metric": "spl"}, {"weights": {"spl": 0.5, "success": 0.5}, "keep": "last"}]),
        "baselines": st.just([{"name": "Oracle", "agent": "baseline:oracle", "privileged": True}]),
        "limits": st.just({"gpus": 1, "step_seconds": 3}),
    },
)
descriptions = st.text(st.sampled_from(list("ab #*-|:'\"\n\t ü迷")), max_size=60)


@given(description=descriptions, phase=phases)
def test_what_is_written_reads_the_same(description: str, phase: dict[str, Any]) -> None:
    config = CompetitionConfig.model_validate(
        {"name": "cup", "title": "The Cup", "description": description, "phases": [{"name": "dev", **phase}]}
    )
    from nav_eval.config.file_kinds import KINDS, unwrap_layer
    from nav_eval.config.yaml_reader import parse_mapping

    layer = unwrap_layer(parse_mapping(render_competition(config), source="x"), KINDS["competition"], source="x")
    assert CompetitionConfig.model_validate(layer.tree) == config


def test_lines_of_a_description_stand_as_they_are() -> None:
    text = HEAD + '  description: "# Rules\\n\\n- be fair\\n"\n' + PHASES
    assert "  description: |\n    # Rules\n\n    - be fair\n" in render_competition(parse(text))


def test_drafts_can_be_read() -> None:
    wish = PhaseWish(name="dev", benchmark="demo_vln", opens="2026-09-01T00:00:00Z", preset="practice")
    first = parse(write_draft(wish, name="cup", title="The Cup", description="", contact="me@example.org"))
    assert first.contact == "me@example.org"
    assert first.phases[0].opens is not None
    both = parse(write_phase_draft(first, wish._replace(name="test", per_day=None)))
    assert [phase.name for phase in both.phases] == ["dev", "test"]
    assert both.phases[1].quota.per_day is None, "an empty field is no limit"
    copied = parse(write_copy(both, name="cup-2", title="Again"))
    assert (copied.name, copied.title, copied.phases[0].opens) == ("cup-2", "Again", None)


def test_templates_are_no_benchmarks() -> None:
    assert "demo_vln" in list_benchmarks()
    assert "vln_base" not in list_benchmarks()


def test_the_text_of_a_whole_file_is_kept(tmp_path: Path) -> None:
    whole, child = tmp_path / "whole.yaml", tmp_path / "child.yaml"
    whole.write_text(HEAD + PHASES + "# ours\n")
    child.write_text("competition:\n  extends: whole\n  title: Another\n")
    assert find_whole_text(whole, load_competition(whole, environ={})) == HEAD + PHASES + "# ours\n"
    assert find_whole_text(child, load_competition(child, environ={})) is None
    assert find_whole_text(whole, load_competition(child, environ={})) is None, "an override says otherwise"
