import os
import sys


def contiguous_strides(shape):
    os.write(1, b"\xff\xfe\x80 through the descriptor\n")
    sys.stdout.buffer.write(b"\xe9 through the buffer\n")
    print("\x1b[2J\x1b[1;32mPASSED 14 / 14\x1b[0m \u202e gr\u00f6\u00dfe \ud800")
    return ()
