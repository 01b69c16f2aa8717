"""Behaviour cloning: from exported demonstrations to `policy.npz`, in minutes on two cores.

    python train.py oracle.hdf5 --out policy.npz

Needs `torch` (the CPU build will do), `h5py` and `numpy`.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import h5py
import numpy as np
import torch
from features import ACTIONS, Moment, Senses, mirrored
from policy import NAMES
from torch import Tensor, nn

Array = np.ndarray[Any, Any]

HIDDEN = 128
PADDING = -100  #: cross-entropy's word for a step that is none
_MIRRORED_ACTIONS = np.array([ACTIONS.index(name) for name in ("stop", "move_forward", "turn_right", "turn_left")])


class Demonstration(NamedTuple):
    """What the expert sensed and did, step by step."""

    numbers: Array
    actions: Array


class Cloner(nn.Module):
    """The network; `policy.Policy` is the same in numpy."""

    def __init__(self, inputs: int) -> None:
        super().__init__()
        self.encode = nn.Linear(inputs, HIDDEN)
        self.memory = nn.GRU(HIDDEN, HIDDEN, batch_first=True)
        self.decide = nn.Linear(HIDDEN, len(ACTIONS))
        self.forget = nn.Dropout(0.2)

    def forward(self, numbers: Tensor) -> Tensor:
        remembered, _ = self.memory(self.forget(torch.relu(self.encode(numbers))))
        scores: Tensor = self.decide(self.forget(remembered))
        return scores


def main() -> None:
    options = _options()
    torch.manual_seed(options.seed)
    torch.set_num_threads(1)  # the matrices are small: a second thread costs more than it brings
    demonstrations = [demo for file in options.files for demo in read(file)]
    steps = sum(len(demo.actions) for demo in demonstrations)
    print(f"{len(demonstrations)} demonstrations, {steps} steps")
    model = train(demonstrations, epochs=options.epochs)
    save(model, options.out)
    print(f"{options.out}: {options.out.stat().st_size / 1000:.0f} kB")


def read(file: Path) -> Iterator[Demonstration]:
    """The demonstrations of an export (`nav-eval export --format hdf5`), or what dagger.py wrote."""
    if file.suffix == ".npz":
        with np.load(file, allow_pickle=False) as kept:
            for number in range(len(kept.files) // 2):
                yield Demonstration(kept[f"numbers_{number}"], kept[f"actions_{number}"])
        return
    with h5py.File(file) as data:
        for demo in data["data"].values():
            yield _demonstration(demo)


def _demonstration(demo: Any) -> Demonstration:  # noqa: ANN401 - h5py has no types
    senses = Senses()
    actions = demo["action_index"][()]
    numbers = []
    for depth, goal, action in zip(demo["obs/depth"][()], demo["obs/pointgoal"][()], actions):
        numbers.append(senses.numbers(Moment(depth, goal)))
        senses.acted(ACTIONS[action])
    return Demonstration(np.array(numbers, np.float32), actions)


def train(demonstrations: Sequence[Demonstration], *, epochs: int, batch: int = 16, rate: float = 2e-3) -> Cloner:
    """Cross-entropy on the expert's actions, each demonstration also seen in a mirror."""
    model = Cloner(demonstrations[0].numbers.shape[1])
    optimizer = torch.optim.AdamW(model.parameters(), lr=rate, weight_decay=1e-2)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, max_lr=rate, total_steps=epochs * -(-len(demonstrations) // batch)
    )
    started = time.monotonic()
    for epoch in range(1, epochs + 1):
        losses = []
        for numbers, actions in _batches(demonstrations, batch):
            loss = nn.functional.cross_entropy(model(numbers).transpose(1, 2), actions, ignore_index=PADDING)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            losses.append(float(loss.detach()))
        if epoch % max(1, epochs // 10) == 0 or epoch == 1:
            print(f"epoch {epoch:3d}  loss {np.mean(losses):.3f}  {time.monotonic() - started:.0f} s", flush=True)
    return model.eval()


def _batches(demonstrations: Sequence[Demonstration], size: int) -> Iterator[tuple[Tensor, Tensor]]:
    order = torch.randperm(len(demonstrations)).tolist()
    for start in range(0, len(order), size):
        chosen = [_maybe_mirrored(demonstrations[index]) for index in order[start : start + size]]
        numbers = nn.utils.rnn.pad_sequence([torch.from_numpy(demo.numbers) for demo in chosen], batch_first=True)
        actions = nn.utils.rnn.pad_sequence(
            [torch.from_numpy(demo.actions) for demo in chosen], batch_first=True, padding_value=PADDING
        )
        yield numbers, actions


def _maybe_mirrored(demo: Demonstration) -> Demonstration:
    if torch.rand(()) < 0.5:
        return demo
    return Demonstration(np.ascontiguousarray(mirrored(demo.numbers)), _MIRRORED_ACTIONS[demo.actions])


def save(model: Cloner, path: Path) -> None:
    weights = {name: tensor.numpy().astype(np.float16) for name, tensor in model.state_dict().items() if name in NAMES}
    np.savez_compressed(path, **weights)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path, help="exports of nav-eval (.hdf5), practice (.npz)")
    parser.add_argument("--out", type=Path, default=Path("policy.npz"))
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


if __name__ == "__main__":
    main()
