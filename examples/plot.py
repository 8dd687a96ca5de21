"""A figure that is drawn in a sandbox, comes back as PNG, and is saved here.

    PYTHONPATH=sdk/python python3 examples/plot.py [FILE.png]    # from the repository
    python3 plot.py [FILE.png]                                   # with the package `glovebox` installed

The server is the one you have (GLOVEBOX_URL, or `glovebox serve` on this machine), else a private one
that ends with this program. matplotlib must be installed on the server's machine.
"""
import sys

import glovebox

CODE = """
import matplotlib.pyplot as plt
import numpy as np

x = np.linspace(0, 4 * np.pi, 400)
plt.figure(figsize=(7, 3))
plt.plot(x, np.sin(x), label="sin x")
plt.plot(x, np.sin(x) * np.exp(-x / 5), label="sin x, damped")
plt.legend()
plt.title("Drawn where nothing can be reached")
plt.show()
"""

result = glovebox.run(CODE, template="python-data", timeout=60)
result.raise_for_error()
path = sys.argv[1] if len(sys.argv) > 1 else "plot.png"
with open(path, "wb") as file:
    file.write(result.figures[0])
print(f"{path}: {len(result.figures[0]):,} bytes, drawn in {result.metrics.wall_ms:.0f} ms "
      f"behind walls of grade {result.isolation.grade}")
