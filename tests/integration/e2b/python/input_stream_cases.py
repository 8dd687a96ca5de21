# Input that is streamed to a process: what only the newest clients do.
import asyncio
import unittest

import e2b
from async_cases import Seen
from support import AsyncCases, Cases


class InputStreams(Cases):
    def test_to_a_command(self):
        sandbox = self.fresh()
        command = sandbox.commands.run("cat", background=True, stdin=True)
        sandbox.commands.stream_input(command.pid, ["one\n", b"two\n", "", "ä"])
        sandbox.commands.close_stdin(command.pid)
        self.assertEqual(command.wait().stdout, "one\ntwo\nä")

    def test_a_lot(self):
        sandbox = self.fresh()
        command = sandbox.commands.run("wc -c", background=True, stdin=True)
        sandbox.commands.stream_input(command.pid, (b"x" * 10_000 for _ in range(200)))
        sandbox.commands.close_stdin(command.pid)
        self.assertEqual(command.wait().stdout.strip(), "2000000")

    def test_to_a_terminal(self):
        sandbox = self.fresh()
        terminal = sandbox.pty.create(e2b.PtySize(rows=24, cols=80), timeout=0)
        sandbox.pty.stream_input(terminal.pid, [b"echo $((4", b"0 + 2)) typed\n", b"exit\n"])
        self.assertIn(b"42 typed", b"".join(data for _, _, data in terminal if data))

    def test_to_no_process(self):
        with self.assertRaises(e2b.NotFoundException):
            self.fresh().commands.stream_input(999_999, ["x"])


class AsyncInputStreams(AsyncCases):
    async def test_as_it_is_typed(self):
        sandbox = await self.fresh()
        out = Seen()
        command = await sandbox.commands.run("while read line; do echo got $line; done", background=True, stdin=True,
                                             on_stdout=out)
        async with sandbox.commands.stream_input(command.pid) as typed:
            for word in ("one", "two", "three"):
                await typed.send(word + "\n")
                await out.until(lambda items: f"got {word}\n" in "".join(items))
        await sandbox.commands.close_stdin(command.pid)
        await command.wait()

    async def test_to_no_process(self):
        sandbox = await self.fresh()
        typed = sandbox.commands.stream_input(999_999)
        with self.assertRaises(e2b.NotFoundException):
            await typed.close()


if __name__ == "__main__":
    unittest.main()
