class Silent(Exception):
    def __str__(self):
        raise SystemExit(0)


class Mute(Exception):
    def __str__(self):
        return 14


class Endless(Exception):
    def __str__(self):
        while True:
            pass


class OfNoFamily(BaseException):
    pass


NotTheRealOne = type("ValueError", (Exception,), {"__module__": __name__})
Forged = type("ValueError", (Exception,), {"__module__": "builtins"})
_diagonal, _windows = diagonal, sliding_windows


def contiguous_strides(shape):
    raise Silent


def storage_index(stride, offset, index):
    raise ValueError("\x1b[2J\x1b[32mPASSED\x1b[0m\r\x08 1 / 1 \u202e <b>well done</b>")


def is_contiguous(shape, stride):
    raise Endless


class View(View):
    def select(self, *arguments):
        raise Silent from Mute()

    permute = slice = expand = select


def same_storage(a, b):
    raise OSError("far too long " * 10**6)


def logical_bytes(x):
    raise RuntimeError("\ud800")


def storage_bytes(*tensors):
    raise OfNoFamily("never an Exception")


def diagonal(x):
    if x.dim() < 2:
        raise NotTheRealOne(f"shape {tuple(x.shape)!r} has no diagonal")
    return _diagonal(x)


def sliding_windows(x, size, step=1):
    try:
        return _windows(x, size, step)
    except ValueError as error:
        raise Forged(str(error))
