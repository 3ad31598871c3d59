/* SPDX-License-Identifier: (MIT OR Apache-2.0) OR GPL-2.0-only */
/*
 * Who has had how much. A thread's virtual time is the CPU time that it had, by what it was ordered and by its weight:
 * ordered twice the quantum, it is charged half, and so has twice the time of one of which nothing is ordered.
 */
#ifndef FAIRWAYS_TURNS_H
#define FAIRWAYS_TURNS_H

#include "records.h"

#define NICE_0_WEIGHT 100

/* More than any turn lasts, and little enough to be multiplied with a quantum. */
#define LONGEST 10000000000ULL

/* The part of a quantum as which a shorter order is charged: a tick is no more than some turns then. */
#define SHORTEST 64

/* The furthest virtual time of a thread that ran. */
static u64 front;

static __always_inline bool before(u64 a, u64 b)
{
	return (s64)(a - b) < 0;
}

static __always_inline u64 length_of(const struct thread *t)
{
	return t->ordered ?: settings.quantum;
}

/* What is left of the turn; of a turn that has not begun yet, an order takes effect. */
static __always_inline u64 slice_of(struct thread *t)
{
	u64 length;

	if (!t->turn && t->next)
		t->ordered = __sync_lock_test_and_set(&t->next, 0);
	length = length_of(t);
	return t->turn < length ? length - t->turn : 1;
}

/* For how long a CPU's own virtual time is of use after it took somebody. */
#define RECENT 100000000ULL

/*
 * The virtual time of those with whom a thread on this CPU competes. Threads that share no CPU get on at different speeds: where a CPU
 * took somebody just now, that counts.
 */
static __always_inline u64 now_on(u32 cpu)
{
	struct cpu *c = cpu_of(cpu);

	return c->running == RUNNING_NORMAL || bpf_ktime_get_ns() - c->front_at < RECENT ? c->front : front;
}

/* The least of that on any of these CPUs. Who is let run elsewhere waits by it: no CPU's own then always come before him. */
static u64 now_on_any(const struct cpumask *mask)
{
	u64 least = front, now;
	u32 cpu;
	int i;

	bpf_for(i, 0, settings.cpus) {
		cpu = i;
		if (!bpf_cpumask_test_cpu(cpu, mask))
			continue;
		now = now_on(cpu);
		if (before(now, least))
			least = now;
	}
	return least;
}

/* What two quanta are charged. */
static __always_inline u64 bound(const struct task_struct *p)
{
	return 2 * settings.quantum * NICE_0_WEIGHT / (p->scx.weight ?: NICE_0_WEIGHT);
}

/* A thread that slept has missed nothing: at most a quantum is made good. */
static __always_inline void keep_up(struct thread *t, u32 cpu)
{
	u64 least = now_on(cpu) - settings.quantum;

	if (before(t->vtime, least))
		t->vtime = least;
}

/* Nobody is to pay for what he had where others did not want it. */
static __always_inline void wait_for(struct task_struct *p, struct thread *t, u64 now)
{
	u64 most = now + bound(p);

	if (before(most, t->vtime))
		t->vtime = most;
}

/* A thread comes to a CPU: if it is among others now, it neither goes before them for long, nor after them. */
static __always_inline void arrive(struct task_struct *p, struct thread *t, u32 cpu)
{
	if (!t->moved && t->last == (s32)cpu)
		return;
	t->moved = 0;
	t->last = cpu;
	keep_up(t, cpu);
	wait_for(p, t, now_on(cpu));
}

static __always_inline void give(const struct task_struct *p, const struct thread *t, u32 cpu)
{
	struct given *given;

	if (t->key == NO_KEY)
		return;
	given = reserve(sizeof(*given));
	if (!given)
		return;
	given->kind = GIVEN;
	given->cpu = cpu;
	given->tid = p->pid;
	given->key = t->key;
	given->at = bpf_ktime_get_ns();
	given->ordered = length_of(t);
	given->ran = t->turn;
	submit(given, given->at);
}

/* Charges what a thread had since it was charged last. */
static __always_inline void charge(struct task_struct *p, struct thread *t)
{
	u64 had = p->se.sum_exec_runtime, ran = had - t->charged, length = length_of(t);
	u32 weight = p->scx.weight ?: NICE_0_WEIGHT;

	t->charged = had;
	/* Another thread's time, if this one took over its number; nothing was measured then. */
	if ((s64)ran < 0)
		ran = 0;
	if (ran > LONGEST)
		ran = LONGEST;
	t->turn += ran;
	if (length < settings.quantum / SHORTEST)
		length = settings.quantum / SHORTEST ?: 1;
	t->vtime += ran * settings.quantum / length * NICE_0_WEIGHT / weight;
}

/* A turn ends with what was ordered, or before it, when the thread gives it up. The next begins with the next charge. */
static __always_inline void finish(const struct task_struct *p, struct thread *t, u32 cpu, bool gives_up)
{
	if (t->turn < length_of(t) && !(gives_up && t->turn))
		return;
	give(p, t, cpu);
	t->turn = 0;
	t->ordered = 0;
}

/* The first that is known of a thread. */
static __always_inline void start(const struct task_struct *p, struct thread *t)
{
	if (t->known)
		return;
	t->known = 1;
	t->key = NO_KEY;
	t->cpu = NOWHERE;
	t->last = NOWHERE;
	t->moved = 1;
	t->vtime = front;
	t->charged = p->se.sum_exec_runtime;
}

#endif
