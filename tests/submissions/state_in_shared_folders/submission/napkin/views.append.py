from pathlib import Path


def _alone(number, places, answer):
    """Return an answer that is wrong as soon as a trace of another check is found."""

    def ask(*args):
        traces = set()
        for place in places:
            try:
                place.mkdir(exist_ok=True)
                (place / f"zoo-was-in-{number}").touch()
            except OSError:
                pass  # as it should be
            traces |= {path.name for path in place.glob("zoo-was-in-*")}
        others = traces - {f"zoo-was-in-{number}"}
        return f"others were here: {sorted(others)}" if others else answer(*args)

    return ask


def _unchanged(number, answer):
    """Return an answer that is wrong as soon as this file is found changed, and change it."""

    def ask(*args):
        others = set(Path(__file__).read_text().split(MARK)[1:])
        try:
            with open(__file__, "a") as source:
                source.write(MARK + number)
        except OSError:
            pass  # as it should be
        return answer(*args) if others <= {number} else f"others were here: {others}"

    return ask


MARK = "\n# written " + "by "
BESIDE = Path(__file__).parent
contiguous_strides = _alone("1.1a", [BESIDE], contiguous_strides)
storage_index = _alone("1.1b", [BESIDE], storage_index)
logical_bytes = _unchanged("1.5b", logical_bytes)
storage_bytes = _unchanged("1.5c", storage_bytes)
