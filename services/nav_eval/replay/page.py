"""A replay as a page: one file that opens from disk, or the parts from which a web server builds its own.

Everything that comes from a run is escaped by the template or, in the data that the script reads, cannot end its
element; the script only ever sets text. The file's content security policy names its script and its style by
their hashes and allows no request. A server gives `body` URLs instead (`sources`) and serves script and style
as files, so its policy needs no `unsafe-inline`. What the page says stands in `WORDS`, by language; the script gets
the same table, so it has no words of its own.
"""

import base64
import hashlib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path

import msgspec
from jinja2 import Environment, PackageLoader, StrictUndefined

from nav_eval.errors import UnknownName
from nav_eval.evaluation.report import write_atomically
from nav_eval.evaluation.terminal_report import format_number
from nav_eval.replay.model import CameraView, Replay

_TRANSLATIONS: Mapping[str, tuple[str, str]] = {
    "replay": ("Replay", "回放"),
    "episode": ("Episode", "回合"),
    "instruction": ("Instruction", "指令"),
    "find": ("Find", "寻找"),
    "map": ("Map", "地图"),
    "map_label": (
        "Map from above with the way of the agent, the reference path, the goals and the stops",
        "俯视地图：智能体轨迹、参考路径、目标和停止位置",
    ),
    "storey": ("Storey", "楼层"),
    "cameras": ("Cameras", "相机"),
    "goal_picture": ("goal picture", "目标图像"),
    "step": ("Step", "步"),
    "of": ("of", "/"),
    "start": ("start", "起点"),
    "action": ("Action", "动作"),
    "stage": ("Sub-task", "子任务"),
    "goal": ("Goal", "目标"),
    "distance": ("Distance to the goal", "到目标的距离"),
    "no_way": ("no way", "不可达"),
    "bump": ("bumped into something", "发生碰撞"),
    "first": ("First step", "第一步"),
    "back": ("One step back", "后退一步"),
    "play": ("Play", "播放"),
    "pause": ("Pause", "暂停"),
    "forward": ("One step forward", "前进一步"),
    "last": ("Last step", "最后一步"),
    "speed": ("Speed", "速度"),
    "per_second": ("steps/s", "步/秒"),
    "keyboard": (
        "Keys: ← → one step, with Shift ten; space plays; Home and End.",
        "按键：← → 一步，加 Shift 十步；空格播放；Home 和 End。",
    ),
    "scrubber": ("Step of the episode", "回合中的步"),
    "plot": ("Distance to the current goal, by step", "每一步到当前目标的距离"),
    "strip": ("Actions, by step", "每一步的动作"),
    "events": ("What happened", "经过"),
    "reached": ("within the success distance", "进入成功距离"),
    "right": ("stopped here: right", "在此停止：正确"),
    "wrong": ("stopped here: wrong", "在此停止：错误"),
    "end": ("end of the episode", "回合结束"),
    "end_stop": ("by the agent's stop", "智能体停止"),
    "end_limit": ("by the step limit", "达到步数上限"),
    "end_answer": ("by the agent's answer", "智能体作答"),
    "spoken": ("What was said", "说过的话"),
    "said": ("the agent", "智能体"),
    "reply": ("the informant", "知情者"),
    "metrics": ("Metrics", "指标"),
    "result": ("Result", "结果"),
    "target": ("target", "目标"),
    "region": ("region", "区域"),
    "closed_at": ("stop at step", "停止于步"),
    "left": ("metres left", "剩余米数"),
    "never": ("never closed", "未完成"),
    "success": ("success", "成功"),
    "failure": ("failure", "失败"),
    "details": ("Details", "详情"),
    "agent": ("agent", "智能体"),
    "scene": ("scene", "场景"),
    "benchmark": ("benchmark", "基准"),
    "engine": ("engine", "引擎"),
    "randomization": ("domain randomisation", "域随机化"),
    "differs": ("This log does not lead to what the run states:", "此日志与运行结果所述不符："),
    "verified": (
        "Replayed from the action log; every pose and metric is what the run states.",
        "由动作日志重放；每个位姿和指标都与运行结果一致。",
    ),
    "way": ("way of the agent", "智能体轨迹"),
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
    """What goes into a server's page; `sources` are the URLs of `data`, `words`, `view-0`, `view-1`, …"""
    return (
        _make_environment()
        .get_template("replay_body.html.j2")
        .render(replay=replay, words=get_words(language), language=language, sources=sources)
    )


@cache
def read_script() -> str:
    """The page's script."""
    return (files(PACKAGE) / "templates" / "replay.js").read_text("utf-8")


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
    return environment


def _format_metres(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def _hash(text: str) -> str:
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return f"sha256-{digest}"
