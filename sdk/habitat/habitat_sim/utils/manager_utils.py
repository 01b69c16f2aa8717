"""Reports as tables."""

import csv
from pathlib import Path


def save_csv_report(file_name: str, report_string: str) -> None:
    """Write a report, one line per row, commas between its fields."""
    with Path(file_name).open("w") as file:
        writer = csv.writer(file, quoting=csv.QUOTE_ALL)
        writer.writerows(line.split(",") for line in report_string.splitlines())
