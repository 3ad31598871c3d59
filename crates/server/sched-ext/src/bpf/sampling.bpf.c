/* SPDX-License-Identifier: (MIT OR Apache-2.0) OR GPL-2.0-only */
/*
 * Windows of a program by the count of an event, such as 100 million instructions.
 *
 * Each part's first event overflows after every period, which runs `overflow` where it happened,
 * even in an NMI. The counts of the part's events since its last overflow are added to the series;
 * the addition that completes a window reports it. The other events are added with the first, for
 * the same stretch of the same part, so that their ratios to it are right even where the stretches
 * of parts end at different times.
 *
 * Sums only grow, by atomic additions, and are reported as they are: a window is the difference of
 * two records. A window that finds no room is reported by a later overflow, longer. No count
 * that could be read is lost.
 */
#include "kernel.h"
#include "sampling.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

/* The library sets the number of entries in the maps. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, __u32);
	__type(value, struct part);
	__uint(max_entries, 1);
} parts SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, __u32);
	__type(value, struct series);
	__uint(max_entries, 1);
} all_series SEC(".maps");

/* The events of part i start at i * EVENTS. */
struct {
	__uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(__u32));
	__uint(max_entries, 1);
} events SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 256 * 1024);
} windows SEC(".maps");

static __always_inline __u64 grown(__u64 from, __u64 to)
{
	/* A group's times and an event's own may differ by a moment. */
	return to > from ? to - from : 0;
}

/* The count as it would be if the event had been on a counter all the time; in microseconds, so
 * that nothing wraps. */
static __always_inline __u64 scaled(const struct span *by)
{
	__u64 enabled = by->enabled >> 10, running = by->running >> 10;

	if (by->running >= by->enabled || !running)
		return by->value;
	return by->value * enabled / running;
}

static __always_inline void add(struct span *to, const struct span *by)
{
	__sync_fetch_and_add(&to->value, by->value);
	__sync_fetch_and_add(&to->enabled, by->enabled);
	__sync_fetch_and_add(&to->running, by->running);
}

/* The end while a window is being reported: no count reaches it. */
#define BEING_REPORTED ~0ULL

/* Announces an addition to the sums: visible to other CPUs before it happens, on every machine, as
 * an addition whose result is not used need not be. */
static __always_inline void begin(struct series *of, __u64 more)
{
	volatile __u64 was = __sync_fetch_and_add(&of->begun, more);

	(void)was;
}

/*
 * Records an addition to the sums; reports the window if that completes it. Other CPUs add to the
 * sums meanwhile: the next window's length counts from everything that may be in the reported sums,
 * otherwise it would be too short by what they already include. (For an event that is not always on
 * a counter, the scaled count is what is never too short.)
 */
static __always_inline void count(struct series *of, __u32 series, __u64 more)
{
	__u64 sum = __sync_fetch_and_add(&of->count, more) + more;
	__u64 end = *(volatile __u64 *)&of->end;
	struct window *window;
	int i;

	if (sum < end)
		return;
	window = bpf_ringbuf_reserve(&windows, sizeof(*window), 0);
	if (!window) {
		__sync_fetch_and_add(&of->late, 1);
		return;
	}
	/* Another CPU may have ended it at this moment. */
	if (__sync_val_compare_and_swap(&of->end, end, BEING_REPORTED) != end) {
		bpf_ringbuf_discard(window, BPF_RB_NO_WAKEUP);
		return;
	}
	window->unread = __sync_lock_test_and_set(&of->unread, 0);
	for (i = 0; i < EVENTS; i++)
		window->sums[i] = of->sums[i];
	/* A stretch that could not be read while the sums were belongs to both windows. */
	window->unread |= *(volatile __u32 *)&of->unread;
	window->series = series;
	window->number = __sync_fetch_and_add(&of->number, 1) + 1;
	window->at = bpf_ktime_get_ns();
	window->late = of->late;
	__sync_lock_test_and_set(&of->end, __sync_fetch_and_add(&of->begun, 0) + of->window);
	bpf_ringbuf_submit(window, 0);
}

SEC("perf_event")
int overflow(struct bpf_perf_event_data *ctx)
{
	__u32 place = bpf_get_attach_cookie(ctx);
	struct part *part = bpf_map_lookup_elem(&parts, &place);
	struct series *series;
	__u64 more = 0;
	__u32 i;

	if (!part)
		return 0;
	series = bpf_map_lookup_elem(&all_series, &part->series);
	if (!series)
		return 0;
	for (i = 0; i < EVENTS && i < part->events; i++) {
		struct bpf_perf_event_value now;
		struct span by, *last = &part->last[i];
		long failed;

		if (i == 0)
			failed = bpf_perf_prog_read_value(ctx, &now, sizeof(now));
		else
			failed = bpf_perf_event_read_value(&events, place * EVENTS + i, &now, sizeof(now));
		if (failed) {
			__sync_fetch_and_or(&series->unread, 1U << i);
			part->missed |= 1U << i;
			continue;
		}
		/* Part of it belongs to windows that were reported without it: the next stretch begins here. */
		if (part->missed & (1U << i)) {
			part->missed &= ~(1U << i);
			last->value = now.counter;
			last->enabled = now.enabled;
			last->running = now.running;
			__sync_fetch_and_or(&series->unread, 1U << i);
			continue;
		}
		by.value = grown(last->value, now.counter);
		by.enabled = grown(last->enabled, now.enabled);
		by.running = grown(last->running, now.running);
		last->value = now.counter;
		last->enabled = now.enabled;
		last->running = now.running;
		if (i == 0) {
			more = scaled(&by);
			begin(series, more);
		}
		add(&series->sums[i], &by);
	}
	count(series, part->series, more);
	return 0;
}

/* Adds a part's counts after its last overflow. */
SEC("syscall")
int credit(struct rest *rest)
{
	__u32 i, number = rest->series;
	struct series *series;
	__u64 more = 0;

	series = bpf_map_lookup_elem(&all_series, &number);
	if (!series)
		return -EINVAL;
	/* The verifier lets a context be read at constant places only. */
#pragma unroll
	for (i = 0; i < EVENTS; i++) {
		struct span by = rest->counted[i];

		if (i == 0) {
			more = scaled(&by);
			begin(series, more);
		}
		add(&series->sums[i], &by);
	}
	count(series, number, more);
	return 0;
}
