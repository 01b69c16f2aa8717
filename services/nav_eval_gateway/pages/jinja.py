"""Templates, and how values look in them."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, pass_context
from jinja2.runtime import Context
from markupsafe import Markup

from nav_eval.config.layers import format_value as format_yaml_value
from nav_eval_gateway.pages.markdown import extract_text, render_markdown
from nav_eval_gateway.pages.static_files import make_asset_url

NOTHING = "–"
UNITS = ("d", "h", "min", "s")


@cache
def make_environment() -> Environment:
    found = Environment(
        loader=PackageLoader("nav_eval_gateway.pages"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.filters |= {
        "markdown": render_markdown,
        "plain_text": extract_text,
        "number": format_number,
        "metric": format_metric_name,
        "p_value": format_p_value,
        "moment": format_moment,
        "size": format_size,
        "value": format_value,
        "duration": _format_translated_duration,
    }
    found.globals |= {"asset": make_asset_url}
    return found


def render(template: str, **context: Any) -> str:  # noqa: ANN401
    return make_environment().get_template(template).render(**context)


def format_number(value: float | None, places: int = 3) -> str:
    """A score; nothing where there is none."""
    return NOTHING if value is None else f"{value:.{places}f}"


def format_metric_name(name: str) -> str:
    """As papers write them: short ones are abbreviations."""
    return name.upper() if len(name) <= 4 else name.replace("_", " ")


def format_p_value(value: float | None) -> str:
    if value is None:
        return NOTHING
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def format_moment(value: datetime | None, *, day: bool = False) -> Markup:
    """A time element: readable as it is, and a script may show it in the reader's zone."""
    if value is None:
        return Markup("–")
    utc = value.astimezone(UTC)
    shown = f"{utc:%Y-%m-%d}" if day else f"{utc:%Y-%m-%d %H:%M} UTC"
    kind = Markup(' data-day=""') if day else Markup("")
    return Markup('<time datetime="{}"{}>{}</time>').format(f"{utc:%Y-%m-%dT%H:%M:%SZ}", kind, shown)


def format_value(value: object) -> str:
    """What a configuration says, cut when it is long; nothing where it says nothing."""
    if value is None:
        return NOTHING
    return value if isinstance(value, str) and len(value) <= 300 else format_yaml_value(value, limit=300)


def format_size(value: float | None) -> str:
    """Bytes for people."""
    if value is None:
        return NOTHING
    for unit in ("B", "kB", "MB", "GB"):
        if value < 1000:
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1000
    return f"{value:.2f} TB"


def format_duration(value: timedelta | float | None, units: Sequence[str] = UNITS) -> str:
    """`2 d 3 h`, `4 min 5 s`: the two largest units."""
    if value is None:
        return NOTHING
    seconds = int(value.total_seconds() if isinstance(value, timedelta) else value)
    parts = []
    for unit, length in zip(units, (86400, 3600, 60, 1), strict=True):
        count, seconds = divmod(max(0, seconds), length)
        if count:
            parts.append(f"{count} {unit}")
    return " ".join(parts[:2]) or f"0 {units[-1]}"


@pass_context
def _format_translated_duration(context: Context, value: timedelta | float | None) -> str:
    """In the units of the page's language."""
    return format_duration(value, str(context["t"]("units")).split())
