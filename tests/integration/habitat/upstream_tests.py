"""Run Habitat's own test files, unmodified, on our package; generated houses lie under the names of its test scenes.

python upstream_tests.py sim CHECKOUT        habitat-sim's `tests`
python upstream_tests.py lab CHECKOUT        habitat-lab's `test`, by a Python that has habitat-lab

CHECKOUT is a clone of theirs. It prints a table: file, passed, failed, skipped, and a line per test that did not pass.
"""

import gzip
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import habitat_sim
from nav_eval_worlds.houses.house_files import write_houses

#: scene → template and seed of the house that stands in for it
SCENES = {"skokloster-castle": ("house_3", 100), "van-gogh-room": ("house_5", 100), "apartment_1": ("flat_2", 103)}
FOLDERS = {"sim": ("tests", "data"), "lab": ("test", "examples")}
EPISODES = {
    "train": 10_000,
    "val": 100,
    "test": 100,
}  #: of the small PointNav data set; upstream counts those of `train`


def prepare_folder(kind: str, checkout: Path, folder: Path) -> None:
    """A working folder as upstream's tests expect it."""
    for name in FOLDERS[kind]:
        shutil.copytree(checkout / name, folder / name)
    scenes = folder / "data/scene_datasets/habitat-test-scenes"
    for name in SCENES:
        write_scene(name, scenes)
    if kind == "lab":
        shutil.copytree(checkout / "habitat-lab/habitat/config", folder / "habitat-lab/habitat/config")
        write_point_goals(scenes, folder / "data/datasets/pointnav/habitat-test-scenes/v1")


def write_scene(name: str, scenes: Path) -> None:
    """A house with the navigation mesh of Habitat's default agent beside it."""
    template, seed = SCENES[name]
    with tempfile.TemporaryDirectory() as made:
        house = next(iter(write_houses(Path(made), count=1, seed=seed, split="seen", template=template, detail=0)))
        scenes.mkdir(parents=True, exist_ok=True)
        for suffix in (".glb", ".semantics.json"):
            shutil.copy((Path(made) / house.file).with_suffix(suffix), scenes / f"{name}{suffix}")
    with open_scene(scenes / f"{name}.glb") as sim:
        sim.recompute_navmesh(sim.pathfinder, habitat_sim.NavMeshSettings())
        sim.pathfinder.save_nav_mesh(str(scenes / f"{name}.navmesh"))


def open_scene(file: Path) -> habitat_sim.Simulator:
    world = habitat_sim.SimulatorConfiguration()
    world.scene_id, world.create_renderer = str(file), False
    agent = habitat_sim.AgentConfiguration(sensor_specifications=[])
    return habitat_sim.Simulator(habitat_sim.Configuration(world, [agent]))


def write_point_goals(scenes: Path, out: Path) -> None:
    names = ("skokloster-castle", "van-gogh-room")
    for split, count in EPISODES.items():
        (out / split / "content").mkdir(parents=True)
        (out / split / f"{split}.json.gz").write_bytes(gzip.compress(b'{"episodes": []}'))
        for name in names:
            episodes = list(draw_episodes(scenes / f"{name}.glb", count // len(names)))
            content = gzip.compress(json.dumps({"episodes": episodes}).encode(), 1)
            (out / split / "content" / f"{name}.json.gz").write_bytes(content)


def draw_episodes(file: Path, count: int) -> Iterator[dict[str, object]]:
    with open_scene(file) as sim:
        finder, path = sim.pathfinder, habitat_sim.ShortestPath()
        finder.seed(7)
        while count:
            start, goal = (finder.get_random_navigable_point() for _ in range(2))
            path.requested_start, path.requested_end = start, goal
            if not finder.find_path(path) or path.geodesic_distance < 1.0:
                continue
            count -= 1
            yield {
                "episode_id": str(count),
                "scene_id": f"habitat-test-scenes/{file.name}",
                "start_position": [float(number) for number in start],
                "start_rotation": [0.0, 0.0, 0.0, 1.0],
                "info": {"geodesic_distance": path.geodesic_distance, "difficulty": "easy"},
                "goals": [{"position": [float(number) for number in goal], "radius": None}],
                "shortest_paths": None,
            }


def run_tests(folder: Path, files: list[str]) -> ElementTree.Element:
    """Upstream's pytest run, as JUnit's tree."""
    report = folder / "report.xml"
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "--continue-on-collection-errors",
        f"--junitxml={report}",
        *files,
    ]
    subprocess.run(command, cwd=folder, check=False, env={**os.environ, "PYTHONWARNINGS": "ignore"})
    return ElementTree.parse(report).getroot()


def print_table(tree: ElementTree.Element) -> None:
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    reasons: list[str] = []
    for case in tree.iter("testcase"):
        outcome = next((child for child in case if child.tag in {"failure", "error", "skipped"}), None)
        name = str(case.get("classname") or case.get("name")).rsplit(".", 1)[-1]
        counts[name]["passed" if outcome is None else outcome.tag] += 1
        if outcome is not None:
            message = (outcome.get("message") or "").strip().splitlines() or [""]
            reasons.append(f"{outcome.tag}: {name}::{case.get('name')}: {message[0][:150]}")
    print("| file | passed | failed | skipped |\n|---|---|---|---|")
    for name, count in sorted(counts.items()):
        print(f"| {name} | {count['passed']} | {count['failure'] + count['error']} | {count['skipped']} |")
    print(*reasons, sep="\n")


def main() -> None:
    kind, checkout, *files = sys.argv[1:]
    with tempfile.TemporaryDirectory() as made:
        folder = Path(os.environ.get("NAV_EVAL_UPSTREAM_FOLDER") or made)
        if not (folder / "data").exists():
            prepare_folder(kind, Path(checkout), folder)
        print_table(run_tests(folder, files or [FOLDERS[kind][0]]))


if __name__ == "__main__":
    main()
