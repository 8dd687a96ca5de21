"""glovebox and glovebox.aio have the same names with the same arguments."""

from __future__ import annotations

import inspect
from typing import Any, Tuple

import pytest

import glovebox
from glovebox import aio
from glovebox.aio import contexts as aio_contexts
from glovebox.aio import files as aio_files
from glovebox.aio import lambda_functions as aio_lambda_functions
from glovebox.aio import layers as aio_layers
from glovebox.aio import process as aio_process
from glovebox.aio import project as aio_project
from glovebox.sync import contexts, files, lambda_functions, layers, process, project

PAIRS: "list[Tuple[Any, Any]]" = [
    (glovebox.Client, aio.Client),
    (glovebox.Sandbox, aio.Sandbox),
    (files.Files, aio_files.Files),
    (contexts.Contexts, aio_contexts.Contexts),
    (lambda_functions.Functions, aio_lambda_functions.Functions),
    (layers.Layers, aio_layers.Layers),
    (process.Process, aio_process.Process),
    *((getattr(project, name), getattr(aio_project, name)) for name in project.__all__),
]


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair[0].__name__)
def test_classes_have_the_same_members(pair: "Tuple[Any, Any]") -> None:
    mine, theirs = ({name for name in dir(kind) if not name.startswith("_")} for kind in pair)
    assert mine == theirs


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair[0].__name__)
def test_methods_have_the_same_arguments(pair: "Tuple[Any, Any]") -> None:
    for name in dir(pair[0]):
        member = getattr(pair[0], name)
        if name.startswith("_") or not callable(member):
            continue
        mine, theirs = (list(inspect.signature(getattr(kind, name)).parameters) for kind in pair)
        assert mine == theirs, name


def test_run_has_the_same_arguments_everywhere() -> None:
    wanted = list(inspect.signature(glovebox.run).parameters)
    assert list(inspect.signature(aio.run).parameters) == wanted
    assert ["self", *wanted] == [*inspect.signature(glovebox.Client.run).parameters, "client"]


def test_the_aliases_at_the_top() -> None:
    assert (glovebox.AsyncClient, glovebox.AsyncSandbox, glovebox.aio) == (aio.Client, aio.Sandbox, aio)
    for name in glovebox.__all__:
        assert hasattr(glovebox, name)
    with pytest.raises(AttributeError):
        glovebox.no_such_name  # noqa: B018
