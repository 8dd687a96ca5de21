"""Figures and tables as data: the lines, bars and slices of a chart, the columns of a table.

Loaded when a cell that asks for these shows its first figure or table; everything else goes without.
A figure is read as it was drawn, by its artists, so it does not matter which library drew it.
"""
import datetime
import math
import re
import sys

POINT_AXES = "ticks", "tick_labels", "scale"
UNIT = re.compile(r"\(([^()]+)\)|\[([^\[\]]+)\]")
CHILD = re.compile(r"_(?:child|container)(\d+)$")


def chart_of(figure):
    """One chart, or a chart of charts where there are several axes; None where there are none."""
    axes = [one for one in figure.get_axes() if one.get_visible() and one.get_label() != "<colorbar>"]
    axes = [one for one in axes if one.has_data()] or axes[:1]
    if not axes:
        return None
    above = getattr(figure, "_suptitle", None)
    title = above.get_text() if above is not None else ""
    if len(axes) > 1:
        return {"type": "superchart", "title": title or None, "elements": [_chart_of_axes(one, "") for one in axes]}
    return _chart_of_axes(axes[0], title)


def points_in(figure):
    """At least so many a chart of it would have; quickly."""
    count = 0
    for axes in figure.get_axes():
        count += len(axes.patches) + sum(len(line.get_xdata(True)) for line in axes.lines)
        count += sum(len(one.get_offsets()) for one in axes.collections)
    return count


def _chart_of_axes(axes, title):
    patches = sys.modules["matplotlib.patches"]
    containers = sys.modules["matplotlib.container"]
    title = axes.get_title() or axes.get_title("left") or axes.get_title("right") or title or None
    wedges = [one for one in axes.patches if isinstance(one, patches.Wedge)]
    bars = [one for one in axes.containers if isinstance(one, containers.BarContainer)]
    lines = [one for one in axes.lines if one.get_visible() and one.get_transform() == axes.transData]
    points = [one for one in axes.collections if _is_scatter(axes, one)]
    if not hasattr(axes, "yaxis") or hasattr(axes, "zaxis") or getattr(axes, "name", "") == "polar":
        return {"type": "unknown", "title": title, "elements": []}
    if wedges and not bars and not lines:
        return {"type": "pie", "title": title, "elements": [_slice(one) for one in wedges]}
    chart = {"type": "unknown", "title": title, "elements": []}
    chart.update(_labels("x", axes.xaxis), **_labels("y", axes.yaxis))
    boxes, upright = _boxes(axes, lines)
    if boxes:
        chart["type"] = "box_and_whisker"
        chart["elements"] = boxes
        return chart if upright else _turned(chart)
    if bars:
        chart["type"] = "bar"
        flat = all(_is_flat(one) for one in bars)
        axis = axes.yaxis if flat else axes.xaxis
        name = _Names(axes, axis)
        chart["elements"] = [bar for one in bars for bar in _bars(one, name, flat)]
        return _turned(chart) if flat else chart
    if not lines and not points:
        return chart
    chart["type"] = "line" if not points and not all(_has_only_marks(one) for one in lines) else "scatter"
    for side, axis in (("x", axes.xaxis), ("y", axes.yaxis)):
        chart.update(_ticks(side, axes, axis))
    chart["elements"] = [_scatter(axes, one) for one in points] + [_line(axes, one, chart["type"]) for one in lines]
    return chart


def _labels(side, axis):
    label = axis.get_label().get_text()
    unit = UNIT.search(label)
    return {side + "_label": label or None, side + "_unit": (unit[1] or unit[2]) if unit else None}


def _turned(chart):
    """Bars and boxes that lie: x is where their names are."""
    for name in ("label", "unit"):
        x, y = "x_" + name, "y_" + name
        chart[x], chart[y] = chart[y], chart[x]
    return chart


