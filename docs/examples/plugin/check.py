"""Each of the package's parts keeps its contract, or this says which one does not and why."""

from nav_eval_flatland.metric import WastedSteps
from nav_eval_flatland.sensor import BeaconSensor
from nav_eval_flatland.simulator import Flatland
from nav_eval_flatland.task import Patrol

from nav_eval.checks import check_metric, check_sensor, check_simulator, check_task
from nav_eval.config import load_benchmark
from nav_eval.dataset.loader import DatasetRequest, load_dataset
from nav_eval.sensors import SensorContext
from nav_eval.tasks import TaskRules

benchmark = load_benchmark("patrol.yaml", overrides=["task.sensors.depth={min_depth: 0.5}"])
episode = load_dataset(DatasetRequest(format="nav_eval", path="rounds.json"))[0]
start = episode.private.start

check_metric(WastedSteps)
check_task(Patrol, episode, rules=TaskRules(metrics=benchmark.task.metric_names))
check_sensor(BeaconSensor(noise=0.1), SensorContext(episode=episode, start=start, now=start))
check_simulator(Flatland, benchmark, episode)
print("All parts keep their contract.")
