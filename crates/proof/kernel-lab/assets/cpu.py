"""Runs inside gdb beside the guest: answers what the emulated processor can't.

Environment:
  STUB      the socket of QEMU's gdb stub
  SITES     a file of lines "KIND ADDRESS" (see sites.py)
  ANSWERS   a file of lines "LEAF SUBLEAF EAX EBX ECX EDX", hexadecimal: what CPUID says
  ADDITIONS the same: what is added to what the emulated processor says, bit by bit
  COUNTERS  "none", "growing", or a decimal number: what the monitoring counters read, in units of the scale
  REGISTERS "1" if writes to the registers of masks and bandwidths are to be told

Prints "REGISTER KIND NUMBER VALUE CPU" (hexadecimal, but CPU decimal) for each such write.
"""

import os

import gdb


def lines(variable):
    with open(os.environ[variable]) as file:
        return [line.split() for line in file]


def register(name):
    return int(gdb.parse_and_eval("$" + name)) & 0xFFFFFFFFFFFFFFFF


def put(name, value):
    gdb.execute("set $%s=%d" % (name, value))


class Site(gdb.Breakpoint):
    """A place in the kernel; never stops it for good."""

    def __init__(self, address):
        super().__init__("*0x%x" % address, type=gdb.BP_BREAKPOINT, internal=True)
        self.address = address

    def stop(self):
        self.reached()
        return False


def table(variable):
    rows = ([int(word, 16) for word in words] for words in lines(variable))
    return {(leaf, subleaf): values for leaf, subleaf, *values in rows}


NAMES = ("rax", "rbx", "rcx", "rdx")
LENGTH = 2  # of the instruction CPUID
answers = table("ANSWERS")
additions = table("ADDITIONS")
leaves = {leaf for leaf, _ in answers}
waiting = {}


def number_of_cpu():
    return gdb.selected_thread().num


class Cpuid(Site):
    def __init__(self, address):
        super().__init__(address)
        self.after = AfterCpuid(address + LENGTH)
        self.after.enabled = False

    def reached(self):
        leaf, subleaf = register("rax") & 0xFFFFFFFF, register("rcx") & 0xFFFFFFFF
        if leaf in leaves:
            for name, value in zip(NAMES, answers.get((leaf, subleaf), (0, 0, 0, 0))):
                put(name, value)
            put("rip", self.address + LENGTH)
        elif (leaf, subleaf) in additions:
            waiting[number_of_cpu()] = additions[leaf, subleaf]
            self.after.enabled = True


class AfterCpuid(Site):
    def reached(self):
        for name, value in zip(NAMES, waiting.pop(number_of_cpu(), ())):
            put(name, register(name) | value)
        self.enabled = bool(waiting)


class Write(Site):
    def __init__(self, address, kind):
        super().__init__(address)
        self.kind = kind

    def reached(self):
        cpu = number_of_cpu() - 1
        number, value = register("rdi") & 0xFFFFFFFF, register("rsi")
        print("REGISTER %s %x %x %d" % (self.kind, number, value, cpu), flush=True)


selected = {}
counted = {}
OCCUPANCY = 1


class Select(Site):
    def reached(self):
        # The event in the low half, the RMID in the high one: as two registers or as one.
        low, high = register("rsi"), register("rdx") & 0xFFFFFFFF
        selected[number_of_cpu()] = (low & 0xFF, low >> 32 or high)


class Counter(Site):
    def reached(self):
        event, rmid = selected.get(number_of_cpu(), (0, 0))
        if counters != "growing":
            value = int(counters)
        elif event == OCCUPANCY:
            value = 10 + rmid
        else:
            value = counted[event, rmid] = counted.get((event, rmid), 0) + 16
        put("rax", value)
        put("rdx", 0)


counters = os.environ["COUNTERS"]
tell = os.environ["REGISTERS"] == "1"
gdb.execute("set pagination off")
gdb.execute("set confirm off")
gdb.execute("set architecture i386:x86-64")
gdb.execute("set breakpoint auto-hw off")
gdb.execute("target remote " + os.environ["STUB"])
sites = []
for kind, address in lines("SITES"):
    address = int(address, 16)
    if kind == "cpuid":
        sites.append(Cpuid(address))
    elif kind in ("mask", "bandwidth") and tell:
        sites.append(Write(address, kind))
    elif kind == "select" and counters != "none":
        sites.append(Select(address))
    elif kind == "counter" and counters != "none":
        sites.append(Counter(address))
if not sites:
    raise gdb.GdbError("no site")
print("READY", flush=True)
gdb.execute("continue")
