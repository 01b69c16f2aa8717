"""Bringing Habitat's configurations: today's Hydra files and the older yacs ones.

The result is a benchmark that our loader accepts, and a list of every value that has no place in it.
"""

from dataclasses import dataclass
from pathlib import Path

from nav_eval.config.habitat import mapping, sensors
from nav_eval.config.habitat.composing import Composer
from nav_eval.config.habitat.leaves import Leaves, NotCarried, leaves_of
from nav_eval.config.habitat.mapping import Tree
from nav_eval.config.habitat.yacs import YACS_KEYS, leaves_of_yacs, read_yacs
from nav_eval.config.kinds import KINDS
from nav_eval.config.loader import validated
from nav_eval.config.names import Names
from nav_eval.config.origin import Layer, shown
from nav_eval.config.reading import parse_mapping, read_text
from nav_eval.config.writing import to_yaml
from nav_eval.errors import ConfigError

__all__ = ["Migration", "migrate_habitat"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Migration:
    """A Habitat configuration in our words."""

    source: str
    tree: Tree  #: what goes below `benchmark:`
    not_carried: tuple[NotCarried, ...]

    def to_yaml(self) -> str:
        """The benchmark as a file, headed by what it could not say."""
        head = [f"# From Habitat's {self.source}."]
        if self.not_carried:
            head += ["#", f"# Not carried over ({len(self.not_carried)}):"]
            head += [f"#   {' '.join(str(entry).split())}" for entry in self.not_carried]
        return "\n".join(head) + "\n" + to_yaml({"benchmark": self.tree})


def migrate_habitat(path: Path) -> Migration:
    """Read a Habitat file of either style."""
    leaves, unresolved = _read(path)
    tree = _benchmark(leaves, name=path.stem)
    validated(KINDS["benchmark"], Layer(tree, {}), source=f"{shown(path)}, once migrated", names=Names.installed())
    not_carried = (*unresolved, *leaves.rest(mapping.reason_for))
    return Migration(source=path.name, tree=tree, not_carried=not_carried)


def _read(path: Path) -> tuple[Leaves, list[NotCarried]]:
    top = parse_mapping(read_text(path), source=shown(path), interpolation=True).tree
    if YACS_KEYS & top.keys():
        layer = read_yacs(path)
        leaves = leaves_of_yacs(layer)
        unresolved = []
        if "BASE_TASK_CONFIG_PATH" in top:
            base = leaves.take("habitat_baselines", "base_task_config_path")
            if not {"TASK", "SIMULATOR", "DATASET"} & layer.tree.keys():
                reason = "the file is not here, so nothing in it was carried over"
                unresolved.append(NotCarried("BASE_TASK_CONFIG_PATH", base, reason))
        return leaves, unresolved
    composer = Composer()
    layer = composer.compose(path)
    if not {"habitat", "habitat_baselines"} & layer.tree.keys():
        raise ConfigError(f"{shown(path)} does not look like a Habitat configuration: no `habitat:`, no `TASK:`.")
    reason = "the group is not known and its file is not here"
    return leaves_of(layer), [NotCarried(f"defaults: {entry.entry}", {}, reason) for entry in composer.unresolved]


def _benchmark(leaves: Leaves, *, name: str) -> Tree:
    agent = next(iter(leaves.below("habitat", "simulator", "agents")), "main_agent")
    task = mapping.task_type(leaves)
    rules = mapping.evaluation(leaves)
    data = mapping.dataset(leaves, task=task)
    actions = mapping.actions(leaves)
    continuous = any(action["name"] == "velocity_control" for action in actions)
    tree: Tree = {
        "name": name,
        "description": "Migrated from Habitat",
        "version": "1.0",
        "task": {
            "type": task,
            "actions": actions,
            "sensors": sensors.cameras(leaves, agent=agent) | sensors.told(leaves),
            "metrics": mapping.metrics(leaves, task=task, success_distance=rules["success_distance"]),
        },
        "scenario_config": {"robots": [mapping.robot(leaves, agent=agent, continuous=continuous)]},
        "simulator": mapping.simulator(leaves, agent=agent),
        "dataset": data,
        "evaluation": rules,
    }
    made = mapping.output(leaves)
    return tree | ({"output": made} if made else {})
