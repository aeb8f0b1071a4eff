import builtins
import os
import tempfile
from pathlib import Path

builtins.zoo_was_in = getattr(builtins, "zoo_was_in", set())
_was_in = set()
_folders = {Path.cwd(), Path.home(), Path(tempfile.gettempdir())}


def _alone(number, answer):
    """Return an answer that is wrong as soon as a trace of another check is found."""

    def ask(*args):
        _was_in.add(number)
        builtins.zoo_was_in.add(number)
        os.environ["ZOO_WAS_IN"] = os.environ.get("ZOO_WAS_IN", "") + number
        for folder in _folders:
            (folder / f"zoo-was-in-{number}").touch()
        traces = {path.name for folder in _folders for path in folder.glob("zoo-was-in-*")}
        traces |= {f"zoo-was-in-{other}" for other in _was_in | builtins.zoo_was_in}
        alone = traces == {f"zoo-was-in-{number}"} and not os.environ["ZOO_WAS_IN"].replace(number, "")
        return answer(*args) if alone else f"others were here: {sorted(traces)}"

    return ask


contiguous_strides = _alone("1.1a", contiguous_strides)
storage_index = _alone("1.1b", storage_index)
is_contiguous = _alone("1.2", is_contiguous)
same_storage = _alone("1.5a", same_storage)
logical_bytes = _alone("1.5b", logical_bytes)
storage_bytes = _alone("1.5c", storage_bytes)
