"""Encodes dates, times, decimals and UUIDs; loaded on demand by codec.py."""

from __future__ import annotations

import datetime
import sys
from typing import Any, Callable, Dict, FrozenSet, Optional

try:
    from . import codec as values
except ImportError:  # inside a sandbox
    values = load("values")  # type: ignore[name-defined]  # noqa: F821

MAX_DECIMAL = 10_000
MAX_ZONE = 64
_zones: Optional[FrozenSet[str]] = None


def to_tree(value: Any, depth: int) -> Any:
    """None for a value that is not exactly of one of these types."""
    kind = type(value)
    if kind is datetime.datetime:
        return _datetime_tree(value)
    if kind is datetime.date:
        return {"$": "date", "v": value.isoformat()}
    if kind is datetime.time:
        zone = zone_name(value.tzinfo)
        return {"$": "time", "v": value.replace(tzinfo=None).isoformat() if zone else value.isoformat(), "zone": zone}
    if kind is datetime.timedelta:
        return {"$": "timedelta", "v": [value.days, value.seconds, value.microseconds]}
    if kind.__name__ == "Decimal" and kind is sys.modules["decimal"].Decimal:
        return {"$": "decimal", "v": str(value)}
    if kind.__name__ == "UUID" and kind is sys.modules["uuid"].UUID:
        return {"$": "uuid", "v": value.hex}
    return None


def _datetime_tree(value: datetime.datetime) -> Any:
    zone = zone_name(value.tzinfo)
    # With a zone name: local time in that zone. Without: the offset is part of the text.
    shown = value.replace(tzinfo=None) if zone else value
    return {"$": "datetime", "v": shown.isoformat(), "fold": value.fold, "zone": zone}


def zone_name(zone: Any) -> Optional[str]:
    """The name of a zone of the time zone database (zoneinfo, pytz); None for an offset or no zone."""
    if zone is None or type(zone) is datetime.timezone:
        return None
    name = getattr(zone, "key", None) or getattr(zone, "zone", None)
    return name if isinstance(name, str) and 0 < len(name) <= MAX_ZONE else None


def zone_of(name: Any) -> Any:
    """The zone with this name, if this machine has it. The name opens no file and imports nothing."""
    global _zones
    if type(name) is not str or len(name) > MAX_ZONE:
        values.bad("a time zone must be a name")
    if name == "UTC":
        return datetime.timezone.utc
    import zoneinfo

    if _zones is None:
        _zones = frozenset(zoneinfo.available_timezones())
    if name not in _zones:
        values.bad(f"the time zone {name!r} is not known here (is the package tzdata installed?)")
    return zoneinfo.ZoneInfo(name)


def _decode_datetime(fields: Dict[str, Any], depth: int) -> datetime.datetime:
    values.only(fields, "v", "fold", "zone")
    made = datetime.datetime.fromisoformat(values.text_of(fields, "v", 40))
    fold = values.whole(fields["fold"], 0, 1, "datetime: fold")
    if fields["zone"] is not None:
        if made.tzinfo is not None:
            values.bad("datetime: cannot have both an offset and a zone")
        made = made.replace(tzinfo=_exact_zone(fields["zone"]))
    return made.replace(fold=fold)


def _decode_time(fields: Dict[str, Any], depth: int) -> datetime.time:
    values.only(fields, "v", "zone")
    made = datetime.time.fromisoformat(values.text_of(fields, "v", 40))
    return made if fields["zone"] is None else made.replace(tzinfo=_exact_zone(fields["zone"]))


def _exact_zone(name: Any) -> Any:
    """Like zone_of(), but ZoneInfo("UTC") stays ZoneInfo("UTC")."""
    if name != "UTC":
        return zone_of(name)
    import zoneinfo

    try:
        return zoneinfo.ZoneInfo("UTC")
    except zoneinfo.ZoneInfoNotFoundError:
        return datetime.timezone.utc


def _decode_date(fields: Dict[str, Any], depth: int) -> datetime.date:
    values.only(fields, "v")
    return datetime.date.fromisoformat(values.text_of(fields, "v", 10))


def _decode_timedelta(fields: Dict[str, Any], depth: int) -> datetime.timedelta:
    values.only(fields, "v")
    parts = values.field(fields, "v", list)
    if len(parts) != 3:
        values.bad("timedelta: not three numbers")
    days = values.whole(parts[0], -999_999_999, 999_999_999, "timedelta: days")
    seconds = values.whole(parts[1], 0, 86_399, "timedelta: seconds")
    return datetime.timedelta(days, seconds, values.whole(parts[2], 0, 999_999, "timedelta: microseconds"))


def _decode_decimal(fields: Dict[str, Any], depth: int) -> Any:
    import decimal

    values.only(fields, "v")
    try:
        return decimal.Decimal(values.text_of(fields, "v", MAX_DECIMAL))
    except decimal.InvalidOperation:
        values.bad("decimal: not a number")


def _decode_uuid(fields: Dict[str, Any], depth: int) -> Any:
    import uuid

    values.only(fields, "v")
    text = values.text_of(fields, "v", 32)
    if len(text) != 32 or not set(text) <= set("0123456789abcdef"):
        values.bad("uuid: not 32 hexadecimal digits")
    return uuid.UUID(hex=text)


DECODERS: Dict[str, Callable[[Dict[str, Any], int], Any]] = {
    "datetime": _decode_datetime,
    "date": _decode_date,
    "time": _decode_time,
    "timedelta": _decode_timedelta,
    "decimal": _decode_decimal,
    "uuid": _decode_uuid,
}
