"""What a reader has to tell: every conversion it made and everything it left out.

Readers write here while they work; the finished scene carries the result in its report.
"""

from nav_eval.scene.model import SceneReport


class ReadLog:
    """Notes and warnings in the order in which they came up, each sentence once."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.triangles = 0
        self.meshes = 0
        self.up = ""
        self._notes: dict[str, None] = {}
        self._warnings: dict[str, None] = {}

    def note(self, sentence: str) -> None:
        """Something was done on purpose."""
        self._notes[sentence] = None

    def warn(self, sentence: str) -> None:
        """Something was left out."""
        self._warnings[sentence] = None

    def report(self) -> SceneReport:
        return SceneReport(
            source=self.source,
            notes=tuple(self._notes),
            warnings=tuple(self._warnings),
            file_triangles=self.triangles,
            meshes=self.meshes,
            up=self.up,
        )
