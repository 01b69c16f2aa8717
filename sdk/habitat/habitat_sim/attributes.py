"""Names of templates; only the stage's is ever made, and only to be read."""

from nav_eval_habitat.scope import make_placeholder


class StageAttributes:
    """What a stage was made from."""

    def __init__(self, path: str = "") -> None:
        self.handle = self.render_asset_handle = self.render_asset_fullpath = path


ArticulatedObjectAttributes = make_placeholder("ArticulatedObjectAttributes")
CapsulePrimitiveAttributes = make_placeholder("CapsulePrimitiveAttributes")
ConePrimitiveAttributes = make_placeholder("ConePrimitiveAttributes")
CubePrimitiveAttributes = make_placeholder("CubePrimitiveAttributes")
CylinderPrimitiveAttributes = make_placeholder("CylinderPrimitiveAttributes")
IcospherePrimitiveAttributes = make_placeholder("IcospherePrimitiveAttributes")
MarkerSets = make_placeholder("MarkerSets")
ObjectAttributes = make_placeholder("ObjectAttributes")
PbrShaderAttributes = make_placeholder("PbrShaderAttributes")
PhysicsManagerAttributes = make_placeholder("PhysicsManagerAttributes")
UVSpherePrimitiveAttributes = make_placeholder("UVSpherePrimitiveAttributes")
