"""Columns as Arrow tables, and tables of texts that pandas recognises."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped,import-not-found,unused-ignore]
import pyarrow.parquet as pq  # type: ignore[import-untyped,import-not-found,unused-ignore]

from nav_eval.evaluation.export.lerobot.columns import Columns

_INDEX = "__index_level_0__"


def table_of(columns: Columns) -> Any:  # noqa: ANN401 - pyarrow has no types
    """Numbers as scalars, vectors as lists of a fixed size."""
    return pa.table({name: _array(column) for name, column in columns.items()})


def write_table(table: Any, path: Path) -> None:  # noqa: ANN401
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(table, path, compression="zstd")


def write_texts(texts: Sequence[str], path: Path, *, column: str) -> None:
    """A pandas frame with the texts as its index and their numbers as its column, written without pandas."""
    numbers = pa.array(range(len(texts)), pa.int64())
    table = pa.table({column: numbers, _INDEX: pa.array(texts, pa.string())})
    write_table(table.replace_schema_metadata({"pandas": json.dumps(_pandas_notes(column))}), path)


def _pandas_notes(column: str) -> dict[str, Any]:
    def note(name: str | None, field: str, pandas: str, numpy: str) -> dict[str, Any]:
        return {"name": name, "field_name": field, "pandas_type": pandas, "numpy_type": numpy, "metadata": None}

    names = note(None, "None", "unicode", "object") | {"name": None, "metadata": {"encoding": "UTF-8"}}
    return {
        "index_columns": [_INDEX],
        "column_indexes": [names],
        "columns": [note(column, column, "int64", "int64"), note(None, _INDEX, "unicode", "object")],
        "creator": {"library": "pyarrow", "version": pa.__version__},
        "pandas_version": "2.2.0",
    }


def _array(column: "np.ndarray[Any, Any]") -> Any:  # noqa: ANN401
    if column.ndim == 1:
        return pa.array(column)
    return pa.FixedSizeListArray.from_arrays(pa.array(column.reshape(-1)), column.shape[1])
