"""Names of the libraries of templates."""

from nav_eval_habitat.scope import make_placeholder

AOAttributesManager = make_placeholder("AOAttributesManager")
AssetAttributesManager = make_placeholder("AssetAttributesManager")
ObjectAttributesManager = make_placeholder("ObjectAttributesManager")
PbrShaderAttributesManager = make_placeholder("PbrShaderAttributesManager")
PhysicsAttributesManager = make_placeholder("PhysicsAttributesManager")
StageAttributesManager = make_placeholder("StageAttributesManager")
