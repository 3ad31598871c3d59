/* SPDX-License-Identifier: (MIT OR Apache-2.0) OR GPL-2.0-only */
/*
 * Two queues, each in the order of virtual time: one of raised threads, and one of the others. A
 * CPU takes the first thread that may run on it.
 */
#ifndef FAIRWAYS_QUEUES_H
#define FAIRWAYS_QUEUES_H

#include "turns.h"

enum queue { NORMAL = 1, RAISED = 2 };

/* How often a CPU looks for threads that have waited too long, whatever goes before them. */
#define MERCY_EVERY 50000000ULL

static __always_inline bool is_waiting(u64 queue)
{
	return scx_bpf_dsq_nr_queued(queue) > 0;
}

/* Makes an idle CPU on which a thread may run look at the queues. Returns whether there was one. */
static __always_inline bool offer(struct task_struct *p, struct thread *t)
{
	s32 cpu = scx_bpf_pick_idle_cpu(mask_of(p, t), 0);

	/* A CPU that goes off line would never do it, nor later requests. */
	if (cpu < 0 || cpu_of(cpu)->offline)
		return false;
	scx_bpf_kick_cpu(cpu, SCX_KICK_IDLE);
	return true;
}

/* Takes a CPU from a thread of ours that is not raised, for one that is. */
static __always_inline void preempt(const struct cpumask *mask)
{
	struct cpu *c;
	u32 cpu;
	int i;

	bpf_for(i, 0, settings.cpus) {
		cpu = i;
		c = cpu_of(cpu);
		if (c->running != RUNNING_NORMAL || !bpf_cpumask_test_cpu(cpu, mask))
			continue;
		/* The next raised thread looks for another CPU. */
		if (__sync_val_compare_and_swap(&c->running, RUNNING_NORMAL, RUNNING_RAISED) != RUNNING_NORMAL)
			continue;
		scx_bpf_kick_cpu(cpu, SCX_KICK_PREEMPT);
		break;
	}
}

/* Moves a waiting thread into the other queue. */
static __always_inline void change_queue(struct task_struct *p, u64 vtime, u64 from, u64 to)
{
	struct task_struct *q;

	bpf_for_each(scx_dsq, q, from, 0) {
		if (q->pid != p->pid)
			continue;
		move_vtime(ITERATOR, q, vtime, to);
		break;
	}
}

static __always_inline void raise(struct task_struct *p, struct thread *t, bool raised)
{
	s32 cpu;

	if (t->raised == raised)
		return;
	t->raised = raised;
	cpu = place_of(t);
	/* If another thread runs there by now, its next tick corrects this. */
	if (cpu != NOWHERE)
		__sync_val_compare_and_swap(&cpu_of(cpu)->running, raised ? RUNNING_NORMAL : RUNNING_RAISED,
					    raised ? RUNNING_RAISED : RUNNING_NORMAL);
	if (!settings.scheduling || p->policy != SCHED_EXT)
		return;
	/* CPU time that it used before others is no debt. */
	t->moved = 1;
	bpf_rcu_read_lock();
	if (!raised)
		wait_for(p, t, now_on_any(mask_of(p, t)));
	change_queue(p, t->vtime, raised ? NORMAL : RAISED, raised ? RAISED : NORMAL);
	if (raised && place_of(t) == NOWHERE)
		preempt(mask_of(p, t));
	bpf_rcu_read_unlock();
}

/*
 * Brings a thread to a CPU: it announces that first, and then looks whether it may, so that a
 * change of the thread's CPUs sees either the old state, or the announcement. `as` is the announced
 * value.
 */
static __always_inline bool claim(struct task_struct *p, struct thread *t, s32 cpu, s32 as)
{
	/* This rules out most CPUs that it may not use. */
	if (!may_run_on(p, t, cpu))
		return false;
	if (__sync_val_compare_and_swap(&t->cpu, NOWHERE, as) != NOWHERE)
		return false;
	if (may_run_on(p, t, cpu))
		return true;
	__sync_val_compare_and_swap(&t->cpu, as, NOWHERE);
	return false;
}

/*
 * Lets a CPU take the first thread from a queue that may run on it; if `since` is not 0, only one
 * that waits since before it, and if there is `prev`, only one with less virtual time.
 */
static __always_inline bool take(u64 queue, s32 cpu, u64 since, const struct thread *prev)
{
	struct task_struct *p;
	struct thread *t;
	bool taken = false;

	bpf_for_each(scx_dsq, p, queue, 0) {
		t = thread_of(p);
		if (!t) {
			/* No memory for it: it runs where its owner lets it. */
			if (!bpf_cpumask_test_cpu(cpu, p->cpus_ptr))
				continue;
			taken = move(ITERATOR, p, settings.quantum);
		} else {
			if (since && before(since, t->waits_since))
				continue;
			if (prev && !before(t->vtime, prev->vtime))
				break;
			if (!claim(p, t, cpu, cpu | TAKING))
				continue;
			arrive(p, t, cpu);
			if (since) {
				wait_for(p, t, now_on(cpu));
				t->spared = 1;
			}
			taken = move(ITERATOR, p, slice_of(t));
			/* It had gone elsewhere, and may even be on its way here by now. */
			if (!taken)
				__sync_val_compare_and_swap(&t->cpu, cpu | TAKING, NOWHERE);
		}
		if (taken)
			break;
	}
	return taken;
}

/* Whether a queue has a thread that may run on a CPU; waiting since before `since`, if not 0. */
static __always_inline bool is_wanted(u64 queue, u32 cpu, u64 since)
{
	struct task_struct *p;
	struct thread *t;
	bool wanted = false;

	if (!is_waiting(queue))
		return false;
	bpf_for_each(scx_dsq, p, queue, 0) {
		t = thread_of(p);
		if (t && since && before(since, t->waits_since))
			continue;
		wanted = t ? may_run_on(p, t, cpu) : bpf_cpumask_test_cpu(cpu, p->cpus_ptr);
		if (wanted)
			break;
	}
	return wanted;
}

/* Threads at the head of a queue that are offered to idle CPUs at a tick. */
#define OFFERED 8

/* A CPU that became idle while a thread came may not have been seen. */
static __always_inline void offer_first(u64 queue)
{
	struct task_struct *p;
	int left = OFFERED;

	if (!is_waiting(queue))
		return;
	bpf_for_each(scx_dsq, p, queue, 0) {
		if (!left--)
			break;
		offer(p, thread_of(p));
	}
}

#endif
