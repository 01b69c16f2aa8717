"""Vectors, angles, rotations and matrices as Magnum's bindings have them."""

import copy
import json
import math

import numpy as np
import pytest

import magnum as mn


def test_a_vector_is_an_array_of_python_numbers():
    vector = mn.Vector3(1, 2, 3)
    assert isinstance(vector, np.ndarray)
    assert vector.dtype == np.float32
    assert json.dumps(list(vector)) == "[1.0, 2.0, 3.0]"
    assert type(vector[1]) is float
    assert vector.x == 1.0
    assert vector() is vector  # `box.center` and `box.center()` are one thing
    assert type(copy.deepcopy(vector)) is mn.Vector3


@pytest.mark.parametrize(
    ("made", "kind", "numbers"),
    [
        (mn.Vector3(1, 2, 3) * 2, mn.Vector3, [2, 4, 6]),
        (2 * mn.Vector3(1, 2, 3), mn.Vector3, [2, 4, 6]),
        (mn.Vector3(1, 2, 3) - mn.Vector3(1), mn.Vector3, [0, 1, 2]),
        (mn.Vector3(1, 2, 3) + np.zeros(3), np.ndarray, [1, 2, 3]),  # double precision is numpy's business
        (mn.Vector3(mn.Vector2(1, 2), 3), mn.Vector3, [1, 2, 3]),
        (mn.Color4(0.5), mn.Color4, [0.5, 0.5, 0.5, 1.0]),
        (mn.Vector2i([480, 640]), mn.Vector2i, [480, 640]),
    ],
)
def test_arithmetic(made, kind, numbers):
    assert type(made) is kind
    assert made.tolist() == numbers


def test_comparison_is_one_truth_value_within_single_precision():
    assert (mn.Vector3(1, 2, 3) == mn.Vector3(1, 2, 3.000001)) is True
    assert (mn.Vector3(1, 2, 3) != (1, 2, 4)) is True
    assert mn.Vector3(3, 4, 0).dot() == 25.0
    assert mn.Vector3(3, 4, 0).length() == 5.0
    assert mn.Vector3(3, 4, 0).normalized() == (0.6, 0.8, 0)


def test_degrees_and_radians_mix():
    assert mn.Deg(180) == mn.Rad(math.pi)
    assert float(mn.Deg(mn.Rad(math.pi / 2))) == pytest.approx(90)
    assert mn.Deg(90) + mn.Rad(math.pi / 2) == mn.Deg(180)
    assert mn.Deg(10) < mn.Rad(1)


def test_a_rotation_survives_its_matrix():
    rng = np.random.default_rng(0)
    for _ in range(50):
        axis = mn.Vector3(rng.normal(size=3)).normalized()
        rotation = mn.Quaternion.rotation(mn.Rad(rng.uniform(-3, 3)), axis)
        again = mn.Quaternion.from_matrix(rotation.to_matrix())
        assert rotation in (again, -again)
        assert rotation.inverted().transform_vector(rotation.transform_vector((1, 2, 3))) == (1, 2, 3)


def test_a_matrix_is_columns_first_and_an_array_rows_first():
    matrix = mn.Matrix4.translation((1, 2, 3))
    assert matrix[3].xyz == (1, 2, 3)
    assert matrix.translation == (1, 2, 3)
    assert np.array(matrix)[:3, 3].tolist() == [1, 2, 3]
    turned = mn.Matrix4.rotation(mn.Deg(90), mn.Vector3.y_axis()) @ matrix
    assert turned.transform_point((0, 0, 0)) == (3, 2, -1)
    assert turned.inverted().transform_point((3, 2, -1)) == (0, 0, 0)


def test_a_camera_looks_along_its_negative_z():
    pose = mn.Matrix4.look_at((0, 1, 0), (0, 1, -5), (0, 1, 0))
    assert pose == mn.Matrix4.translation((0, 1, 0))


def test_a_box_answers_properties_and_methods():
    box = mn.Range3D.from_center((1, 1, 1), (1, 2, 3))
    assert box.center == box.center() == (1, 1, 1)
    assert box.size() == box.sizes == (2, 4, 6)
    assert box.contains((0, 0, 0))
    assert not box.contains((3, 0, 0))
