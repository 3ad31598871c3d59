/* SPDX-License-Identifier: (MIT OR Apache-2.0) OR GPL-2.0-only */
/*
 * Accounts CPU time. A thread's virtual time is the CPU time that it used, divided by its order and
 * its weight: with twice the quantum ordered, it is charged half, and so has twice the time of a
 * thread without an order.
 */
#ifndef FAIRWAYS_TURNS_H
#define FAIRWAYS_TURNS_H

#include "records.h"

#define NICE_0_WEIGHT 100

/* More than any turn lasts, and small enough to be multiplied with a quantum. */
#define LONGEST 10000000000ULL

/* The part of a quantum as which a shorter order is charged: a tick is no more than some turns
 * then. */
#define SHORTEST 64

/* The furthest virtual time of a thread that ran. */
static u64 front;

static __always_inline bool before(u64 a, u64 b)
{
	return (s64)(a - b) < 0;
}

/* A thread's virtual time; of one without an entry, that of the first. Volatile, so that the compiler
 * does not choose between two addresses before it knows whether there is an entry. */
static __always_inline u64 vtime_of(const struct thread *t)
{
	if (!t)
		return *(volatile u64 *)&front;
	return *(volatile u64 *)&t->vtime;
}

static __always_inline u64 length_of(const struct thread *t)
{
	return t->ordered ?: settings.quantum;
}

/* The rest of the turn; an order takes effect for a turn that has not begun yet. */
static __always_inline u64 slice_of(struct thread *t)
{
	u64 length;

	if (!t->turn && t->next)
		t->ordered = __sync_lock_test_and_set(&t->next, 0);
	length = length_of(t);
	return t->turn < length ? length - t->turn : 1;
}

/* How long a CPU's own virtual time is valid after it took a thread. */
#define RECENT 100000000ULL

/*
 * The virtual time of the threads that compete with one on this CPU. Threads that share no CPU
 * progress at different speeds: if a CPU took a thread just now, that thread's time counts.
 */
static __always_inline u64 now_on(u32 cpu)
{
	struct cpu *c = cpu_of(cpu);

	return c->running == RUNNING_NORMAL || bpf_ktime_get_ns() - c->front_at < RECENT ? c->front : front;
}

/* The least of that on any of these CPUs. A thread that may run elsewhere waits by it: no CPU's own
 * threads then always come before it. */
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

/* The charge for two quanta. */
static __always_inline u64 bound(const struct task_struct *p)
{
	return 2 * settings.quantum * NICE_0_WEIGHT / (p->scx.weight ?: NICE_0_WEIGHT);
}

/* A thread that slept has missed nothing: it is credited at most a quantum. */
static __always_inline void keep_up(struct thread *t, u32 cpu)
{
	u64 least = now_on(cpu) - settings.quantum;

	if (before(t->vtime, least))
		t->vtime = least;
}

/* A thread does not pay for CPU time that others did not want. */
static __always_inline void wait_for(struct task_struct *p, struct thread *t, u64 now)
{
	u64 most = now + bound(p);

	if (before(most, t->vtime))
		t->vtime = most;
}

/* A thread comes to a CPU: among its new competitors it goes neither first nor last for long. */
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
	struct finished_turn *finished;

	if (t->key == NO_KEY)
		return;
	finished = reserve(sizeof(*finished));
	if (!finished)
		return;
	finished->kind = FINISHED;
	finished->cpu = cpu;
	finished->tid = p->pid;
	finished->key = t->key;
	finished->at = bpf_ktime_get_ns();
	finished->ordered = length_of(t);
	finished->ran = t->turn;
	submit(finished, finished->at);
}

/* Charges a thread's CPU time since it was last charged. */
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

/* A turn ends when the ordered time is used, or before it, when the thread gives it up. The next
 * begins with the next charge. */
static __always_inline void finish(const struct task_struct *p, struct thread *t, u32 cpu, bool gives_up)
{
	if (t->turn < length_of(t) && !(gives_up && t->turn))
		return;
	give(p, t, cpu);
	t->turn = 0;
	t->ordered = 0;
}

/* Initialises a thread's entry. */
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
