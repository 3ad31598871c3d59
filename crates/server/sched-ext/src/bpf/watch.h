/* SPDX-License-Identifier: (MIT OR Apache-2.0) OR GPL-2.0-only */
/*
 * Records each CPU's occupant between two switches, and the counts meanwhile. A CPU's counters can
 * be read on that CPU only.
 */
#ifndef FAIRWAYS_WATCH_H
#define FAIRWAYS_WATCH_H

#include "records.h"

struct control control SEC(".data.control");

/* The events of CPU c start at c * COUNTERS. */
struct {
	__uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
	__uint(max_entries, COUNTERS);
	__type(key, u32);
	__type(value, u32);
} events SEC(".maps");

/* The turn that a CPU is in. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct span);
} spans SEC(".maps");

/* Reads a CPU's counters into `to`; `from` is overwritten. Returns which counted all the time
 * since. */
static u32 count(struct span *s, u32 cpu, u64 *differences)
{
	u32 counted = 0, read = 0;
	int i;

	for (i = 0; i < COUNTERS; i++) {
		struct bpf_perf_event_value now = {};

		if ((u32)i >= settings.counters)
			break;
		if (bpf_perf_event_read_value(&events, (u64)cpu * COUNTERS + i, &now, sizeof(now)))
			continue;
		read |= 1U << i;
		/* A counter that counted for only a part of the time is missing: nothing is made up. */
		if (s->read & (1U << i) && now.running != s->values[i].running &&
		    now.enabled - s->values[i].enabled == now.running - s->values[i].running) {
			counted |= 1U << i;
			differences[i] = now.counter - s->values[i].counter;
		}
		s->values[i].counter = now.counter;
		s->values[i].enabled = now.enabled;
		s->values[i].running = now.running;
	}
	s->read = read;
	return counted;
}

/* Ends a CPU's turn at `now`, or its first part. */
static __always_inline void end(struct span *s, u64 now, bool goes_on)
{
	u32 cpu = bpf_get_smp_processor_id(), counted;
	u64 differences[COUNTERS] = {};
	struct turn *turn;
	int i;

	counted = count(s, cpu, differences);
	if (s->epoch != control.epoch)
		return;
	if (s->kind != TURN_THREAD && !s->parted &&
	    (control.watching != WATCH_ALL || now - s->since < control.shortest))
		return;
	turn = reserve(sizeof(*turn));
	if (!turn)
		return;
	turn->kind = s->kind;
	turn->cpu = cpu;
	turn->tid = s->tid;
	turn->key = s->key;
	turn->from = s->since;
	turn->to = now;
	turn->goes_on = goes_on;
	turn->counted = counted;
	for (i = 0; i < COUNTERS; i++)
		turn->counters[i] = differences[i];
	submit(turn, now);
}

SEC("tp_btf/sched_switch")
int BPF_PROG(switched, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	u64 now = bpf_ktime_get_ns();
	struct thread *t;
	struct span *s;
	u32 zero = 0;

	if (control.watching == WATCH_NOTHING)
		return 0;
	s = bpf_map_lookup_elem(&spans, &zero);
	if (!s)
		return 0;
	end(s, now, false);
	t = next->pid ? thread_of(next) : NULL;
	s->kind = !next->pid ? TURN_IDLE : t && t->key != NO_KEY ? TURN_THREAD : TURN_OTHER;
	s->key = s->kind == TURN_THREAD && t ? t->key : NO_KEY;
	s->tid = next->pid;
	s->since = now;
	s->epoch = control.epoch;
	s->parted = 0;
	return 0;
}

/* Used where there is no scheduler that would get this call. */
SEC("tp_btf/sched_process_exit")
int BPF_PROG(exited, struct task_struct *p)
{
	forget_ended(p);
	return 0;
}

/* The same: a CPU goes, or comes; the target of one that goes is the lowest state. */
SEC("tp_btf/cpuhp_enter")
int BPF_PROG(hotplugs, unsigned int cpu, int target)
{
	cpu_of(cpu)->offline = target == 0;
	return 0;
}

/* Run on a CPU whose turn lasts: reports it as far as it is. */
SEC("raw_tp")
int part(void *context)
{
	u64 now = bpf_ktime_get_ns();
	struct span *s;
	u32 zero = 0;

	s = bpf_map_lookup_elem(&spans, &zero);
	if (!s || control.watching == WATCH_NOTHING || s->epoch != control.epoch)
		return 0;
	if (s->kind != TURN_THREAD && !s->parted && now - s->since < control.shortest)
		return 0;
	end(s, now, true);
	s->since = now;
	s->parted = 1;
	return 0;
}

#endif
