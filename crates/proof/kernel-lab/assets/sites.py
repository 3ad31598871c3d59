"""Runs inside gdb on an unpacked kernel: prints the addresses at which the lab stops it.

SYMBOLS names a file of lines "ADDRESS TYPE NAME", as /proc/kallsyms has them. Prints lines "SITE KIND ADDRESS".
"""

import os

import gdb

CALL = ("call", "callq")


def symbols():
    with open(os.environ["SYMBOLS"]) as lines:
        return {name: int(address, 16) for address, _, name in (line.split() for line in lines)}


def instructions(start, size):
    architecture = gdb.selected_inferior().architecture()
    return [(i["addr"], i["asm"].split()) for i in architecture.disassemble(start, start + size)]


def is_call(words):
    return words[0] in CALL


seen = set()


def found(kind, address):
    if (kind, address) in seen:
        return
    seen.add((kind, address))
    print("SITE %s %x" % (kind, address))


at = symbols()
gdb.execute("set architecture i386:x86-64")

# Under paravirtualisation, all CPUID of the kernel proper goes through this function.
for address, words in instructions(at["native_cpuid"], 0x40):
    if words[0] == "cpuid":
        found("cpuid", address)

# The call that writes a register of a class: its arguments are the register and the value. What is called through a
# pointer is the write; the rest are helpers of the compiler.
for function, kind in (
    ("cat_wrmsr", "mask"),
    ("mba_wrmsr_intel", "bandwidth"),
    ("mba_wrmsr_amd", "bandwidth"),
):
    if function not in at:
        continue
    for address, words in instructions(at[function], 0x90):
        if is_call(words) and words[1].startswith("*"):
            found(kind, address)
            break
        if words[0] == "wrmsr":
            found(kind, address)
            break

# IA32_QM_EVTSEL (c8d) says what IA32_QM_CTR (c8e) counts.
for function in ("resctrl_arch_rmid_read", "__rmid_read_phys", "__rmid_read", "rmid_read"):
    if function not in at:
        continue
    listed = instructions(at[function], 0x2C0)
    selected = False
    for i, (_, words) in enumerate(listed):
        text = " ".join(words)
        calls = [j for j in range(i, len(listed)) if is_call(listed[j][1])]
        if "$0xc8d," in text and calls:
            found("select", listed[calls[0]][0])
            selected = True
        if "$0xc8e," in text and calls:
            found("counter", listed[calls[0] + 1][0])
    if selected:
        break
