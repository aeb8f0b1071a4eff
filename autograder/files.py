"""Writes files so that a reader, or a kill at any moment, meets the old one or the new one, never a part."""

from __future__ import annotations

import os
from pathlib import Path


def write_aside(path: Path, content: str | bytes) -> None:
    """Write a file beside its place, then move it there."""
    aside = path.with_name(f".{path.name}.{os.getpid()}")
    aside.write_bytes(content.encode("utf-8") if isinstance(content, str) else content)
    os.replace(aside, path)
