"""Names of Habitat's replay renderer."""

from nav_eval_habitat.scope import make_placeholder

ReplayRenderer = make_placeholder("ReplayRenderer")
ReplayRendererConfiguration = make_placeholder("ReplayRendererConfiguration")
