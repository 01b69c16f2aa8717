"""A run on disk."""

import pytest

from nav_eval.records.results import ResultWriter


@pytest.fixture
def run_folder(tmp_path):
    """Writes results into a folder as a runner does."""

    def write(results, name="run"):
        with ResultWriter(tmp_path / name / "episodes.jsonl") as writer:
            for result in results:
                writer.write(result)
        return tmp_path / name

    return write
