"""Chinese names of what the generator speaks of. What has no name here is not spoken of in Chinese."""

from nav_eval_worlds.instructions.descriptions import Description, Reference

NOUNS = {
    "apple": "苹果",
    "armchair": "扶手椅",
    "bag": "包",
    "ball": "球",
    "banana": "香蕉",
    "basket": "篮子",
    "bath mat": "浴室地垫",
    "bathtub": "浴缸",
    "bed": "床",
    "bench": "长凳",
    "bicycle": "自行车",
    "book": "书",
    "books": "那摞书",
    "bookshelf": "书架",
    "bottle": "瓶子",
    "bowl": "碗",
    "box": "箱子",
    "building blocks": "积木",
    "cabinet": "柜子",
    "candle": "蜡烛",
    "car": "汽车",
    "chair": "椅子",
    "checkout counter": "收银台",
    "chest": "储物箱",
    "clock": "时钟",
    "clothes": "衣服",
    "clothes rack": "服装架",
    "coat rack": "衣帽架",
    "coffee table": "茶几",
    "computer monitor": "电脑显示器",
    "computer mouse": "鼠标",
    "console table": "玄关桌",
    "counter": "柜台",
    "cup": "杯子",
    "cushion": "靠垫",
    "cutting board": "砧板",
    "desk": "书桌",
    "desk lamp": "书桌台灯",
    "dining table": "餐桌",
    "dishwasher": "洗碗机",
    "display case": "陈列柜",
    "document": "文件",
    "drawer": "抽屉柜",
    "dresser": "五斗柜",
    "dryer": "烘干机",
    "examination table": "诊疗床",
    "fire extinguisher": "灭火器",
    "fireplace": "壁炉",
    "floor lamp": "落地灯",
    "folded clothes": "叠好的衣服",
    "folded towels": "叠好的毛巾",
    "folder": "文件夹",
    "fruit": "水果",
    "glove box": "手套盒",
    "hammer": "锤子",
    "jar": "罐子",
    "kettle": "水壶",
    "keyboard": "键盘",
    "kitchen cabinet": "橱柜",
    "kitchen island": "厨房中岛",
    "knife block": "刀架",
    "ladder": "梯子",
    "laptop": "笔记本电脑",
    "magazines": "那叠杂志",
    "meeting table": "会议桌",
    "microwave": "微波炉",
    "mirror": "镜子",
    "nightstand": "床头柜",
    "notepad": "便笺本",
    "office chair": "办公椅",
    "paint can": "油漆桶",
    "painting": "油画",
    "pear": "梨",
    "pen holder": "笔筒",
    "phone": "电话",
    "piano": "钢琴",
    "picture": "装饰画",
    "plant": "绿植",
    "plate": "盘子",
    "pot": "锅",
    "potted plant": "盆栽",
    "pouf": "坐墩",
    "printer": "打印机",
    "radiator": "暖气片",
    "radio": "收音机",
    "reception desk": "接待台",
    "refrigerator": "冰箱",
    "remote control": "遥控器",
    "screwdriver": "螺丝刀",
    "shelf": "置物架",
    "shoe cabinet": "鞋柜",
    "shoes": "鞋子",
    "shop shelf": "货架",
    "shower": "淋浴间",
    "side table": "边几",
    "sink": "水槽",
    "soap": "肥皂",
    "sofa": "沙发",
    "speaker": "音箱",
    "stool": "凳子",
    "storage box": "收纳箱",
    "stove": "炉灶",
    "table lamp": "台灯",
    "teapot": "茶壶",
    "teddy bear": "泰迪熊",
    "tissue box": "纸巾盒",
    "toaster": "烤面包机",
    "toilet": "马桶",
    "tool": "工具",
    "toolbox": "工具箱",
    "toothbrush cup": "牙刷杯",
    "towel": "毛巾",
    "toy": "玩具",
    "toy car": "玩具车",
    "toy train": "玩具火车",
    "trash can": "垃圾桶",
    "trolley": "推车",
    "tv": "电视",
    "tv stand": "电视柜",
    "tyres": "轮胎",
    "umbrella stand": "雨伞架",
    "vase": "花瓶",
    "vending machine": "自动售货机",
    "waiting chairs": "候诊椅",
    "wall cabinet": "吊柜",
    "wall lamp": "壁灯",
    "wardrobe": "衣柜",
    "washing machine": "洗衣机",
    "water cooler": "饮水机",
    "whiteboard": "白板",
    "workbench": "工作台",
    "wrench": "扳手",
}
ROOMS = {
    "bathroom": "卫生间",
    "bedroom": "卧室",
    "break room": "休息室",
    "dining room": "餐厅",
    "garage": "车库",
    "hallway": "走廊",
    "kitchen": "厨房",
    "laundry room": "洗衣房",
    "living room": "客厅",
    "meeting room": "会议室",
    "office": "办公间",
    "open office": "开放办公区",
    "reception": "前台区",
    "restroom": "洗手间",
    "sales floor": "卖场",
    "storage room": "储藏室",
    "treatment room": "诊疗室",
    "waiting room": "候诊室",
}
COLOURS = {
    "beige": "米色",
    "black": "黑色",
    "blue": "蓝色",
    "brown": "棕色",
    "dark blue": "深蓝色",
    "dark brown": "深棕色",
    "dark green": "深绿色",
    "dark grey": "深灰色",
    "gold": "金色",
    "green": "绿色",
    "grey": "灰色",
    "light blue": "浅蓝色",
    "light brown": "浅棕色",
    "light green": "浅绿色",
    "light grey": "浅灰色",
    "light pink": "浅粉色",
    "light yellow": "浅黄色",
    "orange": "橙色",
    "pink": "粉色",
    "purple": "紫色",
    "red": "红色",
    "teal": "蓝绿色",
    "white": "白色",
    "yellow": "黄色",
}
MOTIFS = {
    "a cat": "猫",
    "a person": "人像",
    "a sailing boat": "帆船",
    "circles": "圆圈",
    "coloured squares": "彩色方块",
    "flowers": "花",
    "mountains": "群山",
    "stripes": "条纹",
}
HEAP = "那摞"  #: measure word of things that lie on each other
SIDES = {"left": "左", "right": "右"}
OPENINGS = {"door": "门", "doorway": "门洞"}


