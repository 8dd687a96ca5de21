"""Runs untrusted code in a fresh, isolated sandbox.

>>> import glovebox
>>> glovebox.run("print('hello')").stdout
'hello\\n'

If no server is configured and none runs on this machine, the package starts a private server, which ends with
this process.
:mod:`glovebox.aio` has the same names for asyncio.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .errors import (
    ApiError,
    AuthError,
    ConflictError,
    ConnectionFailed,
    DependencyError,
    ExecutionError,
    ForbiddenError,
    GloveboxError,
    InvalidRequestError,
    LimitError,
    NotFoundError,
    ProtocolError,
    ServerStartError,
    TimeoutExpired,
    UnavailableError,
)
from .models.network_usage import NetworkDecision, NetworkFigures, NetworkRefusal
from .models.records import (
    AskedDependencies,
    ContextInfo,
    FileEvent,
    FileInfo,
    Key,
    Layer,
    LayerCheck,
    LayerPackage,
    LogEntry,
    ProcessInfo,
    ProjectEvent,
    PrunedLayers,
    RunRecord,
    SandboxInfo,
    SandboxMetrics,
    Snapshot,
    Template,
)
from .models.results import (
    CodeResult,
    ExecResult,
    InvokeResult,
    Isolation,
    Mime,
    OutputFile,
    PreparedSet,
    RunFailure,
    RunMetrics,
    RunResult,
)
from .profile.dependencies import BuildProgress, Dependencies
from .server.private_server import stop_private_server
from .sync.client import Client, default_client
from .sync.process import Process, ProcessEvent
from .sync.run_code import run
from .sync.sandbox import Sandbox

if TYPE_CHECKING:
    from . import aio
    from .aio import Client as AsyncClient
    from .aio import Sandbox as AsyncSandbox
    from .functions.decorator import SandboxedFunction, sandboxed
    from .remote_errors import FunctionRefused, RemoteError, RemoteKilled, RemoteOutOfMemory, RemoteTimeout
    from .values.codec import ResultRefused, ValueRefused

__version__ = "0.1.0"

__all__ = [
    "ApiError",
    "AskedDependencies",
    "AsyncClient",
    "AsyncSandbox",
    "AuthError",
    "BuildProgress",
    "Client",
    "CodeResult",
    "ConflictError",
    "ConnectionFailed",
    "ContextInfo",
    "Dependencies",
    "DependencyError",
    "ExecResult",
    "ExecutionError",
    "FileEvent",
    "FileInfo",
    "ForbiddenError",
    "FunctionRefused",
    "GloveboxError",
    "InvalidRequestError",
    "InvokeResult",
    "Isolation",
    "Key",
    "Layer",
    "LayerCheck",
    "LayerPackage",
    "LimitError",
    "LogEntry",
    "Mime",
    "NetworkDecision",
    "NetworkFigures",
    "NetworkRefusal",
    "NotFoundError",
    "OutputFile",
    "PreparedSet",
    "Process",
    "ProcessEvent",
    "ProcessInfo",
    "ProjectEvent",
    "ProtocolError",
    "PrunedLayers",
    "RemoteError",
    "RemoteKilled",
    "RemoteOutOfMemory",
    "RemoteTimeout",
    "ResultRefused",
    "RunFailure",
    "RunMetrics",
    "RunRecord",
    "RunResult",
    "Sandbox",
    "SandboxInfo",
    "SandboxMetrics",
    "SandboxedFunction",
    "ServerStartError",
    "Snapshot",
    "Template",
    "TimeoutExpired",
    "UnavailableError",
    "ValueRefused",
    "aio",
    "default_client",
    "run",
    "sandboxed",
    "stop_private_server",
]

# Imported on first use: asyncio alone takes longer to import than everything else.
_LATER = {
    "AsyncClient": ("aio", "Client"),
    "AsyncSandbox": ("aio", "Sandbox"),
    "aio": ("aio", ""),
    "SandboxedFunction": ("functions", "SandboxedFunction"),
    "sandboxed": ("functions", "sandboxed"),
    "FunctionRefused": ("remote_errors", "FunctionRefused"),
    "RemoteError": ("remote_errors", "RemoteError"),
    "RemoteKilled": ("remote_errors", "RemoteKilled"),
    "RemoteOutOfMemory": ("remote_errors", "RemoteOutOfMemory"),
    "RemoteTimeout": ("remote_errors", "RemoteTimeout"),
    "ResultRefused": ("values", "ResultRefused"),
    "ValueRefused": ("values", "ValueRefused"),
}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    module, attribute = _LATER[name]
    found = import_module(f"{__name__}.{module}")
    value = getattr(found, attribute) if attribute else found
    globals()[name] = value
    return value
