# What the Python cases have in common: sandboxes that end with their case.
import os
import unittest

import e2b
import e2b_code_interpreter
from e2b import AsyncSandbox, Sandbox

URL = os.environ["GBX_URL"]
NOBODY = "sb" + "0" * 20
# A command that says that it has begun, and ends with the line that it is then given.
WAITS = "mkfifo go; echo begun; read word < go; echo ended $word"


def at_least(version):
    """Whether the installed client is of this version or newer."""
    from importlib.metadata import version as installed
    numbers = [int(number) for number in installed("e2b").split(".")]
    return numbers >= [int(number) for number in version.split(".")]


class Cases(unittest.TestCase):
    maxDiff = None

    def fresh(self, template="base", kind=Sandbox, **more):
        made = kind.create(template, timeout=more.pop("timeout", 120), **more)
        self.addCleanup(made.kill)
        return made


class AsyncCases(unittest.IsolatedAsyncioTestCase):
    maxDiff = None

    async def fresh(self, template="base", kind=AsyncSandbox, **more):
        made = await kind.create(template, timeout=more.pop("timeout", 120), **more)

        async def end():  # kill itself does not look like a coroutine function
            await made.kill()

        self.addAsyncCleanup(end)
        return made
