"""Shows results in notebooks.

What a sandbox sends is untrusted. Text is escaped. PNG and JPEG are shown as images, by data URLs with nothing
but base64. HTML and SVG, also the tables of data frames, go into an ``<iframe sandbox>`` without permissions: no
scripts, no forms, no links out of it, an origin of its own, and a policy that loads nothing. So they cannot
reach the notebook's page or cookies. Results that are too large are not shown.
"""

from __future__ import annotations

import html
import re
import sys
from typing import TYPE_CHECKING, Any, Dict, List, Mapping, Optional

from .._printable import printable

if TYPE_CHECKING:
    from .results import _ValueMixin

__all__ = ["mime_bundle", "result_html", "show_in_notebook", "value_html"]

_MAX_RESULTS = 256
_MAX_TEXT = 100_000
_MAX_IMAGE = 16 * 1024 * 1024
_MAX_HTML = 4 * 1024 * 1024
_BASE64 = re.compile(r"[A-Za-z0-9+/]+={0,2}")
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


def mime_bundle(value: Mapping[str, Any]) -> Dict[str, Any]:
    """For ``_repr_mimebundle_``: safe HTML, and text."""
    text = value.get("text/plain")
    return {
        "text/plain": printable(text) if isinstance(text, str) else "<no text form>",
        "text/html": value_html(value),
    }


def value_html(value: Mapping[str, Any]) -> str:
    """HTML for the richest form that can be shown safely."""
    for kind in ("image/png", "image/jpeg"):
        image = _image(kind, value.get(kind))
        if image is not None:
            return image
    for kind in ("text/html", "image/svg+xml"):
        framed = _frame(value.get(kind))
        if framed is not None:
            return framed
    text = value.get("text/plain")
    return _text(text) if isinstance(text, str) else ""


def result_html(result: "_ValueMixin") -> str:
    """Output, figures and tables, the value of the last expression, and the error, in that order."""
    parts: List[str] = []
    error = "" if result.error is None else "\n".join(result.error.traceback) or str(result.error)
    stderr = result.stderr
    if error and stderr.rstrip("\n").endswith(error):  # the interpreter has written it there; once is enough
        stderr = stderr.rstrip("\n")[: -len(error)]
    if result.stdout:
        parts.append(_text(result.stdout))
    if stderr:
        parts.append(_text(stderr, "background:#fdd;color:#400"))
    parts += [value_html(value) for value in result.shown]
    if error:
        parts.append(_text(error, "color:#b00020"))
    elif result.exit_code != 0:
        parts.append(_text(f"exit code {result.exit_code}", "color:#b00020"))
    return "<div>" + "".join(parts) + "</div>"


def show_in_notebook(results: Any) -> None:
    """Shows what a function displayed (figures, tables) if this process is the kernel of a notebook."""
    shell = sys.modules.get("IPython.core.getipython")
    if shell is None or not isinstance(results, list) or shell.get_ipython() is None:
        return
    from IPython.display import display

    for value in results[:_MAX_RESULTS]:
        if isinstance(value, dict):
            display(mime_bundle(value), raw=True)


def _text(text: str, style: str = "") -> str:
    if len(text) > _MAX_TEXT:
        text = text[:_MAX_TEXT] + f"\n… and {len(text) - _MAX_TEXT} more characters"
    shown = f' style="{style}"' if style else ""
    return f"<pre{shown}>{html.escape(text)}</pre>"


def _image(kind: str, data: Any) -> Optional[str]:
    if not isinstance(data, str) or len(data) > _MAX_IMAGE:
        return None
    packed = "".join(data.split())
    if not _BASE64.fullmatch(packed):
        return None
    return f'<img src="data:{kind};base64,{packed}" style="max-width:100%"/>'


def _frame(markup: Any) -> Optional[str]:
    if not isinstance(markup, str) or len(markup) > _MAX_HTML:
        return None
    page = (
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        "<style>body{font-family:sans-serif;font-size:13px;background:#fff;color:#000}"
        "table{border-collapse:collapse}td,th{padding:2px 8px;border:1px solid #ddd;text-align:right}</style>" + markup
    )
    # Only a script could measure the height: estimate it by the rows, and scroll.
    height = min(600, 60 + 26 * markup.lower().count("<tr"))
    if "<tr" not in markup.lower():
        height = 300
    return (
        f'<iframe sandbox="" referrerpolicy="no-referrer" srcdoc="{html.escape(page, quote=True)}" '
        f'style="width:100%;height:{height}px;border:0"></iframe>'
    )
