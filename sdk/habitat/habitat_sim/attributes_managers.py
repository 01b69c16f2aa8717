"""Names of the libraries of templates."""

from nav_eval_habitat.scope import make_placeholder

AOAttributesManager = make_placeholder("AOAttributesManager")
AssetAttributesManager = make_placeholder("AssetAttributesManager")
LightLayoutAttributesManager = make_placeholder("LightLayoutAttributesManager")
ObjectAttributesManager = make_placeholder("ObjectAttributesManager")
PbrShaderAttributesManager = make_placeholder("PbrShaderAttributesManager")
PhysicsAttributesManager = make_placeholder("PhysicsAttributesManager")
PrimObjTypes = make_placeholder("PrimObjTypes")
SemanticAttributesManager = make_placeholder("SemanticAttributesManager")
StageAttributesManager = make_placeholder("StageAttributesManager")
