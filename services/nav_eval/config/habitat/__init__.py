"""Bringing Habitat's configurations: today's Hydra files and the older yacs ones.

The result is a benchmark that our loader accepts, and a list of every value that has no place in it.
"""

from dataclasses import dataclass
from pathlib import Path

from nav_eval.config.file_kinds import KINDS
from nav_eval.config.habitat import mapping, sensors
from nav_eval.config.habitat.cautions import list_cautions, list_losses, list_missing_files, note_facts
from nav_eval.config.habitat.hydra import HydraComposer
from nav_eval.config.habitat.mapping import Tree
from nav_eval.config.habitat.values import (
    YACS_KEYS,
    HabitatLeaves,
    LeftoverValue,
    collect_leaves,
    collect_yacs_leaves,
    explain_leftover,
    read_yacs,
)
from nav_eval.config.layers import ConfigLayer, format_path
from nav_eval.config.loader import validate_layer
from nav_eval.config.yaml_reader import parse_mapping, read_text
from nav_eval.config.yaml_writer import to_yaml
from nav_eval.config_model import KnownNames
from nav_eval.errors import ConfigError

__all__ = ["HabitatMigration", "migrate_habitat"]


@dataclass(frozen=True, kw_only=True, slots=True)
class HabitatMigration:
    """A Habitat configuration in our words."""

    source: str
    tree: Tree  #: what goes below `benchmark:`
    not_carried: tuple[LeftoverValue, ...]
    cautions: tuple[str, ...] = ()  #: what it says that its author may not have meant

    def to_yaml(self) -> str:
        """The benchmark as a file, headed by what it could not say."""
        head = [f"# From Habitat's {self.source}."]
        head += [f"# Warning: {caution}" for caution in self.cautions]
        if self.not_carried:
            head += ["#", f"# Not carried over ({len(self.not_carried)}):"]
            head += [f"#   {' '.join(str(entry).split())}" for entry in self.not_carried]
        return "\n".join(head) + "\n" + to_yaml({"benchmark": self.tree})


def migrate_habitat(path: Path) -> HabitatMigration:
    """Read a Habitat file of either style."""
    leaves, unresolved = _read_leaves(path)
    facts = note_facts(leaves)
    tree = _build_benchmark(leaves, name=path.stem)
    _validate(tree, path, unresolved)
    not_carried = (*unresolved, *leaves.rest(explain_leftover))
    losses = list_losses(not_carried, unread=leaves.unread)
    cautions = (*list_cautions(tree, facts), *losses, *list_missing_files(unresolved))
    return HabitatMigration(source=path.name, tree=tree, not_carried=not_carried, cautions=cautions)


def _validate(tree: Tree, path: Path, unresolved: list[LeftoverValue]) -> None:
    try:
        validate_layer(
            KINDS["benchmark"],
            ConfigLayer(tree, {}),
            source=f"{format_path(path)}, once migrated",
            names=KnownNames.from_installation(),
        )
    except ConfigError as error:
        raise ConfigError(" ".join([str(error), *list_missing_files(unresolved)])) from error


def _read_leaves(path: Path) -> tuple[HabitatLeaves, list[LeftoverValue]]:
    top = parse_mapping(read_text(path), source=format_path(path), interpolation=True).tree
    if YACS_KEYS & top.keys():
        layer = read_yacs(path)
        leaves = collect_yacs_leaves(layer)
        unresolved = []
        if "BASE_TASK_CONFIG_PATH" in top:
            base = leaves.take("habitat_baselines", "base_task_config_path")
            if not {"TASK", "SIMULATOR", "DATASET"} & layer.tree.keys():
                reason = "the file is not here, so nothing in it was carried over"
                unresolved.append(LeftoverValue("BASE_TASK_CONFIG_PATH", base, reason))
        return leaves, unresolved
    composer = HydraComposer()
    layer = composer.compose(path)
    if not {"habitat", "habitat_baselines"} & layer.tree.keys():
        raise ConfigError(f"{format_path(path)} does not look like a Habitat configuration: no `habitat:`, no `TASK:`.")
    reason = "the group is not known and its file is not here"
    return collect_leaves(layer), [LeftoverValue(f"defaults: {entry}", {}, reason) for entry in composer.unresolved]


def _build_benchmark(leaves: HabitatLeaves, *, name: str) -> Tree:
    agent = mapping.find_agent(leaves)
    task = mapping.find_task_type(leaves)
    rules = mapping.map_evaluation(leaves)
    data = mapping.map_dataset(leaves, task=task)
    actions = mapping.map_actions(leaves)
    continuous = any(action["name"] == "velocity_control" for action in actions)
    tree: Tree = {
        "name": name,
        "description": "Migrated from Habitat",
        "version": "1.0",
        "task": {
            "type": task,
            "actions": actions,
            "sensors": sensors.map_cameras(leaves, agent=agent) | sensors.map_task_sensors(leaves),
            "metrics": mapping.map_metrics(leaves, task=task, success_distance=rules["success_distance"]),
        },
        "scenario_config": {"robots": [mapping.map_robot(leaves, agent=agent, continuous=continuous)]},
        "simulator": mapping.map_simulator(leaves, agent=agent),
        "dataset": data,
        "evaluation": rules,
    }
    made = mapping.map_output(leaves)
    return tree | ({"output": made} if made else {})
