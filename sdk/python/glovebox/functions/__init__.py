"""``@sandboxed``: functions of the caller's program that run in a sandbox."""

from .decorator import SandboxedFunction, sandboxed

__all__ = ["SandboxedFunction", "sandboxed"]
