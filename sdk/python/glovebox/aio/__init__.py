"""The same names as :mod:`glovebox`, for asyncio.

::

    import asyncio
    from glovebox.aio import Sandbox, run

    async def main():
        results = await asyncio.gather(*(run(f"{n} ** 2") for n in range(10)))
        async with await Sandbox.create() as sandbox:
            await sandbox.code("x = 1")

    asyncio.run(main())
"""

from ..requests.process_stream import ProcessEvent
from .client import Client, default_client
from .process import Process
from .run_code import run
from .sandbox import Sandbox

__all__ = ["Client", "Process", "ProcessEvent", "Sandbox", "default_client", "run"]
