"""What the web refuses beyond what the store refuses: one leaf per kind of answer."""

from collections.abc import Mapping

from nav_eval_store.errors import Refusal


class GatewayError(Refusal):
    """The request cannot be answered; the message says why."""

    def __init__(
        self, message: str | None = None, /, *, headers: Mapping[str, str] | None = None, **values: object
    ) -> None:
        super().__init__(message, **values)
        self.headers = dict(headers or {})  #: of the answer


class NotSignedIn(GatewayError):
    """This needs a token: send `Authorization: Bearer nve_…`."""


class ScopeMissing(GatewayError):
    """The token may not be used for this; make one with the scope that the message names."""


class UnsupportedVersion(GatewayError):
    """We speak tus 1.0.0: send `Tus-Resumable: 1.0.0`."""


class UnsupportedContent(GatewayError):
    """The body has a content type that this address does not take; the message names the right one."""


class BadHeader(GatewayError):
    """A header of the request has no meaning; the message names it."""


class ChecksumMismatch(GatewayError):
    """The bytes are not those of the Upload-Checksum; they were thrown away, send them again."""


class BadRange(GatewayError):
    """The range is outside of the file."""


class Gone(GatewayError):
    """It was there, and will not come back; the message says why."""


class TooSlow(GatewayError):
    """The body did not come in time; send it again."""


class StorageFull(GatewayError):
    """There is no room left for this; tell the organiser, and try again later."""


class TooManyRequests(GatewayError):
    """Too many requests; wait for as long as Retry-After says."""


class Unavailable(GatewayError):
    """The server cannot answer just now; try again in a moment."""
