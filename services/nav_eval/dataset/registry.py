"""Dataset formats by name. Other packages add theirs through the entry-point group `nav_eval.datasets`.

A loader is a function from a request to its episodes, in file order, each passed through
`nav_eval.dataset.validation.checked`. Filters by id, scene and language and the sampling are applied
to what it yields; only what decides which files to open (split, role) is the loader's own.

    @register_dataset("my_format")
    def load_my_format(request: DatasetRequest) -> Iterator[Episode]: ...
"""

from collections.abc import Callable, Iterator
from typing import Protocol

from nav_eval.dataset.episode import Episode
from nav_eval.dataset.request import DatasetRequest
from nav_eval.registry import Registry


class DatasetLoader(Protocol):
    """Reads one format."""

    def __call__(self, request: DatasetRequest, /) -> Iterator[Episode]: ...


DATASETS: Registry[DatasetLoader] = Registry("dataset format", entry_point_group="nav_eval.datasets")


def register_dataset(name: str) -> Callable[[DatasetLoader], DatasetLoader]:
    """Decorator: the loader of the format `name`."""
    return DATASETS.register(name)
