import json
import zlib

assert json.dumps([1]) == "[1]" and zlib.decompress(zlib.compress(b"1")) == b"1", "the library's own"
