"""Names around drawing. Scenes are drawn as nav-eval draws them: with their own light, or with none."""

from enum import Enum

from nav_eval_habitat.scope import make_placeholder

DEFAULT_LIGHTING_KEY, NO_LIGHT_KEY = "", "no_lights"


class LightPositionModel(Enum):
    Camera = 0
    Global = 1
    Object = 2


class LightType(Enum):
    Point = 0
    Directional = 1


LightInfo = make_placeholder("LightInfo")
Camera = make_placeholder("Camera")
Renderer = make_placeholder("Renderer")
RenderTarget = make_placeholder("RenderTarget")
DebugLineRender = make_placeholder("DebugLineRender")
