"""Images of PIL that the code of a notebook shows or saves are results.

Where PIL is imported already it is adapted at once, else when it is imported, by a finder that then is gone.
"""
import os
import sys

PIL_IMAGE = "PIL.Image"
# `load` and `Mode` are given by runner.load(), which loads this.


def install():
    if PIL_IMAGE in sys.modules:
        _adapt(sys.modules[PIL_IMAGE])
    else:
        sys.meta_path.insert(0, load("figures").AfterImport(PIL_IMAGE, _adapt))


def _send(image):
    if Mode.rich:
        sys.modules["_glovebox_cells"]._display(image)


def _adapt(module):
    real_save, real_show = module.Image.save, module.Image.show

    def show(self, *args, **kwargs):
        if not Mode.rich:
            return real_show(self, *args, **kwargs)
        _send(self)  # there is no screen

    def save(self, fp, *args, **kwargs):
        real_save(self, fp, *args, **kwargs)
        # Figures, which matplotlib saves this way, are shown by themselves.
        caller = sys._getframe(1).f_globals.get("__name__", "")
        if isinstance(fp, (str, os.PathLike)) and not str(caller).startswith(("matplotlib", "PIL")):
            _send(self)

    for new, real in ((show, real_show), (save, real_save)):
        new.__doc__, new.__module__, new.__qualname__ = real.__doc__, real.__module__, real.__qualname__
    module.Image.show, module.Image.save = show, save
