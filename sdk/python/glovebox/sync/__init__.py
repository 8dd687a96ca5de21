"""The blocking client; :mod:`glovebox` exports its names."""
