"""What code for notebooks imports from IPython.display, for sandboxes without IPython.

Found after everything else: where there is a real one, that is it.
"""
import sys
from importlib.machinery import ModuleSpec

NAMES = ("IPython", "IPython.display", "IPython.core", "IPython.core.display")


def find(name):
    return ModuleSpec(name, Loader, is_package=name in ("IPython", "IPython.core")) if name in NAMES else None


class Loader:
    @staticmethod
    def create_module(spec):
        return None

    @staticmethod
    def exec_module(module):
        if module.__name__.endswith("display"):
            module.display = display
            for one in (clear_output, update_display, publish_display_data, DisplayHandle, *KINDS):
                setattr(module, one.__name__, one)
            for kind in (HTML, Markdown, Latex, SVG, Javascript, JSON):
                setattr(module, "display_" + kind.__name__.lower(), display_as(kind))
        elif module.__name__ == "IPython":
            # Libraries ask whether they are inside it, and are not.
            module.version_info = (0, 0, 0)
            module.__version__ = "0.0.0"
            module.get_ipython = lambda: None
            module.display = __import__("IPython.display").display


display = sys.modules["_glovebox_cells"]._display


class DisplayHandle:
    def __init__(self, display_id):
        self.display_id = display_id if isinstance(display_id, str) else "%x" % id(self)

    def display(self, value, **more):
        display(value, **more)

    update = display


def update_display(value, *, display_id=None, **more):
    """What was shown has been sent: it is shown again."""
    display(value, **more)


def publish_display_data(data, metadata=None, **_):
    display(data, raw=True)


def display_as(kind):
    """display_html() and the like."""

    def show(*values, raw=False, **_):
        for value in values:
            display({kind.mime: value} if raw else kind(value) if isinstance(value, str) else value, raw=raw)

    return show


def clear_output(wait=False):
    """What was printed has been sent."""


class DisplayObject:
    mime = ""

    def __init__(self, data=None, url=None, filename=None, **_):
        if isinstance(data, str) and filename is None and url is None and self.mime.startswith("image/") and not data.lstrip().startswith("<"):
            data, filename = None, data  # as a path
        if filename is not None:
            with open(filename, "rb") as file:
                data = file.read()
            if not self.mime.startswith("image/") or self.mime.endswith("xml"):
                data = data.decode("utf-8")
        self.data, self.url, self.filename = data, url, filename

    def _repr_mimebundle_(self, include=None, exclude=None):
        return {self.mime: self.data} if self.data is not None else {}


class HTML(DisplayObject):
    mime = "text/html"


class Markdown(DisplayObject):
    mime = "text/markdown"


class Latex(DisplayObject):
    mime = "text/latex"


class Math(Latex):
    def _repr_mimebundle_(self, include=None, exclude=None):
        return {self.mime: "$\\displaystyle %s$" % str(self.data).strip("$")}


class SVG(DisplayObject):
    mime = "image/svg+xml"


class Javascript(DisplayObject):
    mime = "application/javascript"


class JSON(DisplayObject):
    mime = "application/json"


class Image(DisplayObject):
    mime = "image/png"

    def _repr_mimebundle_(self, include=None, exclude=None):
        if self.data is None:
            return {"text/html": '<img src="%s"/>' % self.url} if self.url else {}
        is_jpeg = self.data[:2] == b"\xff\xd8"
        return {"image/jpeg" if is_jpeg else self.mime: self.data}


KINDS = (DisplayObject, HTML, Markdown, Latex, Math, SVG, Javascript, JSON, Image)
