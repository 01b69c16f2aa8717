"""What to install where a library is missing: nav-eval brings few, and the others by what they are for."""

EXTRAS = {
    "DracoPy": "render",
    "moderngl": "render",
    "zstandard": "render",
    "gymnasium": "gym",
    "av": "video",
    "h5py": "export",
    "minari": "export",
    "pyarrow": "export",
    "rerun": "rerun",
    "s3fs": "s3",
    "torch": "learn",
}
"""By what it is imported as: the smallest extra of nav-eval that brings it."""


def explain_missing_library(error: ModuleNotFoundError) -> str | None:
    """What is missing and the command that installs it; None where nav-eval itself is broken."""
    extra = EXTRAS.get((error.name or "").partition(".")[0])
    return extra and f"This needs {error.name}, which is not installed: pip install 'nav-eval[{extra}]'."