def name_thing(description: Description) -> str | None:
    """`五斗柜上的红色花瓶`; None where a word is missing."""
    words = [
        _find_word(NOUNS, description.on, "{}上的"),
        _find_word(NOUNS, description.beside, "{}旁边的"),
        _find_word(NOUNS, description.above, "{}上方的"),
        _find_word(MOTIFS, description.shows, "画着{}的"),
    ]
    colour, noun = _find_word(COLOURS, description.colour, "{}"), _find_word(NOUNS, description.noun, "{}")
    if None in words or colour is None or noun is None:
        return None
    before = "".join(word for word in words if word)
    return before + _add_colour(colour, noun, is_modified=bool(before))


def _add_colour(colour: str, noun: str, *, is_modified: bool) -> str:
    """`红色的花瓶`, after another 的 `红色花瓶`; `那摞红色的书`, as the measure word stays in front."""
    if not colour:
        return noun
    if noun.startswith(HEAP):
        return f"{HEAP}{colour}的{noun.removeprefix(HEAP)}"
    return f"{colour}{noun}" if is_modified and len(noun) > 1 else f"{colour}的{noun}"


def name_reference(reference: Reference, *, rooms: int) -> str | None:
    """With its room; `rooms` says how many of its kind there are. "One of" where several things may be meant."""
    thing = name_thing(reference.description)
    if thing is None:
        return None
    thing = thing if reference.is_unique else f"任意一个{thing}"
    words = reference.description.room
    if words is None:
        return thing
    kind, holds = ROOMS.get(words.kind), _find_word(NOUNS, words.holds, "有{}的")
    colour = _find_word(COLOURS, words.wall_colour, "墙面是{}的")
    if kind is None or holds is None or colour is None:
        return None
    several = "其中一间" if rooms > 1 and not (holds or colour) else ""
    return f"{several}{holds}{colour}{kind}里的{thing}"


def _find_word(table: dict[str, str], word: str | None, form: str) -> str | None:
    """Empty where there is nothing to say, None where there is no word for it."""
    if word is None:
        return ""
    return form.format(table[word]) if word in table else None
