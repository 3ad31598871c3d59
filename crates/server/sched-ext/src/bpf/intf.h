/* SPDX-License-Identifier: (MIT OR Apache-2.0) OR GPL-2.0-only */
/*
 * The structures that the programs in the kernel and the library share. The library mirrors each
 * once, in src/contract.rs, which checks the sizes.
 */
#ifndef FAIRWAYS_INTF_H
#define FAIRWAYS_INTF_H

/* The most CPUs. */
#define MAX_CPUS 1024
#define CPU_WORDS (MAX_CPUS / 64)

/* The most sets of CPUs for which there is a queue: a CPU knows its own by a word of bits. */
#define MAX_SETS 64

/* Counters of a CPU that are read at both ends of a turn. */
#define COUNTERS 8

/* The key of a thread that was not added. */
#define NO_KEY 0xffffffffU

/* Set before loading. Durations are in nanoseconds. */
struct settings {
	__u64 quantum;
	__u64 patience; /* how long a thread waits while raised ones go before it */
	__u64 wake_after; /* how long records wait before their reader is woken */
	__u32 wake_bytes; /* bytes of records for which a reader is woken at once */
	__u32 cpus; /* possible CPU numbers, from 0 */
	__u32 counters; /* slots in use */
	__u32 scheduling; /* 0: it only watches */
	__u32 sets; /* sets of CPUs for which there is a queue; MAX_SETS at most */
	__u32 padding;
	__u64 seed; /* of the numbers of CPUs, which no thread may know: two sets could have the same */
};

enum record_kind {
	TURN_IDLE, /* a turn: the CPU had nothing to run */
	TURN_OTHER, /* a turn of a thread that was not added */
	TURN_THREAD, /* a turn of an added thread */
	FINISHED, /* a turn in the policy's sense is over */
};

/* A CPU's record between two switches, by bpf_ktime_get_ns(): CLOCK_MONOTONIC. */
struct turn {
	__u32 kind;
	__u32 cpu;
	__s32 tid;
	__u32 key;
	__u64 from;
	__u64 to;
	__u32 goes_on;
	__u32 counted; /* bit i: counters[i] was read at both ends, and counted all the time between */
	__u64 counters[COUNTERS];
};

/* A turn that is over: the thread used the ordered time, or gave it up. */
struct finished_turn {
	__u32 kind;
	__u32 cpu;
	__s32 tid;
	__u32 key;
	__u64 at;
	__u64 ordered;
	__u64 ran;
};

enum operation {
	OP_ADD = 1, /* tid, key: added, on all CPUs, not raised, nothing ordered */
	OP_REMOVE, /* tid */
	OP_ALLOW, /* tid, cpus (none: all) */
	OP_IN_FORCE, /* tid: answer 1 if it is on no CPU that it may not use, nor on its way to one */
	OP_RAISE, /* tid, value: whether */
	OP_ORDER, /* tid, value: nanoseconds */
};

/* A request from the library; the program's return value is 0 or a negative errno. */
struct command {
	__u32 operation;
	__s32 tid;
	__u32 key;
	__u32 answer;
	__u64 value;
	__u64 cpus[CPU_WORDS];
};

enum watching {
	WATCH_NOTHING,
	WATCH_MANAGED, /* turns of added threads */
	WATCH_ALL, /* also others' and idle ones that are long enough */
};

/* Changed while they run. */
struct control {
	__u32 watching;
	__u32 epoch; /* changes each time that watching begins; not 0 then */
	__u64 shortest;
};

/* The turn that a CPU is in. */
struct span {
	__u64 since;
	__u32 kind;
	__u32 key;
	__s32 tid;
	__u32 epoch; /* in which it began */
	__u32 parted; /* whether its beginning was reported */
	__u32 read; /* bit i: values[i] was read when it began */
	struct {
		__u64 counter;
		__u64 enabled;
		__u64 running;
	} values[COUNTERS];
};

/* Counted by the kernel's side. */
struct counts {
	__u64 lost; /* records for which there was no room */
	__u64 threads_without_room; /* times that there was no room for a thread, which ran where its owner lets it */
};

/* Why the scheduler ended. */
struct ended {
	__s32 kind; /* 0: it has not; enum scx_exit_kind */
	__u32 padding;
	__s64 code;
	char reason[128];
	char message[512];
};

#endif
