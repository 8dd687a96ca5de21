# The asynchronous Python client, above all what differs: callbacks, streams, many at once.
import asyncio
import os
import unittest

import e2b
from e2b import AsyncSandbox
from support import WAITS, AsyncCases


class Seen:
    """What a callback was given; until() is there as soon as something holds."""

    def __init__(self):
        self.items, self.changed = [], asyncio.Condition()

    async def __call__(self, item):
        async with self.changed:
            self.items.append(item)
            self.changed.notify_all()

    async def until(self, holds):
        async with asyncio.timeout(30), self.changed:
            await self.changed.wait_for(lambda: holds(self.items))

    def joined(self):
        return type(self.items[0])().join(self.items) if self.items else ""


class Commands(AsyncCases):
    async def test_output_and_exit_code(self):
        sandbox = await self.fresh()
        result = await sandbox.commands.run("echo out; echo err >&2")
        self.assertEqual((result.exit_code, result.stdout, result.stderr), (0, "out\n", "err\n"))
        with self.assertRaises(e2b.CommandExitException):
            await sandbox.commands.run("exit 3")

    async def test_output_while_it_runs(self):
        sandbox = await self.fresh()
        out = Seen()
        command = await sandbox.commands.run(WAITS, background=True, on_stdout=out)
        await out.until(lambda items: "begun\n" in "".join(items))
        await sandbox.commands.run("echo now > go")
        result = await command.wait()
        self.assertEqual(result.stdout, "begun\nended now\n")
        self.assertEqual(out.joined(), result.stdout)

    async def test_input(self):
        sandbox = await self.fresh()
        command = await sandbox.commands.run("cat", background=True, stdin=True)
        await sandbox.commands.send_stdin(command.pid, "typed")
        await sandbox.commands.close_stdin(command.pid)
        self.assertEqual((await command.wait()).stdout, "typed")

    async def test_many_at_once(self):
        sandbox = await self.fresh()
        results = await asyncio.gather(*(sandbox.commands.run(f"echo {n}") for n in range(12)))
        self.assertEqual([result.stdout for result in results], [f"{n}\n" for n in range(12)])

    async def test_several_listeners(self):
        sandbox = await self.fresh()
        out = Seen()
        command = await sandbox.commands.run(WAITS, background=True, on_stdout=out)
        await out.until(lambda items: items)
        others = [await sandbox.commands.connect(command.pid) for _ in range(2)]
        await sandbox.commands.run("echo all > go")
        for other in others:
            self.assertEqual((await other.wait()).stdout, "ended all\n")
        await command.wait()

    async def test_time(self):
        sandbox = await self.fresh()
        with self.assertRaises(e2b.TimeoutException):
            await sandbox.commands.run("sleep 300", timeout=0.7)

    async def test_a_sandbox_that_is_killed_under_a_command(self):
        sandbox = await self.fresh()
        out = Seen()
        command = await sandbox.commands.run("echo begun; sleep 300", background=True, timeout=0, on_stdout=out)
        await out.until(lambda items: items)
        await sandbox.kill()
        with self.assertRaises(e2b.TimeoutException):
            await command.wait()

    async def test_a_terminal(self):
        sandbox = await self.fresh()
        screen = Seen()
        terminal = await sandbox.pty.create(e2b.PtySize(rows=20, cols=70), on_data=screen, timeout=0)
        await sandbox.pty.send_stdin(terminal.pid, b"stty size\n")
        await screen.until(lambda items: b"20 70" in b"".join(items))
        await sandbox.pty.resize(terminal.pid, e2b.PtySize(rows=21, cols=71))
        await sandbox.pty.send_stdin(terminal.pid, b"stty size; exit\n")
        await terminal.wait()
        self.assertIn(b"21 71", screen.joined())


class Files(AsyncCases):
    async def test_reading_and_writing(self):
        sandbox = await self.fresh()
        data = os.urandom(700_000)
        await sandbox.files.write("f", data)
        self.assertEqual(bytes(await sandbox.files.read("f", format="bytes")), data)
        pieces = [piece async for piece in await sandbox.files.read("f", format="stream")]
        self.assertEqual(b"".join(pieces), data)
        with self.assertRaises(e2b.NotFoundException):
            await sandbox.files.read("g")

    async def test_several_at_once(self):
        sandbox = await self.fresh()
        files = [{"path": f"d/{n}", "data": str(n)} for n in range(5)]
        await sandbox.files.write_files(files, use_octet_stream=True)
        self.assertEqual([entry.name for entry in await sandbox.files.list("d")], list("01234"))

    async def test_watching(self):
        sandbox = await self.fresh()
        await sandbox.files.make_dir("d")
        events, ended = Seen(), Seen()
        watch = await sandbox.files.watch_dir("d", on_event=events, on_exit=ended, recursive=True)
        await sandbox.files.write("d/sub/f", "x")
        await events.until(lambda items: any(event.name == "sub" and event.type.value == "create" for event in items))
        await sandbox.files.rename("d/sub", "d/other")
        await events.until(lambda items: any(event.name == "other" for event in items))
        await watch.stop()

    async def test_a_watch_that_ends_with_its_sandbox(self):
        sandbox = await self.fresh()
        ended = Seen()
        await sandbox.files.watch_dir("/home/user", on_event=Seen(), on_exit=ended, timeout=0)
        await sandbox.kill()
        await ended.until(lambda items: items)
        self.assertIsInstance(ended.items[0], e2b.TimeoutException)


class Life(AsyncCases):
    async def test_a_life(self):
        sandbox = await self.fresh(metadata={"a": "b"})
        self.assertEqual((await sandbox.get_info()).metadata, {"a": "b"})
        await sandbox.pause()
        self.assertFalse(await sandbox.is_running())
        same = await AsyncSandbox.connect(sandbox.sandbox_id)
        self.assertTrue(await same.is_running())
        self.assertTrue(await sandbox.kill())
        self.assertFalse(await AsyncSandbox.kill(sandbox.sandbox_id))

    async def test_lists(self):
        metadata = {"only": f"{os.getpid()} async"}
        made = [await self.fresh(metadata=metadata) for _ in range(2)]
        pages = AsyncSandbox.list(query=e2b.SandboxQuery(metadata=metadata), limit=1)
        found = []
        while pages.has_next:
            found += [info.sandbox_id for info in await pages.next_items()]
        self.assertEqual(found, [sandbox.sandbox_id for sandbox in reversed(made)])

    async def test_many_sandboxes_at_once(self):
        made = await asyncio.gather(*(self.fresh() for _ in range(5)))
        said = await asyncio.gather(*(sandbox.commands.run("echo $E2B_SANDBOX_ID") for sandbox in made))
        self.assertEqual([one.stdout.strip() for one in said], [sandbox.sandbox_id for sandbox in made])


if __name__ == "__main__":
    unittest.main()
