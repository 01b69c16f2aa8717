"""The PLY format itself: a header that describes records, and the records.

ASCII bodies are turned into numbers once and then treated like binary ones whose every field is a
float64. Records with lists have no fixed size; a compiled walk finds where each list starts.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from nav_eval.errors import SceneError
from nav_eval.scene.reading.limits import ReadLimits, check_limit

TYPES = {
    "char": "i1", "int8": "i1", "uchar": "u1", "uint8": "u1", "short": "i2", "int16": "i2", "ushort": "u2",
    "uint16": "u2", "int": "i4", "int32": "i4", "uint": "u4", "uint32": "u4", "float": "f4", "float32": "f4",
    "double": "f8", "float64": "f8",
}  # fmt: skip
BYTE_ORDERS = {"ascii": "=", "binary_little_endian": "<", "binary_big_endian": ">"}
MAX_HEADER = 1 << 20
MAX_PROPERTIES = 1000


@dataclass(frozen=True, slots=True)
class Property:
    """One field of a record."""

    name: str
    declared: np.dtype[Any]  #: what the header says
    type: np.dtype[Any]  #: how it is stored
    count_type: np.dtype[Any] | None = None  #: set for lists

    def as_declared(self, values: NDArray[Any]) -> NDArray[Any]:
        with np.errstate(invalid="ignore"):  # text may say NaN where the header says integer
            return values.astype(self.declared, copy=False)


@dataclass(frozen=True, slots=True)
class Element:
    """One kind of record, as the header announces it."""

    name: str
    count: int
    properties: list[Property]


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Table:
    """The records of one element, column by column."""

    columns: dict[str, NDArray[Any]] = field(default_factory=dict)
    lists: dict[str, tuple[NDArray[Any], NDArray[np.int64]]] = field(default_factory=dict)
    """Name → all values in a row, and how many belong to each record."""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class PlyFile:
    tables: dict[str, Table]
    comments: list[str]


def parse_ply(content: bytes, *, source: str, limits: ReadLimits) -> PlyFile:
    """All tables of a PLY file."""
    elements, comments, order, start = _parse_header(content, source)
    for element in elements:
        limit = limits.triangles if element.name == "face" else limits.vertices
        check_limit(element.count, limit=limit, what=f"PLY {element.name} records", source=source)
    data = np.frombuffer(content, np.uint8)[start:]
    if order == "=":
        check_limit(len(content), limit=limits.text_bytes, what="bytes of PLY text", source=source)
        data = _ascii_numbers(content[start:], source)
    tables, position = {}, 0
    for element in elements:
        tables[element.name], position = _read_table(data, position, element, source)
    return PlyFile(tables=tables, comments=comments)


def _parse_header(content: bytes, source: str) -> tuple[list[Element], list[str], str, int]:
    end = content.find(b"end_header", 0, MAX_HEADER)
    body = content.find(b"\n", end) + 1
    if not content.startswith(b"ply") or end < 0 or body <= 0:
        raise SceneError(f"{source}: does not begin like a PLY file; export it again.")
    order, elements, comments = "", list[Element](), list[str]()
    for line in content[:end].decode("latin-1").splitlines():
        match line.split():
            case ["format", name, *_]:
                order = BYTE_ORDERS.get(name, "")
            case ["comment", *_]:
                comments.append(line.removeprefix("comment").strip())
            case ["element", name, count] if count.isdecimal() and len(count) < 16:
                elements.append(Element(name, int(count), []))
            case ["property", "list", count_type, kind, name] if elements and _known(count_type, kind):
                elements[-1].properties.append(_property(name, kind, order, count_type))
            case ["property", kind, name] if elements and _known(kind):
                elements[-1].properties.append(_property(name, kind, order))
            case ["ply"] | [] | ["obj_info", *_]:
                pass
            case _:
                raise SceneError(f"{source}: the PLY header has the unusable line {line[:80]!r}.")
    if not order or sum(len(element.properties) for element in elements) > MAX_PROPERTIES:
        raise SceneError(f"{source}: the PLY header names no known format, or too many properties.")
    return elements, comments, order, body


def _known(*names: str) -> bool:
    return all(name in TYPES for name in names)


def _property(name: str, kind: str, order: str, count_type: str | None = None) -> Property:
    """ASCII numbers are stored as float64, whatever the header calls them."""
    stored = "f8" if order == "=" else order + TYPES[kind]
    counter = None if count_type is None else np.dtype("f8" if order == "=" else order + TYPES[count_type])
    return Property(name, np.dtype(TYPES[kind]), np.dtype(stored), counter)


def _ascii_numbers(body: bytes, source: str) -> NDArray[np.uint8]:
    try:
        return np.array(body.split(), np.float64).view(np.uint8)
    except ValueError as error:
        raise SceneError(f"{source}: the PLY body holds something that is no number ({error}).") from error


def _read_table(data: NDArray[np.uint8], position: int, element: Element, source: str) -> tuple[Table, int]:
    if any(prop.count_type for prop in element.properties):
        return _read_lists(data, position, element, source)
    record = np.dtype([(f"f{index}", prop.type) for index, prop in enumerate(element.properties)])
    end = position + record.itemsize * element.count
    if end > len(data):
        raise SceneError(f"{source}: the PLY file ends within its {element.name} records; copy it again.")
    rows = data[position:end].view(record) if record.itemsize else np.zeros(element.count, record)
    columns = {prop.name: prop.as_declared(rows[f"f{index}"]) for index, prop in enumerate(element.properties)}
    return Table(columns=columns), end


def _read_lists(data: NDArray[np.uint8], position: int, element: Element, source: str) -> tuple[Table, int]:
    properties = element.properties
    sizes = np.array([prop.type.itemsize for prop in properties])
    counters = np.array([_counter_code(prop.count_type) for prop in properties])
    starts = np.zeros((len(properties), element.count), np.int64)
    counts = np.ones((len(properties), element.count), np.int64)
    end = _walk(np.ascontiguousarray(data), position, sizes, counters, starts, counts)
    if end < 0:
        raise SceneError(f"{source}: the PLY file ends within its {element.name} records; copy it again.")
    table = Table()
    for prop, start, count in zip(properties, starts, counts, strict=True):
        values = prop.as_declared(_gather(data, start, count, prop.type))
        if prop.count_type is None:
            table.columns[prop.name] = values
        else:
            table.lists[prop.name] = (values, count)
    return table, end


def _counter_code(count_type: np.dtype[Any] | None) -> int:
    """How a list's length is stored: 0 for no list, 8 for float64, else bytes (negative: big-endian)."""
    if count_type is None:
        return 0
    return count_type.itemsize * (-1 if count_type.byteorder == ">" else 1)


