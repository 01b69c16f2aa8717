"""Pictures for people, and maps that know where things are."""

import numpy as np
import pytest
from PIL import Image

from nav_eval.records.geometry import Pose
from nav_eval.replay import video
from nav_eval.replay.floor_plan import EmptyStorey, MapExtent, find_storeys
from nav_eval.replay.trace import make_guesses, make_spot
from nav_eval.replay.video import PictureSize, encode_jpeg, shrink, to_colour
from nav_eval.scene.navigation import OpenPlane
from nav_eval.sensors import DepthSensor, SemanticSensor


def test_near_is_bright_and_far_is_dark() -> None:
    depth = np.array([[0.0, 5.0, 10.0]], dtype=np.float32)
    picture = to_colour(depth, DepthSensor(max_depth=10.0))
    assert picture.shape == (1, 3, 3)
    assert picture[0, :, 0].tolist() == [255, 127, 0]


def test_every_id_has_its_colour_and_nothing_is_black() -> None:
    picture = to_colour(np.array([[0, 1, 2, 3]], dtype=np.int32), SemanticSensor())
    assert picture[0, 0].tolist() == [0, 0, 0]
    assert len({tuple(pixel) for pixel in picture[0].tolist()}) == 4


@pytest.mark.parametrize(("size", "kept"), [((366, 366), (183, 183)), ((640, 480), (183, 137)), ((90, 60), (90, 60))])
def test_pictures_are_made_smaller_but_never_larger(size: tuple[int, int], kept: tuple[int, int]) -> None:
    picture = np.zeros((size[1], size[0], 3), dtype=np.uint8)
    assert shrink(picture, PictureSize().longest(3)).size == kept


def test_a_picture_of_a_room_is_a_few_kilobytes() -> None:
    rng = np.random.default_rng(1)
    smooth = Image.fromarray(rng.integers(0, 255, (12, 12, 3), dtype=np.uint8)).resize((366, 366), Image.BICUBIC)
    assert len(encode_jpeg(shrink(np.asarray(smooth), 183), quality=70)) < 6_000


def test_an_extent_holds_its_points_within_bounds() -> None:
    extent = MapExtent.around([(-500.0, 0.0, 0.0), (500.0, 0.0, 10.0)], margin=1.0)
    assert max(extent.width, extent.height) <= 960
    assert extent.left == -501.0


def test_a_sheet_shows_everything_on_ground_without_maps() -> None:
    points = [(0.0, 0.0, 0.0), (4.0, 0.0, -3.0)]
    sheet = find_storeys(OpenPlane(), None, points)
    assert isinstance(sheet, EmptyStorey)
    floor = sheet.floors({0})[0]
    for point in points:
        column, row = floor.pixel(point)
        assert 0 < column < floor.picture.width
        assert 0 < row < floor.picture.height


def test_localization_faces_minus_x_and_turns_about_z() -> None:
    place, yaw = make_spot(Pose((1.0, 2.0, 0.5)), ours=False)
    assert place == (1.0, 0.5, -2.0)
    assert (-np.sin(yaw), -np.cos(yaw)) == pytest.approx((-1.0, 0.0), abs=1e-12)  # to the left of the sheet
    quarter = Pose((0.0, 0.0, 0.0), (0.0, 0.0, np.sqrt(0.5), np.sqrt(0.5)))
    _, turned = make_spot(quarter, ours=False)
    assert (-np.sin(turned), -np.cos(turned)) == pytest.approx((0.0, 1.0), abs=1e-12)  # −y is down the sheet


@pytest.mark.parametrize(("ours", "place", "axis"), [(False, (3.0, 4.0, 9.0), 2), (True, (3.0, 9.0, 4.0), 1)])
def test_guesses_carry_the_errors_of_the_metric(ours: bool, place: tuple[float, float, float], axis: int) -> None:
    rotation = [0.0, 0.0, 0.0, np.sqrt(0.5)]
    rotation[axis] = np.sqrt(0.5)
    guess = make_guesses(Pose((0.0, 0.0, 0.0)), [Pose(place, tuple(rotation))], ours=ours)[0]
    assert guess.position_error == 5.0
    assert guess.rotation_error == pytest.approx(90.0)


def test_a_video_is_what_browsers_play(tmp_path) -> None:
    av = pytest.importorskip("av")
    frames = [Image.new("RGB", (64, 48), (10 * k, 0, 0)) for k in range(12)]
    assert video.write_video(tmp_path / "new" / "a.mp4", frames) == 12
    with av.open(str(tmp_path / "new" / "a.mp4")) as container:
        stream = container.streams.video[0]
        assert (stream.codec_context.name, stream.codec_context.pix_fmt) == ("h264", "yuv420p")
        assert len(list(container.decode(stream))) == 12
    data = (tmp_path / "new" / "a.mp4").read_bytes()
    assert data.index(b"moov") < data.index(b"mdat")  # fast start


def test_a_broken_video_leaves_no_file(tmp_path) -> None:
    pytest.importorskip("av")

    def frames():
        yield Image.new("RGB", (64, 48))
        raise RuntimeError("camera fell off")

    with pytest.raises(RuntimeError, match="camera"):
        video.write_video(tmp_path / "a.mp4", frames())
    assert list(tmp_path.iterdir()) == []


def test_without_pyav_the_message_says_what_to_install(monkeypatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "av", None)
    with pytest.raises(video.VideoMissing, match=r"nav-eval\[video\]"):
        video.check_video()
