"""Classes with the methods of published models, and no more; they check what they are shown."""

import numpy as np


class Uninavid:
    def reset(self):
        self.calls = 0

    def act(self, data):
        assert set(data) == {"instruction", "observations"}
        assert data["observations"].shape == (32, 32, 3)
        assert data["instruction"].startswith("Geh")
        self.calls += 1
        return {"actions": ["forward", "Left", "right"] if self.calls == 1 else []}


class Streamvln:
    step_id = 0

    def reset_memory(self):
        self.step_id = 0

    def step(self, idx, rgb, instruction, run_model=True):
        assert (idx, rgb.shape, run_model) == (0, (32, 32, 3), self.step_id % 4 == 0)
        return (([1, 2, 2, 3] if self.step_id == 0 else [0]) if run_model else None), 0.1, "↑"


class Internvla:
    def reset(self):
        self.calls = 0

    def step(self, rgb, depth, pose, instruction, intrinsic=None, look_down=False):
        assert rgb.shape == (32, 32, 3)
        assert depth.shape == (32, 32)
        assert depth[0, 0] == 1.5 + self.calls / 4
        assert np.asarray(pose).shape == (4, 4)
        assert look_down == (self.calls == 1)
        self.calls += 1
        if self.calls == 2:
            return type("Output", (), {"output_action": None, "output_trajectory": np.array([[[0.5, 0.0, 0.0]]])})()
        return type("Output", (), {"output_action": [5] if self.calls == 1 else [0], "output_trajectory": None})()
