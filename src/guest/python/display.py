"""Values as MIME data: what the last expression was, and figures. Lines of at most 8 MB.

Whatever an object says of itself is the guest's business; that the line is JSON, bounded, and there
even if the object misbehaves, is ours.
"""
import binascii
import sys

from _json import encode_basestring_ascii as quoted

MOST_LINE = 8 << 20
ROOM_FOR_NOTES = 1 << 16
MOST_TEXT = 1 << 20
MOST_NODES = 200_000
MOST_DEPTH = 24  # the server's parser has a limit of its own, and the line adds three
TEXT_METHODS = (
    ("_repr_html_", "text/html"),
    ("_repr_markdown_", "text/markdown"),
    ("_repr_latex_", "text/latex"),
    ("_repr_svg_", "image/svg+xml"),
    ("_repr_png_", "image/png"),
    ("_repr_jpeg_", "image/jpeg"),
    ("_repr_pdf_", "application/pdf"),
    ("_repr_javascript_", "application/javascript"),
)
PLAIN = frozenset((bool, int, float, str, list, dict, tuple))
MOST_RICH = 30_000
CHART = "application/vnd.glovebox.chart+json"
TABLE = "application/vnd.glovebox.table+json"
# The first part of a MIME type that is not a program's own.
REGISTERED = frozenset(("application", "audio", "example", "font", "haptics", "image", "message", "model",
                        "multipart", "text", "video"))

# `load` and `Mode` are given by runner.load(), which loads this.
_sent = []  # figures that need not be sent again at the end


def send_value(results, value, main=True):
    results.send(encode(forms_of(value), main))


def send_raw(results, bundle):
    """What is shown is given by its MIME types."""
    forms = {"text/plain": str(bundle.get("text/plain", ""))}
    for mime, data in bundle.items():
        if type(mime) is str and mime != "text/plain":
            _add(forms, mime, data)
    results.send(encode(forms, False))


def forms_of(value):
    """MIME type to text, bytes, or Encoded JSON; text/plain first."""
    forms = {"text/plain": plain_text(value)}
    kind = type(value)
    rich = Mode.rich
    if kind in PLAIN and not rich:
        encoded = json_of(value)
        if encoded is not None:
            forms["application/json"] = encoded
    if not isinstance(value, type):
        _add_own_forms(forms, value)
    if "pandas" in sys.modules and "text/html" not in forms:
        _add(forms, "text/html", _attempt(_series_html, value))
    if "matplotlib.artist" in sys.modules and "image/png" not in forms:
        figure = _attempt(_figure_of, value)
        if figure is not None:
            _add(forms, "image/png", _attempt(png_of, figure))
            if "image/png" in forms:
                _sent.append(figure)
                if rich:
                    _attempt(_add_chart, forms, figure)
    if rich and "pandas" in sys.modules:
        _attempt(_add_table, forms, value)
    return forms


def _add_chart(forms, figure):
    charts = load("charts")
    _add_rich(forms, CHART, charts.points_in(figure), charts.chart_of, figure)


def _add_table(forms, value):
    if isinstance(value, sys.modules["pandas"].DataFrame):
        _add_rich(forms, TABLE, value.size, load("charts").data_of, value)


def _add_rich(forms, mime, size, function, value):
    """What a cell may send of these in all is less than the server reads of one."""
    values = size
    if size <= MOST_RICH:
        data = function(value)
        encoded = json_of(data) if data is not None else None
        if encoded is None:
            return
        values = encoded.count(b",") + encoded.count(b"[") + encoded.count(b"{")
        if values <= Mode.room:
            Mode.room -= values
            forms[mime] = encoded
            return
    forms["text/plain"] += "\n[%s: %d values, too many]" % (mime, values)


def plain_text(value):
    try:
        text = repr(value)
        return text if type(text) is str else str.__str__(text)
    except BaseException as error:
        try:
            return "<%s object; its repr raised %s: %s>" % (type(value).__name__, type(error).__name__, error)
        except BaseException:
            return "<%s object; its repr raised %s>" % (type(value).__name__, type(error).__name__)


class Encoded(bytes):
    """JSON already."""


def _method(value, name):
    """The object's own, or of its type; None for objects that answer to any name, as IPython finds out."""
    method = _attempt(getattr, value, name, None)
    if method is None or _attempt(getattr, value, "_ipython_canary_method_should_not_exist_", None) is not None:
        return None
    return method if callable(method) else None


def _add_own_forms(forms, value):
    if (method := _method(value, "_repr_mimebundle_")) is not None:
        bundle = _data(_attempt(method, None, None))
        if isinstance(bundle, dict):
            for mime, data in bundle.items():
                if type(mime) is str and mime != "text/plain":
                    _add(forms, mime, data)
    for name, mime in TEXT_METHODS:
        if mime not in forms and (method := _method(value, name)) is not None:
            _add(forms, mime, _data(_attempt(method)))
    if "application/json" not in forms and (method := _method(value, "_repr_json_")) is not None:
        _add(forms, "application/json", _data(_attempt(method)))


def _data(answer):
    """These methods may answer (data, metadata)."""
    if type(answer) is tuple and len(answer) == 2 and isinstance(answer[1], dict):
        return answer[0]
    return answer


def _add(forms, mime, data):
    if data is None:
        return
    if isinstance(data, (bytes, bytearray)):
        forms[mime] = bytes(data)
    elif isinstance(data, str) and not _is_json(mime):
        forms[mime] = str(data)
    elif _is_json(mime) or mime.partition("/")[0] not in REGISTERED:
        encoded = json_of(data)
        if encoded is not None:
            forms[mime] = encoded


