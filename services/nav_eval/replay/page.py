"""A replay as a page: one file that opens from disk, or the parts from which a web server builds its own.

A server sends the camera pictures in pieces, those that are looked at first; the file from disk holds them all.

Everything that comes from a run is escaped by the template or, in the data that the script reads, cannot end its
element; the script only ever sets text. The file's content security policy names its script and its style by
their hashes and allows no request. A server gives `body` URLs instead (`sources`) and serves script and style
as files, so its policy needs no `unsafe-inline`. What the page says stands in `WORDS`, by language; the script gets
the same table, so it has no words of its own.
"""

import base64
import hashlib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path

import msgspec
from jinja2 import Environment, PackageLoader, StrictUndefined

from nav_eval.errors import UnknownName
from nav_eval.evaluation.report import format_number
from nav_eval.replay.happenings import list_faults, list_happenings
from nav_eval.replay.model import CameraView, Replay
from nav_eval.whole_files import write_atomically

_TRANSLATIONS: Mapping[str, tuple[str, str]] = {
    "replay": ("Replay", "回放"),
    "episode": ("Episode", "回合"),
    "instruction": ("Instruction", "指令"),
    "find": ("Find", "寻找"),
    "map": ("Map", "地图"),
    "map_label": (
        "Map from above with the agent's path, the reference path, goals and stops",
        "俯视地图：智能体轨迹、参考路径、目标和停止位置",
    ),
    "storey": ("Storey", "楼层"),
    "cameras": ("Cameras", "相机"),
    "shown_as": ("View", "视图"),
    "kind_colour": ("Colour", "彩色"),
    "kind_depth": ("Depth", "深度"),
    "kind_semantic": ("Semantic", "语义"),
    "goal_picture": ("goal image", "目标图像"),
    "step": ("Step", "步"),
    "of": ("of", "/"),
    "start": ("start", "起点"),
    "action": ("Action", "动作"),
    "stage": ("Sub-task", "子任务"),
    "goal": ("goal", "目标"),
    "colon": (": ", "："),
    "distance": ("Distance to the goal", "到目标的距离"),
    "no_way": ("no path", "不可达"),
    "bump": ("collision", "碰撞"),
    "first": ("First step", "第一步"),
    "back": ("One step back", "后退一步"),
    "play": ("Play", "播放"),
    "pause": ("Pause", "暂停"),
    "forward": ("One step forward", "前进一步"),
    "last": ("Last step", "最后一步"),
    "speed": ("Speed", "速度"),
    "per_second": ("steps/s", "步/秒"),
    "keyboard": (
        "Keys: ← → one step, with Shift ten; space plays; Home and End; + − 0 zoom the map. "
        "Click the path to go there.",
        "快捷键：← → 移动一步，加 Shift 移动十步；空格播放或暂停；Home、End 跳到首尾；+ − 0 缩放地图。点击轨迹可跳转。",
    ),
    "zoom": ("Map zoom", "地图缩放"),
    "zoom_in": ("Zoom in", "放大"),
    "zoom_out": ("Zoom out", "缩小"),
    "fit": ("Whole map", "显示全图"),
    "enlarge": ("Enlarge", "放大显示"),
    "close": ("Close", "关闭"),
    "faults": ("What went wrong", "出错之处"),
    "wrong_stop": ("wrong stop", "停止位置错误"),
    "time_out": ("step limit", "步数用尽"),
    "times": ("times", "次"),
    "scrubber": ("Step of the episode", "当前步"),
    "plot": ("Distance to the current goal, by step", "每一步到当前目标的距离"),
    "strip": ("Actions, by step", "每一步的动作"),
    "events": ("What happened", "经过"),
    "reached": ("within the success distance", "进入成功距离"),
    "right": ("stopped in the right place", "在正确的位置停止"),
    "wrong": ("stopped in the wrong place", "在错误的位置停止"),
    "end": ("episode ended", "回合结束"),
    "end_stop": ("by the agent's stop", "（智能体停止）"),
    "end_limit": ("at the step limit", "（达到步数上限）"),
    "end_answer": ("with the agent's answer", "（智能体作答）"),
    "spoken": ("What was said", "对话"),
    "said": ("the agent", "智能体"),
    "reply": ("the informant", "应答者"),
    "metrics": ("Metrics", "指标"),
    "result": ("Result", "结果"),
    "target": ("target", "目标"),
    "region": ("region", "区域"),
    "closed_at": ("stopped at step", "停止步"),
    "left": ("metres to go", "剩余距离（米）"),
    "never": ("never stopped", "未停止"),
    "success": ("success", "成功"),
    "failure": ("failure", "失败"),
    "details": ("Details", "详情"),
    "agent": ("agent", "智能体"),
    "scene": ("scene", "场景"),
    "benchmark": ("benchmark", "基准"),
    "engine": ("engine", "引擎"),
    "randomization": ("domain randomisation", "域随机化"),
    "differs": ("Replaying this log does not give what the run states:", "重放此日志得到的结果与记录不符："),
    "verified": (
        "Replayed from the action log; every pose and metric matches the run.",
        "由动作日志重放；所有位姿和指标均与记录一致。",
    ),
    "way": ("agent's path", "智能体轨迹"),
    "reference": ("reference path", "参考路径"),
    "shortest": ("shortest path", "最短路径"),
    "stop_mark": ("stop", "停止"),
    "truth": ("true pose", "真实位姿"),
    "guess": ("Guess", "回答"),
    "guesses": ("Answers", "回答"),
    "position_error": ("position error", "位置误差"),
    "rotation_error": ("rotation error", "朝向误差"),
    "no_script": (
        "The map, the cameras and the plots need JavaScript; the text below does not.",
        "地图、相机和图表需要 JavaScript；下面的文字不需要。",
    ),
    "loading_failed": ("The replay could not be loaded. Reload the page.", "无法加载回放。请刷新页面。"),
}
WORDS: Mapping[str, Mapping[str, str]] = {
    language: {key: texts[place] for key, texts in _TRANSLATIONS.items()} for place, language in enumerate(("en", "zh"))
}


