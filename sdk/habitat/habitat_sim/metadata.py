"""Accepted where Habitat takes it; scene data sets are looked up by the simulator itself."""

from typing import Any

from nav_eval_habitat.scope import AbsentManager


class MetadataMediator:
    def __init__(self, config: Any = None) -> None:
        self.config = config
        self.active_dataset = getattr(config, "scene_dataset_config_file", "default")
        self.object_template_manager = AbsentManager("object_template_manager")
        self.ao_template_manager = AbsentManager("ao_template_manager")
        self.stage_template_manager = AbsentManager("stage_template_manager")
        self.physics_template_manager = AbsentManager("physics_template_manager")
        self.asset_template_manager = AbsentManager("asset_template_manager")

    @property
    def summary(self) -> str:
        return f"Scene data set {self.active_dataset}"