def _ticks(side, axes, axis):
    scale = _scale(axis)
    places = [_value(axes, axis, one, scale) for one in axis.get_majorticklocs()]
    labels = [one.get_text() for one in axis.get_majorticklabels()]
    return dict(zip((side + "_" + name for name in POINT_AXES), (places, labels, scale)))


def _scale(axis):
    converter = type(getattr(axis, "converter", None)).__name__
    if "Category" in converter:
        return "categorical"
    dates = sys.modules.get("matplotlib.dates")
    locator = axis.get_major_locator()
    if dates is not None and isinstance(locator, dates.DateLocator):
        return "datetime"
    if "Date" in converter or "Period" in converter or "Date" in type(locator).__name__:
        return "datetime"
    return axis.get_scale()


def _value(axes, axis, value, scale):
    """A place on an axis as people would write it: dates and names as text, else a number."""
    value = plain(value)
    if isinstance(value, str) or value is None:
        return value
    try:
        if scale == "datetime":
            freq = getattr(axes, "freq", None)
            if freq is not None and "pandas" in sys.modules and axis is axes.xaxis:
                return plain(sys.modules["pandas"].Period(ordinal=int(value), freq=freq))
            return plain(sys.modules["matplotlib.dates"].num2date(value))
        if scale == "categorical" and value == int(value):
            for name, place in axis.units._mapping.items():
                if place == value:
                    return str(name)
    except Exception:
        pass
    return value


def plain(value):
    """A number, text, true or false, or None: what JSON has."""
    if hasattr(value, "item") and getattr(value, "shape", None) == ():  # numpy's
        kind = type(value).__name__
        if kind in ("datetime64", "timedelta64"):
            return None if value != value else str(value.astype("datetime64[us]").item().isoformat() if kind == "datetime64" else value)
        value = value.item()
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, int):
        return int(value) if -(1 << 53) <= value <= 1 << 53 else str(int(value))
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, (datetime.date, datetime.time)):
        text = value.isoformat()
        return None if text == "NaT" else text
    if type(value).__name__ == "Period":
        return value.to_timestamp().isoformat()
    try:
        if value != value:
            return None  # NaT, NA
    except Exception:
        return None
    return str(value)


def _named(artist, word):
    label = str(artist.get_label())
    child = CHILD.match(label)
    if child:
        return "%s %s" % (word, child[1])
    return "" if label.startswith("_") else label


def _is_scatter(axes, collection):
    kind = sys.modules["matplotlib.collections"].PathCollection
    return isinstance(collection, kind) and collection.get_visible() and collection.get_offset_transform().contains_branch(axes.transData)


def _has_only_marks(line):
    return line.get_linestyle() in ("None", "none", "", " ")


def _line(axes, line, kind):
    xs, ys = line.get_xdata(True), line.get_ydata(True)
    x_scale, y_scale = _scale(axes.xaxis), _scale(axes.yaxis)
    points = [[_value(axes, axes.xaxis, x, x_scale), _value(axes, axes.yaxis, y, y_scale)] for x, y in zip(xs, ys)]
    return {"label": _named(line, "Line" if kind == "line" else "Scatter"), "points": points}


def _scatter(axes, collection):
    x_scale, y_scale = _scale(axes.xaxis), _scale(axes.yaxis)
    points = []
    for x, y in collection.get_offsets():
        points.append([_value(axes, axes.xaxis, x, x_scale), _value(axes, axes.yaxis, y, y_scale)])
    return {"label": _named(collection, "Scatter"), "points": points}


def _slice(wedge):
    label = str(wedge.get_label())
    return {
        "label": "" if label.startswith("_") else label,
        "angle": _degrees(abs(float(wedge.theta2) - float(wedge.theta1))),
        "radius": plain(wedge.r),
    }


def _degrees(angle):
    """matplotlib adds up the parts of a pie in single precision: 324 degrees are 323.99997 there."""
    for digits in range(4):
        if abs(angle - round(angle, digits)) < 1e-4:
            return round(angle, digits)
    return round(angle, 4)


def _is_flat(container):
    return getattr(container, "orientation", None) == "horizontal"


