"""Routes in Chinese: phrases by what they say, for each split its own, and how they become sentences."""

from collections.abc import Sequence

from nav_eval_worlds.instructions.chinese_words import OPENINGS, ROOMS, SIDES, name_thing
from nav_eval_worlds.instructions.descriptions import Reference
from nav_eval_worlds.instructions.grammar import Grammar, PhrasePicker
from nav_eval_worlds.instructions.route_text import RouteText
from nav_eval_worlds.instructions.statements import Part, RoomPart, SpokenStatement, Statement
from nav_eval_worlds.randomness import RandomStream, Split

#: several phrases of one sentence at most
MOST_JOINED = 3
#: first words of phrases that name the goal: no "then" stands before them
NO_COMMAND = ("目的地", "终点")

ROUTES: dict[Split, Grammar] = {
    "seen": {
        "start": ("你(现在|)在{room}", "你(正对着|面前是){ahead}", "从{room}出发"),
        "ahead": ("(一直|)往前走", "直走", "朝{ahead}走"),
        "turn": ("向{side}转", "往{side}转", "先{side}转", "转向{side}边"),
        "around": ("(向后|)转身", "掉头", "转过身(来|)", "背对{ahead}"),
        "cross": (
            "走出{from}",
            "离开{from}(，进入{to}|)",
            "穿过{opening}(进入|走进){to}",
            "(走|穿)过{side}边的{opening}(进入{to}|)",
            "(走进|进入){to}",
            "从{by}旁边的{opening}(出去|走过去)",
            "从{side}边的{opening}(出去|进入{to})",
            "{side}转(进入|走进){to}",
            "从{from}走到{to}",
            "经{opening}(走|)到{to}",
        ),
        "turn_after": ("{side}转", "向{side}转", "往{side}走"),
        "bend": ("(在{thing}(处|旁边)|){side}转", "走到{thing}时(向|){side}转", "到{thing}那里往{side}拐"),
        "past": (
            "(走|经)过{side}边的{thing}",
            "经过{thing}",
            "从{thing}旁边(走过|经过)",
            "让{thing}在你的{side}边，继续走",
            "走过{thing}",
        ),
        "toward": ("朝{thing}走(去|)", "走向{thing}", "往{thing}的方向走"),
        "between": ("从{thing}和{other}(之间|中间)(走过|穿过)",),
        "along": ("沿着{room}(一直|)走", "沿{room}往前走"),
        "across": ("穿过{room}", "走过{room}"),
        "pass_room": ("经过{side}边的{room}", "走过{side}边的{room}", "不要进{side}边的{room}"),
        "up": ("上楼", "走上楼梯"),
        "down": ("下楼", "走下楼梯"),
        "stop": (
            "停在{thing}(旁边|旁)",
            "在{thing}(旁边|旁)停下",
            "走到{thing}(旁边|旁|那里)停下",
            "到{thing}(旁|旁边)(等着|等我)",
            "在{side}边的{thing}旁停下",
            "看到{thing}后走过去停下",
        ),
        "starter": ("然后", "接着", "再", "之后"),
        "please": ("请", "麻烦你", "好，", "首先"),
    },
    "unseen": {
        "start": ("起点在{room}", "你的前方是{ahead}", "你站在{room}里"),
        "ahead": ("径直前行", "向正前方前进", "冲着{ahead}前进"),
        "turn": ("朝{side}(手边|侧)转身", "身体转向{side}侧", "面向{side}侧", "{side}拐"),
        "around": ("朝反方向走", "向后转", "调转方向", "把{ahead}留在身后，朝后走"),
        "cross": (
            "出{from}",
            "由{from}(进入|前往){to}",
            "通过{opening}(前往|来到){to}",
            "通过{side}侧的{opening}(前往{to}|)",
            "(来到|前往|步入){to}",
            "走{by}边上的{opening}",
            "向{side}(进到|拐进){to}",
            "走{side}侧的{opening}(到{to}|)",
            "从{opening}(出去|过去)，(来到|步入){to}",
            "出了{from}，(来到|前往){to}",
        ),
        "turn_after": ("朝{side}走", "拐向{side}侧", "往{side}侧拐"),
        "bend": ("(到{thing}跟前|){side}拐", "抵达{thing}后朝{side}(走|拐)", "遇到{thing}就{side}拐"),
        "past": ("路过{side}侧的{thing}", "绕过{thing}", "路过{thing}", "从{side}侧的{thing}旁边过去"),
        "toward": ("向{thing}靠近", "冲着{thing}去", "前往{thing}(那边|)"),
        "between": ("从{thing}与{other}的空隙(通过|过去)",),
        "along": ("顺着{room}前进", "顺着{room}走下去"),
        "across": ("横穿{room}", "穿越{room}"),
        "pass_room": ("路过{side}侧的{room}", "别管{side}侧的{room}", "{side}侧的{room}不是目的地"),
        "up": ("爬上楼梯", "沿楼梯上去"),
        "down": ("顺楼梯下去", "沿楼梯下去"),
        "stop": (
            "(止步于|站到){thing}(边上|跟前)",
            "目的地(就|)是{thing}",
            "抵达{thing}(边上|跟前)即可",
            "终点是{side}侧的{thing}",
            "来到{thing}(边上|跟前)并(停住|留在那里)",
        ),
        "starter": ("随后", "紧接着", "而后", "下一步"),
        "please": ("劳驾", "听好，", "这样走：", "先"),
    },
}


