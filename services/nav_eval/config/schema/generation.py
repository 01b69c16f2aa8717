"""Houses and episodes to make where a benchmark names no files."""

from typing import Annotated, Literal, get_args

from pydantic import model_validator

from nav_eval.config_model import ConfigModel, Count, FilePath, LaterField, Name, Seed, make_refusal
from nav_eval.errors import UnknownName
from nav_eval.generator_version import FIRST_GENERATOR, GeneratorVersion

#: that instructions are generated in
Language = Literal["en", "zh"]


def check_language(name: str) -> Language:
    for language in get_args(Language):
        if language == name:
            return language  # type: ignore[no-any-return]
    raise UnknownName(f"Instructions are generated in {', '.join(get_args(Language))}, not in {name!r}.")


class GenerateConfig(ConfigModel):
    """What to make when `data_path` does not exist: houses and episodes that need no download."""

    houses: Count = 2
    seed: Seed = 0
    episodes: Count = 10
    """In the split, over all houses."""
    split: Name = "val_unseen"
    """Seen and unseen splits never share a house or an instruction template."""
    subtasks: tuple[Count, Count] = (2, 4)
    """Fewest and most sub-tasks of an LH-VLN episode."""
    generator: Annotated[GeneratorVersion, LaterField] = FIRST_GENERATOR
    """Which generator makes the houses and episodes: 1 is that of nav-eval 0.1, 2 has more language and variety."""

    language: Annotated[Language, LaterField] = "en"
    """Of VLN and LH-VLN instructions: en or zh; zh needs generator 2."""

    assets: Annotated[FilePath | None, LaterField] = None
    """Folder of models (GLB with a JSON each, docs/houses.md) to furnish the houses with; needs generator 2."""

    @model_validator(mode="after")
    def _fewest_first(self) -> "GenerateConfig":
        if self.subtasks[0] > self.subtasks[1]:
            raise make_refusal(f"has subtasks {list(self.subtasks)}; write the fewest first, then the most")
        if self.language != "en" and self.generator == FIRST_GENERATOR:
            raise make_refusal(f"has language {self.language}, which generator 1 does not speak; add generator: 2")
        if self.assets is not None and self.generator == FIRST_GENERATOR:
            raise make_refusal("has assets, which generator 1 does not know; add generator: 2")
        return self
