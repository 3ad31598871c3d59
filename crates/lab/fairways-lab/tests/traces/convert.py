"""Writes a trace of lackey in the formats of other tools, as these are published."""

import gzip
import lzma
import struct
import sys
import zipfile


def instructions(path):
    """Of each instruction its address and its accesses: (is_store, address, bytes)."""
    address, accesses = None, []
    for line in open(path):
        kind = line[:3]
        if kind not in ("I  ", " L ", " S ", " M "):
            continue
        place, size = line[3:].split(",")
        place, size = int(place, 16), int(size)
        if kind == "I  ":
            if address is not None:
                yield address, accesses
            address, accesses = place, []
        if kind in (" L ", " M "):
            accesses.append((False, place, size))
        if kind in (" S ", " M "):
            accesses.append((True, place, size))
    yield address, accesses


def champsim(program, path):
    """inc/trace_instruction.h: ip, is_branch, branch_taken, 2 + 4 registers, 2 + 4 addresses."""
    with lzma.open(path, "wb", preset=0) as out:
        for address, accesses in program:
            reads = [place for is_store, place, _ in accesses if not is_store][:4]
            writes = [place for is_store, place, _ in accesses if is_store][:2]
            reads += [0] * (4 - len(reads))
            writes += [0] * (2 - len(writes))
            out.write(struct.pack("<QBB2B4B2Q4Q", address, 0, 0, *[0] * 6, *writes, *reads))


def varint(number):
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def gem5(program, path):
    """src/proto/packet.proto, each message after its length."""
    with gzip.open(path, "wb", 1) as out:
        name = b"system.monitor"
        header = b"\x0a" + varint(len(name)) + name + b"\x18" + varint(10**12)
        out.write(b"gem5" + varint(len(header)) + header)
        for tick, (address, accesses) in enumerate(program):
            fetch = (False, address, 4, 0x100)
            for is_store, place, size, flags in [fetch] + [(*one, 0) for one in accesses]:
                fields = [tick * 500, 4 if is_store else 1, place, size, flags]
                packet = b"".join(
                    varint(number << 3) + varint(value) for number, value in enumerate(fields, 1)
                )
                out.write(varint(len(packet)) + packet)


def drmemtrace(program, path):
    """common/trace_entry.h: type, size, address or value; chunks in a zip archive."""
    record = struct.Struct("<HHQ")
    chunks = [record.pack(25, 0, 6) + record.pack(28, 9, 0x40) + record.pack(22, 0, 1)]
    part = []
    for number, (address, accesses) in enumerate(program):
        part.append(record.pack(10, 4, address))
        part += [record.pack(int(is_store), size, place) for is_store, place, size in accesses]
        if number % 100000 == 99999:
            chunks.append(b"".join(part))
            part = []
    chunks.append(b"".join(part) + record.pack(23, 0, 1) + record.pack(26, 0, 0))
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as out:
        for number, chunk in enumerate(chunks):
            out.writestr(f"chunk.{number:04}", chunk)


champsim(instructions(sys.argv[1]), "program.champsim.xz")
gem5(instructions(sys.argv[1]), "program.gem5.gz")
drmemtrace(instructions(sys.argv[1]), "program.drmemtrace.zip")
