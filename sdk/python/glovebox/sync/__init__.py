"""The blocking client; :mod:`glovebox` has its names.

Generated from :mod:`glovebox.aio` by ``tools/generate_sync.py``, except for this file, ``_runtime``,
``_connection``, ``_process_connection`` and ``_cancellable``.
"""