@njit(cache=True)
def _walk(
    data: NDArray[np.uint8],
    position: int,
    sizes: NDArray[np.int64],
    counters: NDArray[np.int64],
    starts: NDArray[np.int64],
    counts: NDArray[np.int64],
) -> int:
    """Note where every field of every record starts; the position after them, or −1."""
    for record in range(starts.shape[1]):
        for field_index in range(len(sizes)):
            counter = counters[field_index]
            width = abs(counter)
            if position + width > len(data):
                return -1
            if counter == 8:
                counts[field_index, record] = np.int64(data[position : position + 8].view(np.float64)[0])
            elif counter:
                value = 0
                for byte in range(width):
                    place = byte if counter > 0 else width - 1 - byte
                    value |= int(data[position + place]) << (8 * byte)
                counts[field_index, record] = value
            position += width
            starts[field_index, record] = position
            count = counts[field_index, record]
            if count < 0 or count > len(data):
                return -1
            position += count * sizes[field_index]
            if position > len(data):
                return -1
    return position


def _gather(
    data: NDArray[np.uint8], starts: NDArray[np.int64], counts: NDArray[np.int64], kind: np.dtype[Any]
) -> NDArray[Any]:
    """The values that lie at `starts`, in one row."""
    before = np.cumsum(counts) - counts
    offsets = np.repeat(starts - before * kind.itemsize, counts) + np.arange(counts.sum()) * kind.itemsize
    values: NDArray[Any] = data[offsets[:, None] + np.arange(kind.itemsize)].view(kind)
    return values[:, 0]
