"""Encoders for the three meshopt bit streams, as plain as possible, to test the decoders with."""

import numpy as np

FIFO = 16


def encode_attributes(values: np.ndarray, *, version: int, channels: list[int] | None = None) -> bytes:
    """`values` is count × stride bytes; `channels` are version 1's modes per four bytes."""
    count, stride = values.shape
    channels = channels or [0] * (stride // 4)
    baseline = values[0] if count else np.zeros(stride, np.uint8)
    deltas = _deltas(np.vstack([baseline, values]), channels)
    block = min((8192 // stride) & ~15, 256)
    out = bytearray([0xA0 | version])
    for first in range(0, count, block):
        rows = deltas[first : first + block]
        pieces = [_encode_byte(rows[:, byte], version) for byte in range(stride)]
        if version:
            controls = [control for control, _ in pieces]
            for start in range(0, stride, 4):
                out.append(sum(control << (2 * place) for place, control in enumerate(controls[start : start + 4])))
        for _, piece in pieces:
            out += piece
    tail = baseline.tobytes() + (bytes(channels) if version else b"")
    return bytes(out) + tail.rjust(24 if version else 32, b"\0")


def _deltas(values: np.ndarray, channels: list[int]) -> np.ndarray:
    columns = []
    for channel, mode in enumerate(channels):
        part = np.ascontiguousarray(values[:, 4 * channel : 4 * channel + 4])
        if mode & 15 == 2:
            words = part.view("<u4")[:, 0]
            change, turn = words[1:] ^ words[:-1], mode >> 4
            turned = (change << np.uint32(turn)) | (change >> np.uint32((32 - turn) % 32) if turn else change)
            columns.append(turned.astype("<u4").view(np.uint8).reshape(-1, 4))
        else:
            kind, top = (("u1", 7), ("<u2", 15))[mode]
            words = part.view(kind)
            change = words[1:] - words[:-1]
            zigzag = np.where(change >> top, ~(change << 1), change << 1).astype(kind)
            columns.append(np.ascontiguousarray(zigzag).view(np.uint8).reshape(-1, 4))
    return np.hstack(columns)


def _encode_byte(deltas: np.ndarray, version: int) -> tuple[int, bytes]:
    """A control mode (version 1) and the bytes that go with it, the shortest choice."""
    if not version:
        return 0, _groups(deltas, (0, 2, 4, 8))
    if not deltas.any():
        return 2, b""
    choices = [(0, _groups(deltas, (0, 1, 2, 4))), (1, _groups(deltas, (1, 2, 4, 8))), (3, deltas.tobytes())]
    return min(choices, key=lambda choice: len(choice[1]))


def _groups(deltas: np.ndarray, lengths: tuple[int, ...]) -> bytes:
    padded = np.r_[deltas, np.zeros(-len(deltas) % 16, np.uint8)].reshape(-1, 16)
    header, body = [], b""
    for group in padded:
        packed = {mode: _pack(group, bits) for mode, bits in enumerate(lengths) if bits or not group.any()}
        mode = min(packed, key=lambda mode: len(packed[mode]))
        header.append(mode)
        body += packed[mode]
    header += [0] * (-len(header) % 4)
    rows = np.array(header).reshape(-1, 4)
    return bytes((rows << [0, 2, 4, 6]).sum(axis=1).astype(np.uint8)) + body


def _pack(group: np.ndarray, bits: int) -> bytes:
    if bits in (0, 8):
        return group.tobytes() if bits else b""
    sentinel = (1 << bits) - 1
    short = np.minimum(group, sentinel).reshape(-1, 8 // bits).astype(int)
    shifts = np.arange(0, 8, bits) if bits == 1 else np.arange(8 - bits, -1, -bits)
    packed = (short << shifts).sum(axis=1).astype(np.uint8).tobytes()
    return packed + group[group >= sentinel].tobytes()


def varint(value: int) -> bytes:
    value &= 0xFFFFFFFF
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def zigzag(delta: int) -> int:
    return delta << 1 if delta >= 0 else ~(delta << 1)


def encode_indices(indices: list[int]) -> bytes:
    """Even and odd places against a baseline each."""
    out, last = b"\xd1", [0, 0]
    for place, index in enumerate(indices):
        baseline = place % 2
        out += varint(zigzag(index - last[baseline]) << 1 | baseline)
        last[baseline] = index
    return out + bytes(4)


class TriangleEncoder:
    """Chooses the shortest code that fits; may turn a triangle, never flip it."""

    def __init__(self, version: int) -> None:
        self.version = version
        self.codes, self.data = bytearray(), b""
        self.edges: list[tuple[int, int]] = []  # most recent first
        self.vertices: list[int] = []
        self.next = self.last = 0

    def encode(self, triangles: list[tuple[int, int, int]]) -> bytes:
        for triangle in triangles:
            if not self._beside_edge(triangle):
                self._free_standing(triangle)
        return bytes([0xE0 | self.version]) + bytes(self.codes) + self.data + bytes(16)

    def _beside_edge(self, triangle: tuple[int, int, int]) -> bool:
        for turn in range(3):
            a, b, c = triangle[turn:] + triangle[:turn]
            if (a, b) in self.edges[:15]:
                self.codes.append(self.edges.index((a, b)) << 4 | self._third(c))
                self._push_edges((c, b), (a, c))
                return True
        return False

    def _third(self, c: int) -> int:
        recent = 13 if self.version else 15
        if c == self.next:
            self.next += 1
            self._push_vertex(c)
            return 0
        if c in self.vertices[1:recent]:
            return self.vertices.index(c, 1)
        if self.version and c in (self.last - 1, self.last + 1):
            code = 14 if c == self.last + 1 else 13
            self.last = c
            self._push_vertex(c)
            return code
        self._spell(c)
        self._push_vertex(c)
        return 15

    def _free_standing(self, triangle: tuple[int, int, int]) -> None:
        a, b, c = triangle
        if (a, b, c) == (self.next, self.next + 1, self.next + 2):
            self.codes.append(0xF0)  # our table of common cases is all "new, new"
            self.next += 3
            fresh = [a, b, c]
        else:
            # Never "new, new" here: that pair means "count from 0 again".
            second = self.vertices.index(b) + 1 if b in self.vertices[:14] else 15
            third = self.vertices.index(c) + 1 if c in self.vertices[:14] else 15
            self.codes.append(0xFE if a == self.next else 0xFF)
            self.data += bytes([second << 4 | third])
            if a == self.next:
                self.next += 1
            else:
                self._spell(a)
            for corner, code in ((b, second), (c, third)):
                if code == 15:
                    self._spell(corner)
            fresh = [a, *(corner for corner, code in ((b, second), (c, third)) if code == 15)]
        for corner in fresh:
            self._push_vertex(corner)
        self._push_edges((b, a), (c, b), (a, c))

    def _spell(self, index: int) -> None:
        self.data += varint(zigzag(index - self.last))
        self.last = index

    def _push_vertex(self, index: int) -> None:
        self.vertices = [index, *self.vertices][:FIFO]

    def _push_edges(self, *edges: tuple[int, int]) -> None:
        for edge in edges:
            self.edges = [edge, *self.edges][:FIFO]
