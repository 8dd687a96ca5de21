"""What `glovebox` has inside of a sandbox: `sandboxed`, and stand-ins for the rest of the SDK.

A stand-in can be imported, named in an annotation and caught in an `except`; who uses it is told
that there is no server here.
"""

# Functions that were decorated, by module and name: what a call of one from outside runs, whatever
# other decorators stand above.
decorated = {}
_ERRORS = ("Error", "Failed", "Expired", "Refused", "Timeout", "OutOfMemory")


def fill(module):
    module.__doc__ = "Glovebox, from inside of a sandbox."
    module.sandboxed = sandboxed
    module.Dependencies = Dependencies
    module.__getattr__ = _Names(module.__name__)


def sandboxed(function=None, **options):
    """The function itself: it is in a sandbox already."""
    if function is None:
        return _with_ways
    return _with_ways(function)


class Dependencies:
    """What stands in a decorator: the packages are here already."""

    def __init__(self, *packages, **options):
        pass


def _with_ways(function):
    decorated[getattr(function, "__module__", None), getattr(function, "__qualname__", None)] = function
    try:
        _add_ways(function)
    except AttributeError:
        pass  # a builtin, which takes no attributes
    return function


def _add_ways(function):
    """.local, .map, .aio …, here and now."""

    def in_place(*iterables, **options):
        return map(function, *iterables)

    async def aio(*args, **kwargs):
        value = function(*args, **kwargs)
        return await value if hasattr(type(value), "__await__") else value

    async def amap(*iterables, **options):
        for arguments in zip(*iterables):
            yield await aio(*arguments)

    function.local = function
    function.map = in_place
    function.aio = aio
    function.amap = amap
    function.with_options = lambda **options: function


class _Names:
    """A module's __getattr__."""

    def __init__(self, module):
        self._module = module

    def __call__(self, name):
        if name.startswith("_"):
            raise AttributeError("module %r has no attribute %r" % (self._module, name))
        if name.endswith(_ERRORS):
            return type(name, (Exception,), {"__module__": "glovebox"})
        return _NotHere(name, (), {"__module__": "glovebox"})


class _NotHere(type):
    """A class of which nothing can be made."""

    def __call__(cls, *args, **kwargs):
        raise RuntimeError(cls._reason(cls.__name__))

    def __getattr__(cls, name):
        if name.startswith("_"):
            raise AttributeError(name)
        raise RuntimeError(cls._reason("%s.%s" % (cls.__name__, name)))

    def _reason(cls, name):
        own = cls.__dict__.get("_why")
        return own or "glovebox.%s cannot be used inside of a sandbox: there is no server here" % name
