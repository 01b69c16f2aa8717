"""Matrices: columns first when indexed or listed, as in Magnum; rows first as numpy arrays, as everywhere else."""

import math
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from magnum._arrays import is_close
from magnum.angles import to_radians
from magnum.vectors import Vector3, Vector4


class _SquareMatrix:
    __slots__ = ("_rows",)

    size: ClassVar[int]
    column: ClassVar[type[Vector3] | type[Vector4]]

    def __init__(self, *columns: Any) -> None:
        self._rows = self._gather(columns).astype(np.float32)

    @classmethod
    def _gather(cls, columns: tuple[Any, ...]) -> NDArray[Any]:
        if not columns:
            return np.eye(cls.size)
        if len(columns) == cls.size:
            return np.array([np.asarray(column) for column in columns]).T
        only = columns[0]
        if isinstance(only, _SquareMatrix | np.ndarray):
            given = np.asarray(only)
            made = np.eye(cls.size)
            common = min(cls.size, len(given))
            made[:common, :common] = given[:common, :common]
            return made
        if np.ndim(only) == 0:
            return np.full((cls.size, cls.size), only)
        return np.array(only).T

    @classmethod
    def from_rows(cls, rows: Any) -> Self:
        made = cls.__new__(cls)
        made._rows = np.array(rows, dtype=np.float32)
        return made

    @classmethod
    def identity_init(cls, value: float = 1.0) -> Self:
        return cls.from_rows(np.eye(cls.size) * value)

    @classmethod
    def zero_init(cls) -> Self:
        return cls.from_rows(np.zeros((cls.size, cls.size)))

    @classmethod
    def from_diagonal(cls, diagonal: Any) -> Self:
        return cls.from_rows(np.diag(np.asarray(diagonal)))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self._rows, dtype=dtype)

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, tuple):
            column, row = key
            return float(self._rows[row, column])
        return self.column(self._rows[:, key])

    def __setitem__(self, key: Any, value: Any) -> None:
        if isinstance(key, tuple):
            column, row = key
            self._rows[row, column] = value
        else:
            self._rows[:, key] = np.asarray(value)

    def __matmul__(self, other: Any) -> Any:
        if isinstance(other, _SquareMatrix):
            return type(self).from_rows(self._rows.astype(np.float64) @ other._rows)
        return self.column(self._rows @ np.asarray(other))

    def __mul__(self, factor: float) -> Self:
        return type(self).from_rows(self._rows * float(factor))

    __rmul__ = __mul__

    def __add__(self, other: "_SquareMatrix") -> Self:
        return type(self).from_rows(self._rows + other._rows)

    def __sub__(self, other: "_SquareMatrix") -> Self:
        return type(self).from_rows(self._rows - other._rows)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _SquareMatrix):
            return NotImplemented
        return self._rows.shape == other._rows.shape and is_close(self._rows, other._rows)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        rows = ",\n       ".join(", ".join(f"{number:g}" for number in row) for row in self._rows)
        return f"Matrix({rows})"

    def tolist(self) -> list[list[float]]:
        """Row by row: matrices of boxes were arrays up to 0.3.2, and are written to files by this."""
        rows: list[list[float]] = self._rows.tolist()
        return rows

    def transposed(self) -> Self:
        return type(self).from_rows(self._rows.T)

    def inverted(self) -> Self:
        return type(self).from_rows(np.linalg.inv(self._rows.astype(np.float64)))

    def determinant(self) -> float:
        return float(np.linalg.det(self._rows.astype(np.float64)))

    def diagonal(self) -> Vector3 | Vector4:
        return self.column(np.diagonal(self._rows))

    def trace(self) -> float:
        return float(np.trace(self._rows))


class Matrix3(_SquareMatrix):
    __slots__ = ()
    size, column = 3, Vector3


class _Translation:
    """On the class, makes a matrix that moves; on a matrix, where it moves to."""

    def __get__(self, matrix: "Matrix4 | None", owner: type["Matrix4"]) -> Any:
        if matrix is None:
            return lambda vector: owner.from_(np.eye(3), vector)
        return Vector3(matrix._rows[:3, 3])

    def __set__(self, matrix: "Matrix4", vector: Any) -> None:
        matrix._rows[:3, 3] = np.asarray(vector)


class _Rotation:
    """On the class, makes a matrix that turns; on a matrix, a method that gives its rotation."""

    def __get__(self, matrix: "Matrix4 | None", owner: type["Matrix4"]) -> Any:
        return _MakeRotation(owner) if matrix is None else matrix.rotation_shear


