"""Names of templates; only the stage's is ever made, and only to be read."""

from nav_eval_habitat.scope import make_placeholder


class StageAttributes:
    """What a stage was made from."""

    def __init__(self, path: str = "") -> None:
        self.handle = self.render_asset_handle = self.render_asset_fullpath = path


AbstractAttributes = make_placeholder("AbstractAttributes")
AbstractObjectAttributes = make_placeholder("AbstractObjectAttributes")
AbstractPrimitiveAttributes = make_placeholder("AbstractPrimitiveAttributes")
ArticulatedObjectAttributes = make_placeholder("ArticulatedObjectAttributes")
ArticulatedObjectBaseType = make_placeholder("ArticulatedObjectBaseType")
ArticulatedObjectInertiaSource = make_placeholder("ArticulatedObjectInertiaSource")
ArticulatedObjectLinkOrder = make_placeholder("ArticulatedObjectLinkOrder")
ArticulatedObjectRenderMode = make_placeholder("ArticulatedObjectRenderMode")
AssetType = make_placeholder("AssetType")
CapsulePrimitiveAttributes = make_placeholder("CapsulePrimitiveAttributes")
ConePrimitiveAttributes = make_placeholder("ConePrimitiveAttributes")
CubePrimitiveAttributes = make_placeholder("CubePrimitiveAttributes")
CylinderPrimitiveAttributes = make_placeholder("CylinderPrimitiveAttributes")
IcospherePrimitiveAttributes = make_placeholder("IcospherePrimitiveAttributes")
LightInstanceAttributes = make_placeholder("LightInstanceAttributes")
LightLayoutAttributes = make_placeholder("LightLayoutAttributes")
LinkSet = make_placeholder("LinkSet")
MarkerSet = make_placeholder("MarkerSet")
MarkerSets = make_placeholder("MarkerSets")
ObjectAttributes = make_placeholder("ObjectAttributes")
ObjectInstanceShaderType = make_placeholder("ObjectInstanceShaderType")
PbrShaderAttributes = make_placeholder("PbrShaderAttributes")
PhysicsManagerAttributes = make_placeholder("PhysicsManagerAttributes")
SemanticAttributes = make_placeholder("SemanticAttributes")
TaskSet = make_placeholder("TaskSet")
UVSpherePrimitiveAttributes = make_placeholder("UVSpherePrimitiveAttributes")
