"""Measurements, as ratios within one run: machines are noisy, their own comparison is not."""