PACKAGE = "nav_eval.replay"
NO_SOURCES: Mapping[str, str] = {}


def write_page(path: Path, replay: Replay, *, language: str = "en") -> None:
    """Write the page whole or not at all."""
    write_atomically(path, render_page(replay, language=language).encode())


def render_page(replay: Replay, *, language: str = "en") -> str:
    """The page as text, with everything in it."""
    data = {"data": escape_for_script(encode_data(replay)), "words": escape_for_script(encode_words(language))}
    data |= {f"view-{place}": escape_for_script(encode_frames(view)) for place, view in enumerate(replay.views)}
    return (
        _make_environment()
        .get_template("replay.html.j2")
        .render(
            replay=replay,
            words=get_words(language),
            language=language,
            sources=NO_SOURCES,
            data=data,
            script=read_script(),
            style=read_style(),
        )
    )


def render_body(replay: Replay, *, sources: Mapping[str, str], language: str = "en") -> str:
    """What goes into a server's page; `sources` are the URLs of `data`, `words` and, with pictures, `frames`.

    To the last one `&views=0,1&start=8&stop=16` is added, so it has a query.
    """
    return (
        _make_environment()
        .get_template("replay_body.html.j2")
        .render(replay=replay, words=get_words(language), language=language, sources=sources)
    )


SHARED = ("elements.js", "map_view.js", "map.js", "plots.js", "cameras.js")
"""What the scripts are made of, in the order in which the parts build on each other."""


@cache
def read_script(name: str = "replay") -> str:
    """The script of one episode (`replay`) or of two side by side (`pair`): its parts in one scope of their own."""
    folder = files(PACKAGE) / "templates"
    parts = "\n".join((folder / part).read_text("utf-8") for part in (*SHARED, f"{name}.js"))
    return f'"use strict";\n(() => {{\n{parts}}})();\n'


@cache
def read_style() -> str:
    """The report's look, and what a replay adds to it."""
    report = files("nav_eval.evaluation") / "templates" / "report.css"
    return report.read_text("utf-8") + (files(PACKAGE) / "templates" / "replay.css").read_text("utf-8")


def encode_data(replay: Replay) -> bytes:
    """What the script draws: all but the camera pictures."""
    bare = [msgspec.structs.replace(view, frames=[]) for view in replay.views]
    return msgspec.json.encode(msgspec.structs.replace(replay, views=bare))


def encode_frames(view: CameraView) -> bytes:
    """The pictures of one camera, base64, one per step."""
    return msgspec.json.encode(view.frames)


def encode_frame_range(replay: Replay, *, start: int, stop: int, views: Sequence[int] | None = None) -> bytes:
    """The pictures of some steps: a list per view that is asked for, base64; None asks for all.

    A camera that ended early shows its last picture.
    """
    steps = range(start, min(stop, len(replay.steps)))
    asked = replay.views if views is None else [replay.views[number] for number in views]
    return msgspec.json.encode([[view.frames[min(step, len(view.frames) - 1)] for step in steps] for view in asked])


def encode_words(language: str) -> bytes:
    return msgspec.json.encode(get_words(language))


def get_words(language: str) -> Mapping[str, str]:
    if language not in WORDS:
        raise UnknownName(f"Replays do not speak {language!r}. Known: {', '.join(WORDS)}.")
    return WORDS[language]


def escape_for_script(json: bytes) -> str:
    """JSON that is inert inside of a script element, whatever texts it holds."""
    text = json.decode()
    for sign in "<>&\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text


def _make_environment() -> Environment:
    environment = Environment(
        loader=PackageLoader(PACKAGE, "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"number": format_number, "metres": _format_metres, "hash": _hash}
    environment.globals |= {"list_happenings": list_happenings, "list_faults": list_faults}
    return environment


def _format_metres(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def _hash(text: str) -> str:
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return f"sha256-{digest}"
