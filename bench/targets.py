"""What the figures must reach."""

from typing import NamedTuple


class Target(NamedTuple):
    limit: float
    at_least: bool = True

    def reached(self, value: float) -> bool:
        return value >= self.limit if self.at_least else value <= self.limit

    def __str__(self) -> str:
        return f"{'≥' if self.at_least else '≤'} {self.limit:g}"


TARGETS = {
    "startup.help_over_bare_ratio": Target(20, at_least=False),  # 0.3 s where bare Python takes 0.015
    "startup.version_over_bare_ratio": Target(4, at_least=False),
    "startup.score_over_bare_ratio": Target(25, at_least=False),
    "startup.verify_over_bare_ratio": Target(30, at_least=False),  # 0.8 s where bare Python takes 0.027
    "scoring.json_share_ratio": Target(0.30),
    "scoring.dtw_over_fastdtw_ratio": Target(20),
    "datasets.r2r_load_ratio": Target(0.5),
    "navigation.steps_per_second": Target(400_000),
    "navigation.geodesic_microseconds": Target(20, at_least=False),
    "batching.grpc_batching_ratio": Target(6),
    "batching.rest_batching_ratio": Target(6),
    "batching.websocket_batching_ratio": Target(6),
    **{
        f"rendering.{scene}_{mode}_{what}_ratio": target
        for scene, rgb, rgb_depth in (("small_house", 9, 8), ("150k", 9, 8), ("500k", 14, 14))
        for mode, least in (("rgb", rgb), ("rgb_depth", rgb_depth))
        for what, target in (
            ("over_pyrender", Target(least)),
            ("first_over_repeated", Target(1.15, at_least=False)),
        )
    },
    "rendering.batch_64_over_single_ratio": Target(1.15),
    "rendering.batch_128_over_single_ratio": Target(1.15),
    "rendering.batch_64_frames_per_second_and_core": Target(1500),
    **{
        f"randomisation.{scene}_level_{level}_over_plain_ratio": Target(1.3, at_least=False)
        for scene in ("house", "scene_file")
        for level in (1, 2, 3)
    },
    **{
        f"light.models_within_12_{light}": Target(40)
        for light in ("ambient", "hemisphere", "even", "room", "documented")
    },
    "transport.unary_over_shared_ratio": Target(8),
    "transport.stream_over_shared_ratio": Target(5),
    "envs.blind_two_workers_ratio": Target(1.7),
    "envs.blind_two_workers_wall_ratio": Target(1.7),
    "envs.rendering_two_workers_ratio": Target(1.5),
    "envs.rendering_two_workers_wall_ratio": Target(1.5),
    "envs.small_64_ratio": Target(1.15),
    "envs.small_128_ratio": Target(1.15),
    "envs.jsonl_megabytes_per_second": Target(20),
    "envs.lerobot_real_time_ratio": Target(3),
    "habitat.picture_step_over_ours_ratio": Target(1.10, at_least=False),
    "habitat.blind_steps_per_second": Target(24_000),
    "habitat.find_path_over_ours_ratio": Target(2, at_least=False),
    "geodesics.mean_percent": Target(1, at_least=False),
    "geodesics.largest_percent_without_proof": Target(3, at_least=False),
    "geodesics.unexplained_pairs": Target(0, at_least=False),
    "gateway.board_requests_per_second": Target(300),
    "gateway.board_over_bare_ratio": Target(2, at_least=False),
    "gateway.upload_over_copy_ratio": Target(0.5),
    **{
        f"gateway.{what}_rows_ratio": Target(1.5, at_least=False)
        for what in ("status_ended", "status_running", "status_queued", "board_kept", "board_changed")
    },
    "abuse.streams": Target(1000),
    "abuse.slow_clients": Target(500),
    "abuse.honest_p99_ratio": Target(3, at_least=False),
    "pages.board_kept_over_json_ratio": Target(2, at_least=False),
    "pages.board_changed_over_json_ratio": Target(2, at_least=False),
    **{
        f"pages.explorer_{name}_5000_over_50_ratio": Target(1.5, at_least=False)
        for name in ("first", "worst", "failures", "last")
    },
    "pages.board_kilobytes": Target(300, at_least=False),
    "pages.board_all_rows_gzip_kilobytes": Target(300, at_least=False),
    **{
        f"throughput.{memory}_{workers}_workers_{at_once}_at_once_share_ratio": Target(least)
        for memory, least in (("shared", 0.85), ("inline", 0.70))
        for workers in (1, 2)
        for at_once in (1, 8)
    },
    "memory.first_rss_mb": Target(450, at_least=False),
    "memory.second_pss_mb": Target(150, at_least=False),
    "memory.evaluate_rss_mb": Target(450, at_least=False),
    "memory.second_evaluate_pss_mb": Target(150, at_least=False),
    "memory.evaluate_8_at_once_rss_mb": Target(450, at_least=False),
    "memory.prepare_500k_peak_mb": Target(1500, at_least=False),
    "memory.prepare_500k_cpu_seconds": Target(20, at_least=False),  # 10 s on two cores
    "memory.prepare_2000k_peak_mb": Target(1200, at_least=False),
    "memory.draw_2000k_rss_mb": Target(1200, at_least=False),
    "evaluation.overhead_share": Target(0.10, at_least=False),
    "evaluation.copied_over_drawn_beyond_drawing_ratio": Target(1.3),
    "evaluation.two_workers_ratio": Target(1.7),
    "evaluation.verification_ratio": Target(200),
    "evaluation.verify_command_ratio": Target(60),
}
