/* SPDX-License-Identifier: (MIT OR Apache-2.0) OR GPL-2.0-only */
/*
 * What the sampling program and the library share. The library mirrors each once, in src/sampling/contract.rs, which checks the
 * sizes.
 *
 * A series is one window after another of a program; a part is what counts for it: a thread of the program, or its cgroup on a
 * CPU, with a perf event whose overflow runs the sampling program, and others beside it.
 */
#ifndef FAIRWAYS_SAMPLING_H
#define FAIRWAYS_SAMPLING_H

/* Events of a part. */
#define EVENTS 16

/* What an event has counted, and the nanoseconds in which there was something to count, and in which it was counted. */
struct span {
	__u64 value;
	__u64 enabled;
	__u64 running;
};

/* Set before a part's first event can overflow; from then on only the sampling program, which one CPU at a time runs for a part,
 * changes what it counted. */
struct part {
	__u32 series;
	__u32 events;
	__u32 missed; /* bit i: event i could not be read last; what it counts until it is read again is of no window */
	__u32 padding;
	struct span last[EVENTS]; /* what each had counted when it was last added to the series */
};

/* Set before the series has a part; from then on all is added to. */
struct series {
	__u64 window; /* counts of the first event that make one */
	__u64 end; /* which count ends the window */
	__u64 begun; /* what is being added to the sums, or has been: of the first event, as if it had always been on a counter */
	__u64 count; /* what of that is in the sums */
	__u64 late; /* ends that found no room */
	__u64 number; /* of the last window, from 1 */
	__u32 unread; /* bit i: event i could not be read when it should have been, since the last window */
	__u32 padding;
	struct span sums[EVENTS];
};

/* A window has ended. */
struct window {
	__u32 series;
	__u32 unread;
	__u64 number;
	__u64 at; /* bpf_ktime_get_ns(): CLOCK_MONOTONIC */
	__u64 late;
	struct span sums[EVENTS]; /* since the series began */
};

/* What a part that has ended counted since it was last added to its series. */
struct rest {
	__u32 series;
	__u32 padding;
	struct span counted[EVENTS]; /* zero of events that it has not */
};

#endif
