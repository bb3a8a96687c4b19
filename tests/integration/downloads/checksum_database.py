"""A checksum database of the test's own: a signed tree over records that never change, as the go command asks for it.

The notes, records and tiles are those of golang.org/x/mod/sumdb; the signature is Ed25519 (RFC 8032), here with Python's own
integers: one signature for each database.
"""

import base64
import hashlib

_P = 2 ** 255 - 19
_ORDER = 2 ** 252 + 27742317777372353535851937790883648493
_D = -121665 * pow(121666, _P - 2, _P) % _P
_BASE_Y = 4 * pow(5, _P - 2, _P) % _P


def _base_point():
    square = (_BASE_Y * _BASE_Y - 1) * pow(_D * _BASE_Y * _BASE_Y + 1, _P - 2, _P) % _P
    x = pow(square, (_P + 3) // 8, _P)
    if (x * x - square) % _P:
        x = x * pow(2, (_P - 1) // 4, _P) % _P
    x = _P - x if x % 2 else x
    return x, _BASE_Y


def _add(one, other):
    (x1, y1), (x2, y2) = one, other
    common = _D * x1 * x2 * y1 * y2 % _P
    return ((x1 * y2 + x2 * y1) * pow(1 + common, _P - 2, _P) % _P,
            (y1 * y2 + x1 * x2) * pow(1 - common, _P - 2, _P) % _P)


def _times(number):
    found, power = (0, 1), _base_point()
    while number:
        if number & 1:
            found = _add(found, power)
        power = _add(power, power)
        number >>= 1
    return found


def _packed(point):
    return (point[1] | (point[0] & 1) << 255).to_bytes(32, "little")


def _number(*parts):
    return int.from_bytes(hashlib.sha512(b"".join(parts)).digest(), "little")


class Signer:
    """Signs notes under a name; the key comes from the name, so that it is the same in every process."""

    def __init__(self, name):
        self.name = name
        digest = hashlib.sha512(b"key of " + name.encode()).digest()
        self.prefix = digest[32:]
        self.secret = (int.from_bytes(digest[:32], "little") & ~7 & (1 << 255) - 1) | 1 << 254
        self.public = _packed(_times(self.secret))
        self.hash = hashlib.sha256(name.encode() + b"\n\x01" + self.public).digest()[:4]

    def verifier(self):
        """As GOSUMDB has it."""
        return f"{self.name}+{self.hash.hex()}+{base64.b64encode(bytes([1]) + self.public).decode()}"

    def note(self, text):
        nonce = _number(self.prefix, text.encode()) % _ORDER
        point = _packed(_times(nonce))
        answer = (nonce + _number(point, self.public, text.encode()) * self.secret) % _ORDER
        signature = base64.b64encode(self.hash + point + answer.to_bytes(32, "little")).decode()
        return f"{text}\n\N{EM DASH} {self.name} {signature}\n"


def _leaf(record):
    return hashlib.sha256(b"\0" + record.encode()).digest()


def _root(hashes):
    if len(hashes) == 1:
        return hashes[0]
    split = 1 << ((len(hashes) - 1).bit_length() - 1)
    return hashlib.sha256(b"\1" + _root(hashes[:split]) + _root(hashes[split:])).digest()


class ChecksumDatabase:
    """`records`: "MODULE@VERSION" -> its two lines of go.sum. At most 255, which are one tile."""

    def __init__(self, name, records):
        signer = Signer(name)
        self.verifier = signer.verifier()
        names = sorted(records)
        leaves = [_leaf(records[one]) for one in names]
        tree = signer.note(f"go.sum database tree\n{len(leaves)}\n{base64.b64encode(_root(leaves)).decode()}\n")
        self.answers = {"supported": b"", "latest": tree.encode(), f"tile/8/0/000.p/{len(leaves)}": b"".join(leaves)}
        for number, one in enumerate(names):
            self.answers["lookup/" + one] = f"{number}\n{records[one]}\n{tree}".encode()

    def answer(self, path):
        """Bytes for a path below sumdb/NAME/, None where there is nothing."""
        return self.answers.get(path)
