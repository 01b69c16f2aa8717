"""Where the models of a world lie, and the files inside of them.

`model://chair/meshes/chair.dae` is looked for in the folders that were given, and so is what follows `models/` in
`file://models/chair/meshes/chair.dae`, which is meant from a folder above that only its author knows. Nothing outside
of a model's own folder is opened for it, because worlds come from strangers as other scenes do.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath
from urllib.parse import unquote

from nav_eval.errors import SceneError
from nav_eval.scene.formats.gazebo.xml_tree import XmlNode, parse_xml
from nav_eval.scene.formats.scene_folder import MissingFile, ReadLimits, SceneFolder

SCHEMES = ("model://", "package://", "file://")
TEXTURE_FOLDERS = ("materials/textures", "textures", "meshes")


class ModelFolder(SceneFolder):
    """Reads a mesh's files from anywhere in its model's folder, where Gazebo's own meshes keep their pictures."""

    def __init__(self, path: Path, root: Path, *, limits: ReadLimits) -> None:
        super().__init__(path, limits)
        self._root = root.resolve()
        self._here = PurePosixPath(path.resolve().parent.relative_to(self._root).as_posix())

    def resolve(self, uri: str) -> tuple[str, Path]:
        """As seen from the mesh, or by its name alone in the folders for pictures."""
        plain = uri.replace("\\", "/").removeprefix("file://")
        is_foreign = "://" in plain or plain.startswith("/") or plain[1:2] == ":"  # a path of its author's machine
        inner = None if is_foreign else _normalize_path(self._here / plain)
        places = [] if inner is None else [inner]
        places += [f"{folder}/{PurePosixPath(plain).name}" for folder in TEXTURE_FOLDERS]
        found = [super(ModelFolder, self).resolve(place) for place in places]
        return next(((name, path) for name, path in found if path.is_file()), found[0])


class ModelLibrary:
    """Finds models and files by their URIs."""

    def __init__(self, world: Path, folders: Iterable[Path] = (), *, limits: ReadLimits | None = None) -> None:
        self.limits = limits or ReadLimits()
        around = (world.parent, world.parent / "models", world.parent.parent / "models")
        self._folders = [folder.resolve() for folder in (*folders, *around) if folder.is_dir()]

    def find_model(self, uri: str) -> Path:
        """The SDF file of a model; newest version first where its folder has several."""
        name = get_model_name(uri)
        candidates = [] if name in ("", ".", "..") else [name, name.lower(), name.lower().replace(" ", "_")]
        for folder in self._folders:
            for candidate in dict.fromkeys(candidates):
                path = self._find_description(folder / candidate)
                if path is not None:
                    return path
        raise MissingFile(
            f"The model {name!r} is in none of {', '.join(map(str, self._folders)) or 'no folders'}; "
            "give the folder that holds it with --models."
        )

    def find_file(self, uri: str, *, model: Path) -> tuple[Path, Path]:
        """The file that a model's SDF names, and the folder beyond which nothing is read for it."""
        for path, root in self._list_places(uri, model):
            if path.is_file():
                return path, root
        raise MissingFile(f"The file {uri.strip()[:200]!r} is in no model folder; give its folder with --models.")

    def find_folder(self, uri: str, *, model: Path) -> tuple[Path, Path] | None:
        """The same for a folder; None if there is none."""
        return next(((path, root) for path, root in self._list_places(uri, model) if path.is_dir()), None)

    def _list_places(self, uri: str, model: Path) -> Iterator[tuple[Path, Path]]:
        plain = uri.strip()
        scheme = next((scheme for scheme in SCHEMES if plain.startswith(scheme)), "")
        name = plain.removeprefix(scheme)
        roots = [(model.parent, name)]
        for known in (name, f"/{name}".partition("/models/")[2]) if scheme else ():
            owner, _, inner = known.partition("/")
            if inner and owner not in ("", ".", ".."):
                roots = [*((folder / owner, inner) for folder in self._folders), *roots]
        for root, inner in roots:
            path = _resolve_below(root, inner)
            if path is not None:
                yield path, root.resolve()

    def read_sdf(self, path: Path) -> XmlNode:
        """The root of an SDF file."""
        content = SceneFolder(path, self.limits).read_main()
        root = parse_xml(content, source=str(path), limits=self.limits)
        if root.name not in ("sdf", "gazebo"):
            raise SceneError(f"{path}: is XML, but no SDF file: it begins with <{root.name[:40]}>.")
        return root

    def _find_description(self, folder: Path) -> Path | None:
        """`model.config` says which file it is; a folder of versions, as Fuel makes them, holds the newest last."""
        if not folder.is_dir():
            return None
        versions = sorted((inner for inner in folder.iterdir() if inner.name.isdecimal()), key=lambda p: -int(p.name))
        for place in (folder, *versions):
            config = place / "model.config"
            if not config.is_file():
                continue
            for name in (*self._list_descriptions(config), "model.sdf"):
                path = _resolve_below(place, name)
                if path is not None and path.is_file():
                    return path
        return folder / "model.sdf" if (folder / "model.sdf").is_file() else None

    def _list_descriptions(self, config: Path) -> list[str]:
        """The newest first; none where the file is broken, as Gazebo takes a bare `&` that XML does not allow."""
        content = SceneFolder(config, self.limits).read_main()
        try:
            listed = list(parse_xml(content, source=str(config), limits=self.limits).iterate("sdf"))
        except SceneError:
            return []
        files = sorted(listed, key=lambda node: node.attributes.get("version", ""), reverse=True)
        return [node.text for node in files]


def get_model_name(uri: str) -> str:
    """`chair` of `model://chair`, and of an address on Fuel that ends in `models/chair`, where blanks are `%20`."""
    plain = unquote(uri.strip()).rstrip("/")
    if "://" in plain and not plain.startswith(SCHEMES):
        parts = plain.split("/")
        return parts[parts.index("models") + 1] if "models" in parts[:-1] else parts[-1]
    for scheme in SCHEMES:
        plain = plain.removeprefix(scheme)
    return plain.partition("/")[0] if ".." not in plain else PurePosixPath(plain).name


def _normalize_path(path: PurePosixPath) -> str | None:
    """Without `..`; None where it would leave the root."""
    parts: list[str] = []
    for part in path.parts:
        if part == "..":
            if not parts:
                return None
            parts.pop()
        elif part != ".":
            parts.append(part)
    return "/".join(parts)


def _resolve_below(root: Path, name: str) -> Path | None:
    """The file, unless the name or a link leads out of the folder."""
    if not name or "\0" in name or PurePosixPath(name).is_absolute():
        return None
    try:
        path = (root / name).resolve()
    except (OSError, RuntimeError):  # a name too long for the system, a loop of links
        return None
    return path if path.is_relative_to(root.resolve()) else None
