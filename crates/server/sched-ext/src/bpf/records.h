/* SPDX-License-Identifier: (MIT OR Apache-2.0) OR GPL-2.0-only */
/*
 * Passes records to user space. A reader is woken for many at once: when `wake_bytes` of them wait,
 * or when the first has waited for `wake_after` and another comes.
 */
#ifndef FAIRWAYS_RECORDS_H
#define FAIRWAYS_RECORDS_H

#include "threads.h"

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
} records SEC(".maps");

/* Makes the compiler emit their types. */
const struct turn *turn_type __attribute__((unused));
const struct finished_turn *finished_type __attribute__((unused));

static u64 woken;

static __always_inline void *reserve(u64 size)
{
	void *record = bpf_ringbuf_reserve(&records, size, 0);

	if (!record)
		__sync_fetch_and_add(&counts.lost, 1);
	return record;
}

static __always_inline void submit(void *record, u64 now)
{
	u64 flags = BPF_RB_NO_WAKEUP;

	/* A wakeup requested on a CPU that goes off line is never done, nor any later one. */
	if (cpu_of(bpf_get_smp_processor_id())->offline)
		goto out;
	if (now - woken >= settings.wake_after ||
	    bpf_ringbuf_query(&records, BPF_RB_AVAIL_DATA) >= settings.wake_bytes) {
		woken = now;
		flags = BPF_RB_FORCE_WAKEUP;
	}
out:
	bpf_ringbuf_submit(record, flags);
}

#endif
