# With a key and a domain alone: every plane of the clients over HTTPS, by the names that they build.
import os
import ssl
import unittest
import urllib.request

import e2b
import e2b_code_interpreter
from support import AsyncCases, Cases

DOMAIN = os.environ["E2B_DOMAIN"]


def fetch(url):
    context = ssl.create_default_context(cafile=os.environ["SSL_CERT_FILE"])
    with urllib.request.urlopen(url, context=context, timeout=30) as answer:
        return answer.read()


class DomainCases(Cases):
    def test_it_is_all_that_the_client_is_told(self):
        told = sorted(name for name in os.environ if name.startswith("E2B"))
        self.assertEqual(told, ["E2B_API_KEY", "E2B_DOMAIN"])

    def test_commands_and_files(self):
        sandbox = self.fresh()
        said = []
        self.assertEqual(sandbox.commands.run("echo one; echo two", on_stdout=said.append).exit_code, 0)
        self.assertEqual("".join(said), "one\ntwo\n")
        big = os.urandom(3_000_000)
        sandbox.files.write("big", big)
        self.assertEqual(bytes(sandbox.files.read("big", format="bytes")), big)
        self.assertEqual(fetch(sandbox.download_url("big")), big)

    def test_code(self):
        sandbox = self.fresh("code-interpreter-v1", kind=e2b_code_interpreter.Sandbox)
        self.assertEqual(sandbox.run_code("6 * 7").text, "42")

    def test_a_service(self):
        sandbox = self.fresh()
        sandbox.files.write("index.html", "page")
        sandbox.commands.run("python3 -m http.server 3000 --bind 127.0.0.1", background=True, timeout=0)
        sandbox.commands.run("until bash -c '< /dev/tcp/127.0.0.1/3000' 2> /dev/null; do sleep 0.05; done", timeout=20)
        self.assertEqual(sandbox.get_host(3000), f"3000-{sandbox.sandbox_id}.{DOMAIN}")
        self.assertEqual(fetch(f"https://{sandbox.get_host(3000)}/"), b"page")

    def test_the_end_of_a_sandbox(self):
        sandbox = self.fresh()
        self.assertTrue(sandbox.is_running())
        self.assertTrue(sandbox.kill())
        self.assertFalse(sandbox.is_running())
        with self.assertRaises(e2b.NotFoundException):
            e2b.Sandbox.connect(sandbox.sandbox_id)


class AsyncDomainCases(AsyncCases):
    async def test_commands(self):
        sandbox = await self.fresh()
        self.assertEqual((await sandbox.commands.run("echo async")).stdout, "async\n")


if __name__ == "__main__":
    unittest.main()
