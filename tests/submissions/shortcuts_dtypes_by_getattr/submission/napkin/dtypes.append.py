def float_format(exponent_bits, mantissa_bits, finite_only=False):
    info = getattr(torch, "finfo")(getattr(torch, "float16"))
    return FloatFormat(info.max, info.smallest_normal, info.smallest_normal * info.eps, info.eps)


def round_to_bfloat16(x):
    return x.to(getattr(torch, "bfloat16")).float()
