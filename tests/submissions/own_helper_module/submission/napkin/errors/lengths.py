def must_be_alike(**two):
    if len({len(value) for value in two.values()}) > 1:
        raise ValueError(" and ".join(f"{name} {value!r}" for name, value in two.items()) + " differ in length")
