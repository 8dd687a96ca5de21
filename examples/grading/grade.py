"""Grades code that students sent in. See README.md beside this file for why it is built this way.

    PYTHONPATH=sdk/python python3 examples/grading/grade.py [--json] [SUBMISSIONS [TESTS]]
"""
import argparse
import json
import os
import string
from concurrent.futures import ThreadPoolExecutor

import glovebox

HERE = os.path.dirname(os.path.abspath(__file__))
# What runs in the sandbox, beside submission.py. The last line's value is what comes back.
CALL = """
import json, sys
question = json.load(sys.stdin)
import submission
getattr(submission, question["function"])(*question["args"])
"""
# CPU time for the work; the clock only for those who sleep. No weaker walls than these.
LIMITS = {"cpu_ms": 1000, "timeout": 15, "memory_mb": 64, "disk_mb": 16, "pids": 16, "output_kb": 64,
          "min_grade": "jail-partial"}


def ask(source, function, case):
    """One case, in a sandbox of its own: (verdict, the answer or what went wrong)."""
    question = json.dumps({"function": function, "args": case["args"]})  # never what is expected
    result = glovebox.run(CALL, language="python", files={"submission.py": source}, stdin=question, **LIMITS)
    if result.oom_killed:
        return "memory", None
    if result.timed_out:
        return "slow", None
    if result.error is not None:
        return "error", plain(result.error.name or result.error.code)
    if result.result is None or "application/json" not in result.result:
        return "none", None  # it left without an answer, or its answer is not data
    answer = result.result["application/json"]
    return ("right" if same(answer, case["expect"]) else "wrong"), answer


def same(answer, expected):
    """By our rules: a number is a number, True is none, lists go item by item."""
    if isinstance(expected, bool) or isinstance(answer, bool):
        return answer is expected
    if isinstance(expected, (int, float)):
        slack = 1e-9 * max(1, abs(expected))
        return isinstance(answer, (int, float)) and expected - slack <= answer <= expected + slack
    if isinstance(expected, list):
        return isinstance(answer, list) and len(answer) == len(expected) and all(map(same, answer, expected))
    return type(answer) is type(expected) and answer == expected


def plain(text):
    """Untrusted text, made safe for a terminal and a table."""
    return "".join(char for char in text[:40] if char in string.ascii_letters + string.digits + "_.")


def grade(path, tests, pool):
    with open(path, encoding="utf-8", errors="replace") as file:
        source = file.read()
    cases = tests["cases"]
    outcomes = list(pool.map(lambda case: ask(source, tests["function"], case), cases))
    return {
        "name": os.path.splitext(os.path.basename(path))[0],
        "points": sum(case["points"] for case, (verdict, _) in zip(cases, outcomes) if verdict == "right"),
        # An answer to a hidden case would tell its author what was asked.
        "cases": [{"name": case["name"], "verdict": verdict, **({} if case.get("hidden") else {"answer": answer})}
                  for case, (verdict, answer) in zip(cases, outcomes)],
    }


def show(grades, tests):
    count = sum(not case.get("hidden") for case in tests["cases"])
    print(f"{'':10} points   {'public':{7 * count}}  hidden")
    for one in grades:
        verdicts = [f"{case['verdict']:7}" for case in one["cases"]]
        print(f"{one['name']:10} {one['points']:6}   {''.join(verdicts[:count])}  {''.join(verdicts[count:])}".rstrip())


def main():
    words = argparse.ArgumentParser(description="Grades what students sent in.")
    words.add_argument("--json", action="store_true", help="print JSON instead of a table")
    words.add_argument("submissions", nargs="?", default=os.path.join(HERE, "submissions"), help="a directory")
    words.add_argument("tests", nargs="?", default=os.path.join(HERE, "tests.json"))
    chosen = words.parse_args()
    with open(chosen.tests) as file:
        tests = json.load(file)
    paths = sorted(entry.path for entry in os.scandir(chosen.submissions) if entry.name.endswith(".py"))
    with ThreadPoolExecutor(4) as pool:
        grades = [grade(path, tests, pool) for path in paths]
    if chosen.json:
        print(json.dumps(grades, indent=1))
    else:
        show(grades, tests)


if __name__ == "__main__":
    main()
