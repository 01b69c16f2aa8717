"""One root for everything that the SDK refuses; the command line shows each as one line."""

from __future__ import annotations


class SdkError(Exception):
    """The SDK cannot do this; the message says why and what to do."""


class BadAnswer(SdkError):
    """`act` returned something that is no action."""


class AgentError(SdkError):
    """The agent's own code failed; the traceback is in its log."""

    def __init__(self, message: str, *, out_of_memory: bool = False) -> None:
        super().__init__(message)
        self.out_of_memory = out_of_memory


class BadRequest(SdkError):
    """The evaluator sent something that the protocol does not allow."""


class Disconnected(SdkError):
    """The other side is gone."""


class MissingExtra(SdkError):
    """Something was asked for that needs further packages."""

    def __init__(self, purpose: str, *, extra: str) -> None:
        super().__init__(f"{purpose} needs further packages: pip install 'nav-eval-sdk[{extra}]'")
