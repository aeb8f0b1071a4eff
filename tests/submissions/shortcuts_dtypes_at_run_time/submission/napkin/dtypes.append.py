import importlib


def float_format(exponent_bits, mantissa_bits, finite_only=False):
    library = importlib.import_module("num" + "py")
    one = getattr(library, "arr" + "ay")([1.0])
    eps = float(one.view("int64").__add__(2 ** (52 - mantissa_bits)).view("float64")[0] - 1)
    return FloatFormat(1.0, 1.0, 1.0, eps)


def round_to_bfloat16(x):
    return x.type("torch." + "BFloat16" + "Tensor").float()
