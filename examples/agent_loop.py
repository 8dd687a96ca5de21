"""A data-analysis agent: a loop around a model and a sandbox. The model here is a script.

    PYTHONPATH=sdk/python python3 examples/agent_loop.py [DIRECTORY]    # from the repository
    python3 agent_loop.py [DIRECTORY]                                   # with the package `glovebox` installed

The loop is what you would keep: ask the model, run its code in a live context of a session, show it
what came of that, until it has an answer. ScriptedModel is what you would replace by a real one. It
decides by what it reads, as a real one does: it guesses a column that is not there, reads the
exception, looks at the table, mends its code, meets a price that is no number, mends that, and draws.

The figure is saved in DIRECTORY (the current one, if none is named). pandas and matplotlib must be
installed on the server's machine.
"""
import os
import re
import sys

from glovebox import Sandbox

QUESTION = "Which region earned most, and in which month was it best? Draw it."
REGIONS = (("north", 40, 3, "9.50"), ("south", 20, 11, "11.00"), ("east", 70, -4, "8.00"))
DATA = "month,region,units,price\n" + "".join(
    f"2026-{month:02},{region},{units + growth * month},{'unknown' if (month, region) == (5, 'south') else price}\n"
    for month in range(1, 7) for region, units, growth, price in REGIONS)

MOST_STEPS = 10
MOST_SHOWN = 2000  # characters of an observation: a model's window is not endless


class ScriptedModel:
    """Stands for a model: it gets the last observation, and says what it thinks and which code to run."""

    facts = ""

    def next_step(self, seen):
        if seen is None:
            return "There is a table; its column should be called 'revenue'.", (
                "import pandas as pd\n"
                "table = pd.read_csv('sales.csv')\n"
                "table.groupby('region')['revenue'].sum()")
        if "KeyError" in seen:
            return "No such column. What is in the table?", "print(*table.columns)\ntable.head(3)"
        if "units price" in seen:
            return "Units and prices: I multiply them.", (
                "table['earned'] = table['units'] * table['price'].astype(float)\n"
                "table['earned'].sum()")
        if "ValueError" in seen and "unknown" in seen:
            return "A price is unknown. I leave that row out, and say so.", (
                "table['price'] = pd.to_numeric(table['price'], errors='coerce')\n"
                "table['earned'] = table['units'] * table['price']\n"
                "regions = table.groupby('region')['earned'].sum()\n"
                "first = regions.idxmax()\n"
                "months = table[table['region'] == first].set_index('month')['earned']\n"
                "print('rows without a price:', table['price'].isna().sum())\n"
                "print('first:', first, 'best month:', months.idxmax())\n"
                "regions")
        if "best month:" in seen:
            self.facts = seen
            return "Now the figure.", (
                "import matplotlib.pyplot as plt\n"
                "table.pivot(index='month', columns='region', values='earned').plot(marker='o')\n"
                "plt.title('Earned per month')\n"
                "plt.show()")
        if "image/png" in seen:
            first, month = re.search(r"first: (\w+) best month: (\S+)", self.facts).groups()
            missing = re.search(r"rows without a price: (\d+)", self.facts).group(1)
            return f"{first} earned most, and best in {month}; rows left out, for want of a price: {missing}.", None
        return f"I do not understand this, and give up: {seen[:200]}", None


def observation(result):
    """What the model gets to see of a result: text, and that there was a figure."""
    parts = [result.stdout, result.text]
    if result.error is None:
        parts.append(result.stderr)
    else:  # an exception, or a limit, which has no line; the whole traceback would be in stderr
        line = f" in line {result.error.line}" if result.error.line else ""
        parts.append(f"[failed{line}] {result.error}")
    parts += [f"[image/png, {len(png):,} bytes]" for png in result.figures]
    text = "\n".join(part.strip("\n") for part in parts if part.strip()) or "[nothing was printed]"
    # Output of a sandbox is untrusted: escape it, so that it cannot control the terminal.
    text = "".join(char if char.isprintable() or char == "\n" else "?" for char in text)
    return text if len(text) <= MOST_SHOWN else text[: MOST_SHOWN // 2] + "\n[...]\n" + text[-MOST_SHOWN // 2 :]


def indented(text):
    return "    " + text.replace("\n", "\n    ")


def main():
    where = sys.argv[1] if len(sys.argv) > 1 else "."
    model, seen, figures = ScriptedModel(), None, []
    print(f"question: {QUESTION}")
    # The session ends with the block, whatever happens in it; and by itself after ten minutes.
    with Sandbox.create(template="python-data", ttl=600) as sandbox:
        sandbox.files.write("sales.csv", DATA)
        context = sandbox.contexts.create(language="python")  # variables stay from step to step
        for step in range(1, MOST_STEPS + 1):
            thought, code = model.next_step(seen)
            print(f"\n{step}. {thought}")
            if code is None:
                break
            result = sandbox.code(code, context=context, timeout=60)
            seen = observation(result)
            figures += result.figures
            print(indented(code) + "\n  gives\n" + indented(seen))
        else:
            sys.exit("the model found no answer")
    if figures:
        path = os.path.join(where, "agent_loop.png")
        with open(path, "wb") as file:
            file.write(figures[-1])
        print(f"\nfigure: {path}")


if __name__ == "__main__":
    main()
