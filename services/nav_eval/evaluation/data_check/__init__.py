"""Is a folder of somebody's data what an evaluation will look for? docs/data.md shows what each dataset looks like."""

from nav_eval.evaluation.data_check.checking import NothingKnown, check_data
from nav_eval.evaluation.data_check.findings import Collection, Finding, Kind

__all__ = ["Collection", "Finding", "Kind", "NothingKnown", "check_data"]
