"""One root for everything that nav-eval refuses or fails at.

A leaf per cause. The docstring is the default message and names the next action; code that knows
more (file, line, field) passes its own sentence. The command line turns any of these into one line
on stderr and exit code 2; a traceback therefore always means a bug of ours.
"""


class NavEvalError(Exception):
    """nav-eval failed in a way it did not expect; please report it with the command you ran."""

    def __init__(self, message: str | None = None) -> None:
        super().__init__(message or self.__doc__)


class NameTaken(NavEvalError):
    """A plug-in registers a name that another one already has; pick another name."""


class UnknownName(NavEvalError):
    """A configuration asks for a name that no plug-in has registered; the message lists those that exist."""


class ConfigError(NavEvalError):
    """A configuration file cannot be used; the message names the file, the key and what is allowed."""


class DatasetError(NavEvalError):
    """An episode file cannot be used; the message names the file, the episode and the field."""


class RecordError(NavEvalError):
    """A line to be scored is not usable; the message names the file and the line."""


class SceneError(NavEvalError):
    """A scene cannot be used; the message names the file and what to do about it."""


class NavigationMeshError(NavEvalError):
    """A navigation mesh cannot be built or asked this; the message says why."""


class SimulatorError(NavEvalError):
    """The simulator cannot run here; the message names the missing part."""


class BadCamera(SimulatorError):
    """A camera cannot take this picture; the message names the value and what is allowed."""


class NoRenderer(SimulatorError):
    """No OpenGL device: install the Debian packages libegl1 and libgl1-mesa-dri (software), or the GPU's driver."""


class BadPreparedScene(SimulatorError):
    """Prepared render data cannot be used; delete the folder that the message names, it will be made again."""
