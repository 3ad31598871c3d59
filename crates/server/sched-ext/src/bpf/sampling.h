/* SPDX-License-Identifier: (MIT OR Apache-2.0) OR GPL-2.0-only */
/*
 * The structures that the sampling program and the library share. The library mirrors each once, in
 * src/sampling/contract.rs, which checks the sizes.
 *
 * A series is one window after another of a program; a part counts for it: a thread of the program,
 * or its cgroup on a CPU, with a perf event whose overflow runs the sampling program, and others
 * beside it.
 */
#ifndef FAIRWAYS_SAMPLING_H
#define FAIRWAYS_SAMPLING_H

/* The most events of a part. */
#define EVENTS 16

/* An event's count, and the nanoseconds in which there was something to count, and in which it was
 * counted. */
struct span {
	__u64 value;
	__u64 enabled;
	__u64 running;
};

/* Set before a part's first event can overflow; from then on only the sampling program changes its
 * counts, and only one CPU at a time runs it for a part. */
struct part {
	__u32 series;
	__u32 events;
	/* Bit i: event i could not be read last; what it counts until it is read again belongs to no
	 * window. */
	__u32 missed;
	__u32 padding;
	struct span last[EVENTS]; /* each one's count when it was last added to the series */
};

/* Set before the series has a part; from then on everything is only added to. */
struct series {
	__u64 window; /* the length: counts of the first event */
	__u64 end; /* the count that ends the window */
	__u64 begun; /* counts of the first event, scaled, that are in the sums or being added */
	__u64 count; /* the part of those that is in the sums */
	__u64 late; /* ends that found no room */
	__u64 number; /* the last window's, from 1 */
	__u32 unread; /* bit i: since the last window, event i could not be read when due */
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

/* The counts of a part that has ended, since it was last added to its series. */
struct rest {
	__u32 series;
	__u32 padding;
	struct span counted[EVENTS]; /* zero for events that it lacks */
};

#endif
