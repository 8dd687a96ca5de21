# POST /v1/run/batch: one run done with many inputs; each is a run of its own.
import json
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
import sealed
import server

SQUARE = {"language": "python", "code": "import sys\nprint(int(sys.argv[1]) ** 2, sys.stdin.read())"}


def inputs(count):
    return [{"args": [str(number)], "stdin": f"in {number}"} for number in range(count)]


class Batches(server.Served):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.server.wait_warm("python")

    def batch(self, client=None, **request):
        answer = (client or self.client).call("POST", "/v1/run/batch", request)
        self.assertEqual(answer.status, 200, answer)
        self.assertEqual(answer.headers.get_content_type(), "application/x-ndjson")
        return [json.loads(line) for line in answer.body.splitlines()]

    def test_each_input_has_an_answer(self):
        for reuse in ("never", "sandbox", "interpreter"):
            with self.subTest(reuse):
                lines = self.batch(**SQUARE, inputs=inputs(60), parallel=6, profile={"reuse": reuse})
                self.assertEqual(sorted(line["index"] for line in lines), list(range(60)))
                self.assertEqual({line["status"] for line in lines}, {200})
                self.assertEqual(len({line["id"] for line in lines}), 60, "each is a run of its own")
                for line in lines:
                    self.assertEqual(line["stdout"], f"{line['index'] ** 2} in {line['index']}\n")
                reused = [line.get("reused") for line in lines]
                self.assertEqual(reuse == "never", set(reused) == {None})
        one = self.client.get(f"/v1/runs/{lines[7]['id']}")
        self.server.wait_written()
        self.assertEqual(self.client.get(f"/v1/runs/{lines[7]['id']}").status, 200, one)

    def test_errors_are_those_of_their_input(self):
        lines = self.batch(language="python", code="import sys\n1 / int(sys.argv[1])",
                           inputs=[{"args": [str(number)]} for number in (1, 0, 2)])
        by_place = {line["index"]: line for line in lines}
        self.assertEqual([by_place[place]["exit_code"] for place in range(3)], [0, 1, 0])
        self.assertEqual(by_place[1]["error"]["name"], "ZeroDivisionError")

    def test_a_limit_of_the_key_refuses_an_input_and_not_the_others(self):
        limited = self.server.client(self.server.new_key(limits={"runs_per_minute": 2})[0])
        lines = self.batch(client=limited, **SQUARE, inputs=inputs(4), parallel=1)
        self.assertEqual([line["status"] for line in lines], [200, 200, 429, 429])
        self.assertEqual(lines[2]["error"]["code"], "key_limit")

    def test_answers_come_as_runs_end(self):
        code = "import sys, time\ntime.sleep(float(sys.argv[1]))"
        began = time.monotonic()
        response = self.client.send("POST", "/v1/run/batch", {
            "language": "python", "code": code, "inputs": [{"args": ["4"]}, {"args": ["0"]}], "parallel": 2})
        first = json.loads(response.readline())
        self.assertEqual(first["index"], 1)
        self.assertLess(time.monotonic() - began, 3.5, "the second does not wait for the first")
        self.assertEqual(json.loads(response.readline())["index"], 0)
        self.client.close()

    def test_a_client_that_goes_ends_its_runs(self):
        client = server.Client(self.server.url, self.server.key)
        response = client.send("POST", "/v1/run/batch", {
            "language": "python", "code": "import sys, time\ntime.sleep(float(sys.argv[1]))",
            "inputs": [{"args": ["0"]}] + [{"args": ["25"]}] * 50, "parallel": 4})
        response.readline()
        response.close()
        client.close()
        active = lambda: server.metric(self.client.get("/metrics").text, "glovebox_runs_active")
        self.assertTrue(sealed.wait_until(lambda: active() == 0, 15), "the runs end with their client")

    def test_commands_and_scripts(self):
        lines = self.batch(command=["cat"], inputs=[{"stdin": "a"}, {"stdin": "b"}])
        self.assertEqual({line["stdout"] for line in lines}, {"a", "b"})
        lines = self.batch(language="shell", code='echo "$1"', inputs=[{"args": ["x"]}, {"args": ["y"]}])
        self.assertEqual({line["stdout"] for line in lines}, {"x\n", "y\n"})
        files = [{"path": "in.txt", "content": "shared"}]
        lines = self.batch(command=["cat", "in.txt"], files=files, inputs=[{}, {}])
        self.assertEqual([line["stdout"] for line in lines], ["shared", "shared"])

    def test_refusals(self):
        one = [{"args": ["1"]}]
        for body, word in (({**SQUARE}, "inputs"), ({**SQUARE, "inputs": []}, "inputs"),
                           ({**SQUARE, "inputs": [1]}, "inputs[0]"), ({**SQUARE, "inputs": [{"argv": []}]}, "inputs[0].argv"),
                           ({**SQUARE, "inputs": one, "args": ["2"]}, "args"), ({**SQUARE, "inputs": one, "stdin": ""}, "stdin"),
                           ({**SQUARE, "inputs": one, "parallel": 0}, "parallel"), ({**SQUARE, "inputs": one, "parallel": 65}, "parallel"),
                           ({"command": ["cat"], "inputs": one}, "inputs[0].args"),
                           ({**SQUARE, "inputs": [{"args": ["x" * 200_000]}]}, "inputs[0].args"),
                           ({**SQUARE, "inputs": [{}] * 10_001}, "inputs")):
            with self.subTest(word):
                answer = self.client.call("POST", "/v1/run/batch", body)
                self.assert_refused(answer, 400, "invalid_argument")
                self.assertIn(word, answer.json["error"]["message"])
        answer = self.client.call("POST", "/v1/run/batch", {**SQUARE, "inputs": one}, {"Idempotency-Key": "a"})
        self.assert_refused(answer, 400, "invalid_argument")


if __name__ == "__main__":
    sealed.main()
