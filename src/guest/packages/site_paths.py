"""Where a Python of a sandbox with packages finds modules. A .pth file of the layer runs this in every
interpreter while `site` is being imported, with `here`, the site directory of that file, and
`host_packages`.

The packages come before the site directories and after a user's own. Without host_packages, `site`
does not go on to the host's directories: a package of the layer never meets a module of the host
that was made for other versions of it. Directories below /usr/local stay: root's `pip install` and
an administrator's layers use them; what the host has there is not visible where the layer has a site
directory of its own (pip_install.py).
"""
import site
import sys

PACKAGES = "/opt/glovebox-packages/python"
INSTALLER = "/opt/glovebox-packages/installer"


def put_packages_first(here):
    before = len(sys.path)
    site.addsitedir(PACKAGES)
    at = sys.path.index(here) if here in sys.path else before
    sys.path[at:] = sys.path[before:] + sys.path[at:before]


def hide_host_packages():
    """`site` is in the middle of its list of directories, so what it calls for the rest is replaced."""
    list_all, add = site.getsitepackages, site.addsitedir
    hidden = frozenset(one for one in list_all() if not one.startswith("/usr/local/"))

    def getsitepackages(prefixes=None):
        return [one for one in list_all(prefixes) if one not in hidden]

    def addsitedir(sitedir, known_paths=None):
        # A program that names such a directory itself, without the set that site hands on, gets it.
        if known_paths is not None and sitedir in hidden:
            return known_paths
        return add(sitedir, known_paths)

    site.getsitepackages, site.addsitedir = getsitepackages, addsitedir
    sys.path.append(INSTALLER)


put_packages_first(here)  # noqa: F821
if not host_packages:  # noqa: F821
    hide_host_packages()
