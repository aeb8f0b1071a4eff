from __future__ import annotations

import subprocess
import sys

from tests import bench


def test_the_same_checks_run_without_isolation() -> None:
    subprocess.run([sys.executable, bench.__file__, "--in-process"], check=True, cwd=bench.SOLUTIONS.parent)
