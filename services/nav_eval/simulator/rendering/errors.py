"""What the renderer refuses."""

from nav_eval.errors import SimulatorError


class BadCamera(SimulatorError):
    """A camera cannot take this picture; the message names the value and what is allowed."""


class NoRenderer(SimulatorError):
    """No OpenGL device: install the Debian packages libegl1 and libgl1-mesa-dri (software), or the GPU's driver."""


class BadPreparedScene(SimulatorError):
    """Prepared render data cannot be used; delete the folder that the message names, it will be made again."""