def _is_json(mime):
    return mime == "application/json" or mime.endswith("+json")


def _attempt(function, *arguments):
    try:
        return function(*arguments)
    except BaseException:
        return None


def json_of(value):
    """The value as JSON if it is plain data that means the same there, else None."""
    parts = []
    try:
        _append_json(parts, value, 0)
    except (ValueError, RecursionError):
        return None
    return Encoded("".join(parts).encode("ascii"))


def _append_json(parts, value, depth):
    kind = type(value)
    if len(parts) > MOST_NODES or depth > MOST_DEPTH:
        raise ValueError("too large for JSON")
    if value is None:
        parts.append("null")
    elif kind is bool:
        parts.append("true" if value else "false")
    elif kind is int:
        if not -(1 << 63) <= value < 1 << 63:
            raise ValueError("other parsers would round it")
        parts.append(repr(value))
    elif kind is float:
        if value != value or value in (float("inf"), float("-inf")):
            raise ValueError("JSON has no such number")
        parts.append(repr(value))
    elif kind is str:
        value.encode("utf-8")  # UnicodeEncodeError is a ValueError
        parts.append(quoted(value))
    elif kind is list or kind is tuple:
        parts.append("[")
        for index, item in enumerate(value):
            if index:
                parts.append(",")
            _append_json(parts, item, depth + 1)
        parts.append("]")
    elif kind is dict:
        parts.append("{")
        for index, (key, item) in enumerate(value.items()):
            if type(key) is not str:
                raise ValueError("a key that is no string comes back as one")
            key.encode("utf-8")
            parts.append(("," if index else "") + quoted(key) + ":")
            _append_json(parts, item, depth + 1)
        parts.append("}")
    else:
        raise ValueError("not plain data")


def encode(forms, main):
    """The line. What does not fit is left out, and text/plain says so."""
    notes = []
    text = forms.get("text/plain", "")
    most = MOST_TEXT
    if not text.isascii() or not text[:most].isprintable():
        most //= 3  # JSON's escapes make up to twelve bytes of one character
    if len(text) > most:
        notes.append("[text/plain: %d characters more]" % (len(text) - most))
        text = text[:most]
    room = MOST_LINE - ROOM_FOR_NOTES
    encoded = {"text/plain": _quoted_text(text)}
    room -= len(encoded["text/plain"])
    for mime, data in forms.items():
        if mime == "text/plain":
            continue
        if type(data) is Encoded:
            one = bytes(data)
        elif type(data) is bytes:
            one = b'"%s"' % binascii.b2a_base64(data, newline=False)
        else:
            one = _quoted_text(data)
        key = _quoted_text(mime)
        if len(one) + len(key) + 2 > room or len(key) > 300:
            notes.append("[%s: %d bytes, too large]" % (mime[:100], len(one)))
            continue
        room -= len(one) + len(key) + 2
        encoded[mime] = one
    if notes:
        encoded["text/plain"] = _quoted_text("\n".join([text, *notes[:16]]))
    return b'{"type":"result","mime":{%s},"main":%s%s}\n' % (
        b",".join([_quoted_text(mime) + b":" + one for mime, one in encoded.items()]),
        b"true" if main else b"false",
        b',"truncated":true' if notes else b"",
    )


def _quoted_text(text):
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        # A lone surrogate is not valid text outside of Python.
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return quoted(text).encode("ascii")


def _series_html(value):
    pandas = sys.modules["pandas"]
    if isinstance(value, pandas.Series):
        return value.to_frame()._repr_html_()
    return None


def _figure_of(value, depth=0):
    """The figure that a value is, is part of, or lists parts of."""
    artist = sys.modules["matplotlib.artist"].Artist
    if isinstance(value, artist):
        figure = value
        # A part knows its figure, and a subfigure its parent; a figure knows itself.
        for _ in range(16):
            above = getattr(figure, "figure", None)
            if above is None or above is figure:
                break
            figure = above
        return figure if hasattr(figure, "savefig") else None
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(value, numpy.ndarray):
        value = list(value.flat)[:1] if value.dtype == object else ()
    if isinstance(value, (list, tuple)) and depth < 2:
        for item in list(value)[:16]:
            figure = _figure_of(item, depth + 1)
            if figure is not None:
                return figure
    return None


def png_of(figure):
    from io import BytesIO

    file = BytesIO()
    figure.savefig(file, format="png", bbox_inches="tight")
    return file.getvalue()


def send_figure(results, figure):
    if any(figure is one for one in _sent):
        return
    _sent.append(figure)
    png = _attempt(png_of, figure)
    if png is not None:
        forms = {"text/plain": plain_text(figure), "image/png": png}
        if Mode.rich:
            _attempt(_add_chart, forms, figure)
        results.send(encode(forms, main=False))


def send_open_figures(results):
    pyplot = sys.modules["matplotlib.pyplot"]
    for number in pyplot.get_fignums():
        send_figure(results, pyplot.figure(number))


def make_show_send(pyplot, results):
    """pyplot.show() sends what is open and closes it, as a window that was looked at and closed."""
    real_show = pyplot.show

    def show(*args, **kwargs):
        for number in pyplot.get_fignums():
            figure = pyplot.figure(number)
            send_figure(results(), figure)
            pyplot.close(figure)

    show.__doc__ = real_show.__doc__
    show.__module__ = real_show.__module__
    show.__qualname__ = "show"
    pyplot.show = show