class _MakeRotation:
    def __init__(self, owner: type["Matrix4"]) -> None:
        self._owner = owner

    def __call__(self, angle: Any, axis: Any) -> "Matrix4":
        from magnum.quaternions import Quaternion

        return self._owner.from_(Quaternion.rotation(angle, axis).to_matrix(), Vector3())


class _Scaling:
    """On the class, makes a matrix that stretches; on a matrix, a method that says by how much."""

    def __get__(self, matrix: "Matrix4 | None", owner: type["Matrix4"]) -> Any:
        if matrix is None:
            return lambda factors: owner.from_rows(np.diag([*np.asarray(factors).tolist(), 1.0]))
        return lambda: Vector3(np.sqrt(np.asarray(matrix.scaling_squared())))


class Matrix4(_SquareMatrix):
    """A transformation of space."""

    __slots__ = ()
    size, column = 4, Vector4

    translation: Any = _Translation()
    rotation: Any = _Rotation()
    scaling: Any = _Scaling()

    @classmethod
    def rotation_x(cls, angle: Any) -> "Matrix4":
        return _MakeRotation(cls)(angle, (1, 0, 0))

    @classmethod
    def rotation_y(cls, angle: Any) -> "Matrix4":
        return _MakeRotation(cls)(angle, (0, 1, 0))

    @classmethod
    def rotation_z(cls, angle: Any) -> "Matrix4":
        return _MakeRotation(cls)(angle, (0, 0, 1))

    @classmethod
    def from_(cls, rotation: Any, translation: Any) -> Self:
        made = np.eye(4)
        made[:3, :3] = np.asarray(rotation)
        made[:3, 3] = np.asarray(translation)
        return cls.from_rows(made)

    @classmethod
    def look_at(cls, eye: Any, target: Any, up: Any) -> Self:
        """The pose of a camera: it looks along its −Z."""
        place, to = np.asarray(eye, dtype=np.float64), np.asarray(target, dtype=np.float64)
        back = place - to
        back /= np.linalg.norm(back)
        right = np.cross(np.asarray(up, dtype=np.float64), back)
        right /= np.linalg.norm(right)
        return cls.from_(np.stack([right, np.cross(back, right), back], axis=1), place)

    @classmethod
    def perspective_projection(cls, fov: Any, aspect_ratio: float, near: float, far: float) -> Self:
        """By the horizontal field of view."""
        across = 1.0 / math.tan(to_radians(fov) / 2)
        made = np.diag([across, across * aspect_ratio, 0.0, 0.0])
        made[2, 2], made[2, 3], made[3, 2] = (far + near) / (near - far), 2 * far * near / (near - far), -1.0
        return cls.from_rows(made)

    @classmethod
    def orthographic_projection(cls, size: Any, near: float, far: float) -> Self:
        width, height = (float(number) for number in size)
        made = np.diag([2 / width, 2 / height, 2 / (near - far), 1.0])
        made[2, 3] = (far + near) / (near - far)
        return cls.from_rows(made)

    def rotation_scaling(self) -> Matrix3:
        return Matrix3.from_rows(self._rows[:3, :3])

    def rotation_shear(self) -> Matrix3:
        rows = self._rows[:3, :3].astype(np.float64)
        return Matrix3.from_rows(rows / np.linalg.norm(rows, axis=0))

    def rotation_normalized(self) -> Matrix3:
        return self.rotation_scaling()

    def scaling_squared(self) -> Vector3:
        return Vector3((self._rows[:3, :3] ** 2).sum(axis=0))

    @property
    def right(self) -> Vector3:
        return Vector3(self._rows[:3, 0])

    @property
    def up(self) -> Vector3:
        return Vector3(self._rows[:3, 1])

    @property
    def backward(self) -> Vector3:
        return Vector3(self._rows[:3, 2])

    def transform_point(self, point: Any) -> Vector3:
        return Vector3(self._rows[:3, :3] @ np.asarray(point, dtype=np.float64) + self._rows[:3, 3])

    def transform_vector(self, vector: Any) -> Vector3:
        return Vector3(self._rows[:3, :3] @ np.asarray(vector, dtype=np.float64))

    def inverted_rigid(self) -> Self:
        turned = self._rows[:3, :3].T
        return type(self).from_(turned, -turned @ self._rows[:3, 3])