class ChineseRoute:
    """Says a plan in Chinese; the style decides how many phrases make a sentence and whether it is polite."""

    def __init__(self, style: str, draw: RandomStream) -> None:
        self._style, self._draw = style, draw
        self._words = PhrasePicker(ROUTES[draw.split], draw.fork("words"))

    def write(self, statements: Sequence[Statement]) -> RouteText | None:
        """The text; None where a needed statement has no phrase or no words."""
        spoken: list[SpokenStatement] = []
        for statement in statements:
            said = self._say(statement)
            if said is not None:
                spoken.append(said)
            elif statement.is_needed:
                return None
        return RouteText(text=self._join(spoken), style=self._style, spoken=tuple(spoken))

    def _say(self, statement: Statement) -> SpokenStatement | None:
        names = {key: name for key, part in statement.parts.items() if (name := _name_part(part)) is not None}
        phrase = self._words.pick(statement.kind, frozenset(names), needs=statement.needs)
        if phrase is None:
            return None
        text = phrase.text
        for key in phrase.parts:
            text = text.replace("{" + key + "}", names[key])
        return SpokenStatement(statement=statement, words=text, parts=phrase.parts)

    def _join(self, spoken: Sequence[SpokenStatement]) -> str:
        rest = [said.words for said in spoken]
        please = self._words.pick("please") if self._style in ("chatty", "verbose") else None
        sentences: list[str] = []
        if please is not None and spoken[0].statement.kind == "start":  # nobody is asked to be where they are
            sentences.append(f"{rest.pop(0)}。")
        lead = "" if please is None else please.text
        while rest:
            size = self._draw.integer(1, MOST_JOINED)
            group, rest = rest[:size], rest[size:]
            may_start = bool(sentences) and not lead and not group[0].startswith(NO_COMMAND)
            if may_start and self._style != "terse" and self._draw.chance(0.6):
                starter = self._words.pick("starter")
                lead = starter.text if starter else ""
            sentences.append(lead + "，".join(group) + "。")
            lead = ""
        return "".join(sentences)


def _name_part(part: Part) -> str | None:
    if isinstance(part, RoomPart):
        kind = ROOMS.get(part.kind)
        holds = "" if part.holds is None else name_thing(part.holds.description)
        if kind is None or holds is None:
            return None
        one = "另一条" if kind == "走廊" else "另一间"
        other = {"": "", "next": "隔壁的", "other": one}[part.which]
        return f"{other}有{holds}的{kind}" if holds else f"{other}{kind}"
    if isinstance(part, Reference):
        return name_thing(part.description)
    return SIDES.get(part) or OPENINGS.get(part)
