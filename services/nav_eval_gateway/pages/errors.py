"""What pages refuse beyond what the API refuses."""

from nav_eval_gateway.errors import NotSignedIn
from nav_eval_store.errors import NotAllowed, StoreError


class LoginNeeded(NotSignedIn):
    """Log in first."""

    def __init__(self, *, next_path: str | None = None) -> None:
        super().__init__()
        self.next_path = next_path  #: where to go on afterwards


class FormForged(NotAllowed):
    """This form did not come from a page of ours, or the page was too old; load the page again and repeat."""


class FormInvalid(StoreError):
    """A field of the form is not filled in as it should be; the message names it."""
