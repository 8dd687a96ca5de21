"""Arguments and results of ``@sandboxed`` functions as data; see :mod:`glovebox.values.codec`."""

from .codec import ResultRefused, ValueRefused, decode, encode

__all__ = ["ResultRefused", "ValueRefused", "decode", "encode"]
