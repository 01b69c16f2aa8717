"""Names that annotations of habitat-lab mention. Scene files are read by nav-eval, not through importers."""

from nav_eval_habitat.scope import OutOfScope, make_placeholder

MeshAttribute = make_placeholder("MeshAttribute", package="magnum.trade")
SceneField = make_placeholder("SceneField", package="magnum.trade")


class MeshData:
    """Only a name: rearrangement's code mentions it."""


class ImporterManager:
    """Made when habitat-lab is imported; it has no plug-ins."""

    def load_and_instantiate(self, plugin: str) -> None:
        raise OutOfScope(f"magnum.trade's importer {plugin!r}")
