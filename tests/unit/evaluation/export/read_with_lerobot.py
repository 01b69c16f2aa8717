"""Run by a Python that has LeRobot: load a dataset of ours with the real library, and print what it says.

    python read_with_lerobot.py ROOT OUT.npz

A v2.1 dataset goes through the library's own converter first.
"""

import json
import os
import sys
from pathlib import Path

os.environ["HF_HUB_OFFLINE"] = "1"

import numpy as np
from lerobot.datasets.lerobot_dataset import LeRobotDataset
from torch.utils.data import DataLoader

root, out = Path(sys.argv[1]), Path(sys.argv[2])
version = json.loads((root / "meta/info.json").read_text())["codebase_version"]
if version == "v2.1":
    from lerobot.datasets.v30 import convert_dataset_v21_to_v30 as converter

    new = out.with_suffix("")
    new.mkdir()
    converter.convert_info(root, new, 100, 200)
    converter.convert_tasks(root, new)
    rows = converter.convert_data(root, new, 100)
    converter.convert_episodes_metadata(root, new, rows, converter.convert_videos(root, new, 200))
    root = new
dataset = LeRobotDataset("nav-eval/test", root=root, video_backend="pyav")
items = [dataset[index] for index in range(len(dataset))]
picture = next(key for key in dataset.features if key.startswith("observation.images."))
chunked = LeRobotDataset(
    "nav-eval/test", root=root, video_backend="pyav", delta_timestamps={"action": [0.0, 1 / dataset.fps]}
)
batch = next(iter(DataLoader(dataset, batch_size=3)))
np.savez(
    out,
    episodes=dataset.num_episodes,
    fps=dataset.fps,
    action=np.stack([item["action"] for item in items]),
    state=np.stack([item["observation.state"] for item in items]),
    episode=np.array([int(item["episode_index"]) for item in items]),
    task=np.array([item["task"] for item in items]),
    pictures=np.stack([item[picture] for item in items]),
    next_actions=np.asarray(chunked[0]["action"]),
    batch=np.asarray(batch[picture].shape),
    only_second=len(LeRobotDataset("nav-eval/test", root=root, video_backend="pyav", episodes=[1])),
)
