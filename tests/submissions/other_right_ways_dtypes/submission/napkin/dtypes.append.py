import functools
import math


def float_format(exponent_bits, mantissa_bits, finite_only=False):
    for name, bits, most in (("exponent_bits", exponent_bits, 11 - finite_only), ("mantissa_bits", mantissa_bits, 52)):
        if bits not in range(2 if name == "exponent_bits" else 1, most + 1):
            raise ValueError(f"{name}={bits!r}")

    def decode(pattern):
        exponent, mantissa = divmod(pattern, 2**mantissa_bits)
        mantissa += 2**mantissa_bits if exponent else 0
        return math.ldexp(mantissa, max(exponent, 1) - (2 ** (exponent_bits - 1) - 1) - mantissa_bits)

    all_ones = 2 ** (exponent_bits + mantissa_bits) - 1
    infinity = all_ones + 1 - 2**mantissa_bits
    one = (2 ** (exponent_bits - 1) - 1) * 2**mantissa_bits
    largest = decode((all_ones if finite_only else infinity) - 1)
    return FloatFormat(largest, decode(2**mantissa_bits), decode(1), decode(one + 1) - 1)


def round_to_bfloat16(x):
    if x.dtype is not torch.float32:
        raise ValueError(f"{x.dtype}")
    bits = x.view(torch.int32).to(torch.int64) % 2**32
    kept, rest = bits // 2**16, bits % 2**16
    kept = kept + torch.where(rest == 2**15, kept % 2, (rest > 2**15).long())
    kept = torch.where(x != x, 0x7FC0, kept) * 2**16
    return torch.where(kept < 2**31, kept, kept - 2**32).to(torch.int32).view(torch.float32)


def quantize_fp8(x):
    amax = max((abs(number) for number in x.flatten().tolist()), default=0.0)
    inverse = torch.tensor(448 / amax if amax else 1.0)
    return torch.mul(x, inverse).type(torch.float8_e4m3fn), inverse.reciprocal()


def dequantize_fp8(values, scale):
    return torch.stack([one.to(scale.dtype).mul(scale) for one in values]) if values.numel() else values.float()


def classify(x, dtype):
    try:
        info = torch.finfo(dtype)
    except TypeError as error:
        raise ValueError(f"no floating-point format: {dtype}") from error

    def kind(number):
        if math.isnan(number):
            return "exact"
        if math.isinf(number):
            return "overflow" if dtype is torch.float8_e4m3fn else "exact"
        exponent = math.frexp(max(abs(number), info.smallest_normal))[1] - 1
        spacing = 2.0**exponent * info.eps
        near = round(number / spacing) * spacing  # Python's round takes the even one, too
        if near == number:
            return "exact" if abs(near) <= info.max else "overflow"
        return "overflow" if abs(near) > info.max else "rounded" if near else "underflow"

    return [kind(number) for number in x.tolist()]


def accumulate(values, dtype, accumulator):
    numbers = values.to(dtype).to(accumulator).unbind()
    return functools.reduce(torch.add, numbers, torch.tensor(0.0, dtype=accumulator))