def _bars(container, name, flat):
    group = _named(container, "Group")
    for bar in container.patches:
        begin, size = (bar.get_y(), bar.get_height()) if flat else (bar.get_x(), bar.get_width())
        value = bar.get_width() if flat else bar.get_height()
        yield {"label": name(begin + size / 2), "group": group, "value": plain(value)}


class _Names:
    """What is written under a place of an axis; without anything written there, the place."""

    def __init__(self, axes, axis):
        ticker = sys.modules["matplotlib.ticker"]
        self._axes, self._axis, self._scale = axes, axis, _scale(axis)
        self._written = []
        if self._scale == "categorical" or isinstance(axis.get_major_formatter(), (ticker.FixedFormatter, ticker.FuncFormatter)):
            texts = [one.get_text() for one in axis.get_majorticklabels()]
            self._written = [(place, text) for place, text in zip(axis.get_majorticklocs(), texts) if text]

    def __call__(self, place):
        if self._written:
            nearest, text = min(self._written, key=lambda one: abs(one[0] - place))
            if abs(nearest - place) <= 0.5:
                return text
        value = _value(self._axes, self._axis, place, self._scale)
        if isinstance(value, float):
            value = "%.10g" % value
        return "" if value is None else str(value)


def _boxes(axes, lines):
    """The boxes with whiskers, and whether they stand. Found by their shape: nothing else says so."""
    patches = sys.modules["matplotlib.patches"]
    outlines = [one.get_path().vertices for one in axes.patches if isinstance(one, patches.PathPatch)]
    shapes = [line.get_xydata() for line in lines]
    outlines += [one for one in shapes if len(one) in (5, 11) and _same(one[0][0], one[-1][0]) and _same(one[0][1], one[-1][1])]
    strokes = [one for one in shapes if len(one) == 2]
    marks = [line.get_xydata() for line in lines if _has_only_marks(line)]
    if not outlines or not strokes:
        return [], True
    for place, value, axis in ((0, 1, axes.xaxis), (1, 0, axes.yaxis)):
        name = _Names(axes, axis)
        found = [_box(one, strokes, marks, place, value, name) for one in outlines]
        if all(one is not None for one in found):
            return found, place == 0
    return [], True


def _box(outline, strokes, marks, place, value, name):
    left, right = min(outline[:, place]), max(outline[:, place])
    low, high = min(outline[:, value]), max(outline[:, value])
    if len(outline) >= 11:  # notches may reach beyond the quartiles
        low, high = outline[0][value], outline[5][value]
    centre = (left + right) / 2
    ends = []
    medians = []
    for one in strokes:
        (a, b), (c, d) = one[:, place], one[:, value]
        if _same(a, centre) and _same(b, centre) and (_same(c, low) or _same(c, high)):
            ends.append(d)
        elif _same(c, d) and low <= c <= high and _same((a + b) / 2, centre) and abs(b - a) <= (right - left) * 1.001:
            medians.append((_same(abs(b - a), right - left), c))
    if not ends or not medians:
        return None
    full = [at for is_full, at in medians if is_full]
    least, most = min(ends + [low]), max(ends + [high])
    outside = [
        plain(one[value]) for mark in marks for one in mark if _same(one[place], centre) and not least <= one[value] <= most
    ]
    return {
        "label": name(centre),
        "min": plain(least),
        "first_quartile": plain(low),
        "median": plain(full[0] if full else medians[-1][1]),
        "third_quartile": plain(high),
        "max": plain(most),
        "outliers": outside,
    }


def _same(a, b):
    return abs(a - b) <= 1e-9 * max(1.0, abs(a), abs(b))


def data_of(frame):
    """A table as column to list."""
    data = {}
    for index, name in enumerate(frame.columns):
        key = name = str(plain(name))
        more = 0
        while key in data:
            more += 1
            key = "%s.%d" % (name, more)
        data[key] = [plain(value) for value in frame.iloc[:, index].tolist()]
    return data
