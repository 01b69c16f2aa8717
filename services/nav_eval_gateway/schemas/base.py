"""What all models share: requests refuse keys that they do not know, and text that plays tricks."""

from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints


class Answer(BaseModel):
    """Something that we say."""

    model_config = ConfigDict(frozen=True)


class Request(BaseModel):
    """Something that we are told."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def example(**fields: Any) -> ConfigDict:  # noqa: ANN401
    """An example for the OpenAPI document: `model_config = example(name="ada")`."""
    return ConfigDict(json_schema_extra={"examples": [fields]})


def _one_line(text: str) -> str:
    if not text.isprintable():
        raise ValueError("must be one line of printable characters")
    return text


def _several_lines(text: str) -> str:
    if not all(c.isprintable() or c in "\n\t" for c in text):
        raise ValueError("must be printable characters")
    return text


Line = Annotated[str, StringConstraints(max_length=200, strip_whitespace=True), AfterValidator(_one_line)]
"""One line that a page can show."""
FilledLine = Annotated[Line, Field(min_length=1)]
Paragraph = Annotated[str, StringConstraints(max_length=4000, strip_whitespace=True), AfterValidator(_several_lines)]
Reason = Annotated[Paragraph, Field(min_length=1, max_length=1000)]
"""Why an organiser does something; it is kept in the audit log."""
