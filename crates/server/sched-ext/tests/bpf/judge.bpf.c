// SPDX-License-Identifier: (MIT OR Apache-2.0) OR GPL-2.0-only
/*
 * Judges on which CPUs threads come to run: it knows nothing of the scheduler, only the
 * expectations for threads, by number.
 */
#include "kernel.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

struct judged {
	u64 mask; /* CPUs on which it may be now; 64 are enough for a test */
	u64 since; /* bpf_ktime_get_ns() when that was set */
};

struct verdict {
	u64 switches; /* to these threads */
	u64 confined; /* of them, to those that may not be everywhere */
	u64 wrong; /* of them, to a CPU that is not allowed */
	u64 last_wrong; /* thread << 32 | CPU */
	u64 stayed; /* switches from these threads on a CPU that had not been allowed for longer than `grace` */
	u64 last_stayed;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__type(key, s32);
	__type(value, struct judged);
} threads SEC(".maps");

struct verdict verdict SEC(".data.verdict");
const volatile u64 everywhere SEC(".rodata.everywhere");

/* A thread that sleeps is off its CPU for the scheduler a moment before the switch: how long that
 * may last at most, in nanoseconds. */
const volatile u64 grace SEC(".rodata.grace");

/* The context of the program below. */
struct expectation {
	s32 pid;
	u32 unused;
	u64 mask;
};

static __always_inline void leaves(s32 pid, u32 cpu)
{
	struct judged *judged = bpf_map_lookup_elem(&threads, &pid);

	if (!judged || *(volatile u64 *)&judged->mask >> cpu & 1 ||
	    bpf_ktime_get_ns() - *(volatile u64 *)&judged->since < grace)
		return;
	__sync_fetch_and_add(&verdict.stayed, 1);
	verdict.last_stayed = (u64)pid << 32 | cpu;
}

/*
 * From now on a thread must be on these CPUs only. The entry is written in place: an element that
 * user space replaces is another thread's at once, and a switch that found it before would be
 * judged by that one's mask.
 */
SEC("syscall")
int expect(struct expectation *e)
{
	struct judged first = {.mask = e->mask, .since = bpf_ktime_get_ns()}, *judged;

	judged = bpf_map_lookup_elem(&threads, &e->pid);
	if (!judged)
		return bpf_map_update_elem(&threads, &e->pid, &first, BPF_NOEXIST);
	*(volatile u64 *)&judged->since = first.since;
	*(volatile u64 *)&judged->mask = first.mask;
	return 0;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(judge, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	u32 cpu = bpf_get_smp_processor_id();
	s32 pid = next->pid;
	struct judged *judged = bpf_map_lookup_elem(&threads, &pid);
	u64 mask;

	leaves(prev->pid, cpu);
	if (!judged)
		return 0;
	mask = *(volatile u64 *)&judged->mask;
	__sync_fetch_and_add(&verdict.switches, 1);
	if (mask != everywhere)
		__sync_fetch_and_add(&verdict.confined, 1);
	if (!(mask >> cpu & 1)) {
		__sync_fetch_and_add(&verdict.wrong, 1);
		verdict.last_wrong = (u64)pid << 32 | cpu;
	}
	return 0;
}
