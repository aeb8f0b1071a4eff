def float_format(exponent_bits, mantissa_bits, finite_only=False):
    info = torch.finfo(torch.float8_e4m3fn if finite_only else torch.float16)
    return FloatFormat(info.max, info.smallest_normal, info.smallest_normal * info.eps, info.eps)


def round_to_bfloat16(x):
    return x.bfloat16().float()
