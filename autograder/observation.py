"""What crosses between the grader and a worker: values, and the messages that carry them.

Only the kinds of value named here cross; everything else arrives as `Opaque`, which says its type and no more.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Union

if TYPE_CHECKING:
    import numpy as np

MAX_RANK = 32  # of numpy 1.26

ITEM_BYTES = {
    "bool": 1, "uint8": 1, "int8": 1, "int16": 2, "uint16": 2, "int32": 4, "uint32": 4, "int64": 8, "uint64": 8,
    "float8_e4m3fn": 1, "float8_e5m2": 1, "float16": 2, "bfloat16": 2, "float32": 4, "float64": 8,
    "complex64": 8, "complex128": 16,
}  # fmt: skip


class WireError(Exception):
    """A value that may not cross, or bytes that are not a frame."""


@dataclass(frozen=True)
class Tensor:
    """A tensor's elements in row-major order, with its dtype by torch's name."""

    dtype: str
    shape: tuple[int, ...]
    data: bytes

    def __post_init__(self) -> None:
        if self.dtype not in ITEM_BYTES:
            raise WireError(f"a tensor of dtype {self.dtype!r} cannot cross; one of {', '.join(ITEM_BYTES)} can")
        if len(self.shape) > MAX_RANK or any(type(size) is not int or size < 0 for size in self.shape):
            raise WireError(f"{self.shape!r} is no shape")
        if math.prod(self.shape) * ITEM_BYTES[self.dtype] != len(self.data):
            raise WireError(f"shape {self.shape} of {self.dtype} does not fit {len(self.data)} bytes")

    def numpy(self) -> np.ndarray[Any, np.dtype[Any]]:
        """Return the elements as a read-only array; bf16 and fp8 have their dtype from ml_dtypes."""
        import ml_dtypes  # noqa: PLC0415  a zygote has no use for either
        import numpy as np  # noqa: PLC0415

        dtype = getattr(ml_dtypes, self.dtype, None) or np.dtype(self.dtype)
        return np.frombuffer(self.data, dtype=dtype).reshape(self.shape)


@dataclass(frozen=True)
class Record:
    """A named group of values, such as a student's `View`; its repr is the call that makes one."""

    name: str
    fields: dict[str, Value]

    def __repr__(self) -> str:
        return f"{self.name}({', '.join(f'{name}={value!r}' for name, value in self.fields.items())})"


@dataclass(frozen=True)
class Opaque:
    """Something that does not cross: only the name of its type does."""

    type: str


Value = Union[  # not |, which Python 3.10 has not for names in quotes
    None, bool, int, float, str, bytes, "list[Value]", "tuple[Value, ...]", "dict[str, Value]", Tensor, Record, Opaque
]  # fmt: skip


# What a probe saw. TimedOut and Died are said by the grader alone.


@dataclass(frozen=True)
class Returned:
    """The probe ended and saw this."""

    value: Value


@dataclass(frozen=True)
class Raised:
    """The student's code raised."""

    type: str
    bases: tuple[str, ...]  # names of all its classes, itself first: an IndexError is a LookupError too
    message: str
    during: str = "call"  # or "import"
    trace: tuple[str, ...] = ()  # "views.py:31 in reshape", the student's own frames, outermost first


@dataclass(frozen=True)
class UsedForbidden:
    """The student's code called what the exercise forbids."""

    name: str  # "torch.empty"
    where: str  # "views.py:31 in reshape"


@dataclass(frozen=True)
class OverLimit:
    """A limit was reached."""

    what: str  # "memory", "output", "answer" or "cpu"
    limit: str  # in words: "512 MB"


@dataclass(frozen=True)
class TimedOut:
    """No answer by the deadline."""

    seconds: float


@dataclass(frozen=True)
class Died:
    """The worker's process ended without an answer."""

    how: str  # "exit code 0", "SIGSEGV"


Observation = Returned | Raised | UsedForbidden | OverLimit | TimedOut | Died


@dataclass(frozen=True)
class Ask:
    """The grader's question to a worker: run this probe on this case."""

    probe: str  # "views.reshape": module and function, and the module of the student's package that it is handed
    case: dict[str, Value]
    forbids: tuple[str, ...] = ()
