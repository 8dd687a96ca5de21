"""Profiles: limits, mounts, network policy and packages of a sandbox, and the hash that names them."""

from .canonical import BASE_DEFAULTS, canonical_text, check_net, profile_hash

__all__ = ["BASE_DEFAULTS", "canonical_text", "check_net", "profile_hash"]
