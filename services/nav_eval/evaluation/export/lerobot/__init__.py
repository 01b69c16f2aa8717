"""LeRobot datasets, written with pyarrow and PyAV alone; the layout is described in docs/trajectories.md."""
