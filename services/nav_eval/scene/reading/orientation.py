from nav_eval.scene.model import Scene
from nav_eval.scene.reading.log import ReadLog


def orient(scene: Scene, *, up: str, scale: float | None, log: ReadLog) -> Scene:
    return scene
