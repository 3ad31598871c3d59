/* SPDX-License-Identifier: (MIT OR Apache-2.0) OR GPL-2.0-only */
/*
 * Queues, each in the order of virtual time. The threads of a queue have the same CPUs, so that a
 * CPU need only look at the first of each of its queues, however many threads wait: one for threads
 * that may use no other CPU, and one for each set of CPUs to which it belongs. Each is twofold: for
 * raised threads, and for the others.
 *
 * A queue is where a thread is looked for. Whether the thread may run on a CPU is checked when it is
 * taken: one whose CPUs have changed meanwhile is moved to its queue by the first CPU that finds it.
 */
#ifndef FAIRWAYS_QUEUES_H
#define FAIRWAYS_QUEUES_H

#include "turns.h"

/* How often a CPU looks for threads that have waited too long, whatever goes before them. */
#define MERCY_EVERY 50000000ULL

/* How many threads of a queue are looked at, where the first ones are not wanted: they have other
 * CPUs by now, or wait for less long. */
#define DEPTH 8

/* The same, as a number that the verifier does not know: it need not go through each round then. */
static volatile u32 depth = DEPTH;

/* A queue's number; 0 is none. */
static __always_inline u64 numbered(u32 place, bool raised)
{
	return 1 + 2 * (u64)place + raised;
}

/* The queue of those that may use this CPU only. */
static __always_inline u64 own_queue(u32 cpu, bool raised)
{
	return numbered(MAX_SETS + cpu, raised);
}

static __always_inline bool is_waiting(u64 queue)
{
	return scx_bpf_dsq_nr_queued(queue) > 0;
}

/* Whether a set is being changed. */
static u32 changing;

/* How many sets were ever used. */
static u32 used;

/* Makes a set of the CPUs that a thread may use. */
static void make_set(u32 index, u64 hash, const struct cpumask *mask)
{
	u64 bit = 1ULL << (index & (MAX_SETS - 1));
	u32 cpu;
	int i;

	set_of(index)->hash = hash;
	bpf_for(i, 0, settings.cpus) {
		cpu = i;
		if (bpf_cpumask_test_cpu(cpu, mask))
			cpu_of(cpu)->sets |= bit;
		else
			cpu_of(cpu)->sets &= ~bit;
	}
	if (used <= index)
		used = index + 1;
}

/* Finds the set of a thread's CPUs, or makes one of a set that no thread has. */
static void join_set(struct thread *t, const struct cpumask *mask)
{
	u32 index, free = MAX_SETS;
	int i;

	/* Another CPU is at it: next time. */
	if (__sync_lock_test_and_set(&changing, 1))
		return;
	bpf_for(i, 0, settings.sets) {
		index = i;
		if (set_of(index)->hash == t->hash) {
			free = index;
			break;
		}
		if (free == MAX_SETS && !*(volatile u32 *)&set_of(index)->threads)
			free = index;
	}
	if (free < MAX_SETS) {
		if (set_of(free)->hash != t->hash)
			make_set(free, t->hash, mask);
		__sync_fetch_and_add(&set_of(free)->threads, 1);
		t->set = free + 1;
	}
	__sync_lock_test_and_set(&changing, 0);
}

/* A CPU for a thread without a queue for all of its CPUs: an idle one, if it has one. */
static __always_inline u32 one_of(struct task_struct *p, const struct cpumask *mask)
{
	s32 cpu = scx_bpf_pick_idle_cpu(mask, 0);

	if (cpu < 0)
		cpu = bpf_cpumask_any_distribute(mask);
	if ((u32)cpu >= settings.cpus || cpu_of(cpu)->offline)
		cpu = scx_bpf_task_cpu(p);
	if (!cpu_of(cpu)->offline)
		scx_bpf_kick_cpu(cpu, SCX_KICK_IDLE);
	return cpu;
}

static __always_inline u64 its_queue(struct task_struct *p, struct thread *t)
{
	const struct cpumask *mask = mask_of(p, t);

	if (!t)
		return own_queue(one_of(p, mask), false);
	if (t->count == 1)
		return own_queue(t->highest, t->raised);
	if (!t->set && is_built(t))
		join_set(t, mask);
	if (t->set)
		return numbered(t->set - 1, t->raised);
	return own_queue(one_of(p, mask), t->raised);
}

/* The queue in which a thread waits. */
__noinline u64 queue_of(struct task_struct *p __arg_trusted)
{
	u64 queue;

	bpf_rcu_read_lock();
	queue = its_queue(p, thread_of(p));
	bpf_rcu_read_unlock();
	return queue;
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

/* Moves a waiting thread to the queue in which it belongs now. */
static __always_inline void change_queue(struct task_struct *p, struct thread *t)
{
	u64 from = t->queue, to = queue_of(p);
	struct task_struct *q;

	if (!from)
		return;
	t->queue = to;
	/* Any thread of a queue may be moved while it is gone through. */
	bpf_for_each(scx_dsq, q, from, 0) {
		move_vtime(ITERATOR, p, t->vtime, to);
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
	change_queue(p, t);
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
 * A CPU's queue with the first wanted thread, raised ones or others; 0 if there is none. Wanted are
 * threads that may run on the CPU, and if `since` is not 0, that wait since before it. If `moves`,
 * threads that are here no longer go to their queue.
 */
static __always_inline u64 search(u32 cpu, bool raised, u64 since, bool moves)
{
	u64 mine = cpu_of(cpu)->sets, best = 0, least = 0, queue, vtime, to;
	struct task_struct *p;
	struct thread *t;
	u32 index, left;
	int i;

	bpf_for(i, 0, used + 1) {
		index = i;
		/* The last one is its own. */
		if (index < used && !(mine >> (index & (MAX_SETS - 1)) & 1))
			continue;
		queue = index < used ? numbered(index, raised) : own_queue(cpu, raised);
		if (!is_waiting(queue))
			continue;
		left = depth;
		bpf_for_each(scx_dsq, p, queue, 0) {
			if (!left--)
				break;
			t = thread_of(p);
			if (t && since && before(since, t->waits_since))
				continue;
			if (t ? may_run_on(p, t, cpu) : bpf_cpumask_test_cpu(cpu, p->cpus_ptr)) {
				vtime = vtime_of(t);
				if (!best || before(vtime, least)) {
					best = queue;
					least = vtime;
				}
				break;
			}
			if (!moves)
				continue;
			to = queue_of(p);
			if (to != queue && move_vtime(ITERATOR, p, vtime_of(t), to) && t)
				t->queue = to;
		}
	}
	return best;
}

/* Functions that the verifier looks at once, and not wherever they are called. Only where a CPU looks
 * for its next thread may threads be moved. */
__noinline u64 best_queue(u32 cpu, u32 raised, u64 since)
{
	return search(cpu, raised, since, true);
}

__noinline u64 wanted_queue(u32 cpu, u32 raised, u64 since)
{
	return search(cpu, raised, since, false);
}

/*
 * Lets a CPU take the first thread that may run on it, a raised one or another; if `since` is not 0,
 * only one that waits since before it, and if there is `prev`, only one with less virtual time.
 */
static __always_inline bool take(bool raised, s32 cpu, u64 since, const struct thread *prev)
{
	u64 queue = best_queue(cpu, raised, since);
	struct task_struct *p;
	struct thread *t;
	bool taken = false;
	u32 left = depth;

	if (!queue)
		return false;
	bpf_for_each(scx_dsq, p, queue, 0) {
		if (!left--)
			break;
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

/* Whether a thread waits that a CPU may take; one that waits since before `since`, if not 0. */
static __always_inline bool is_wanted(bool raised, u32 cpu, u64 since)
{
	return wanted_queue(cpu, raised, since) != 0;
}

/* Moves threads that no longer belong in a queue to theirs: `most` of the first ones. */
static void move_misplaced(u64 queue, u32 most)
{
	struct task_struct *p;
	struct thread *t;
	u64 to;

	if (!is_waiting(queue))
		return;
	bpf_for_each(scx_dsq, p, queue, 0) {
		if (!most--)
			break;
		t = thread_of(p);
		to = queue_of(p);
		if (to == queue)
			continue;
		if (move_vtime(ITERATOR, p, vtime_of(t), to) && t)
			t->queue = to;
		offer(p, t);
	}
}

/* The same in all queues of a CPU that is off line: no other may look at these. */
__noinline int rescue_from(u32 cpu, u32 most)
{
	u64 mine = cpu_of(cpu)->sets;
	int i;

	bpf_for(i, 0, 2 * used) {
		if (mine >> (i / 2 & (MAX_SETS - 1)) & 1)
			move_misplaced(1 + i, most);
	}
	move_misplaced(own_queue(cpu, false), most);
	move_misplaced(own_queue(cpu, true), most);
	return 0;
}

/* Threads that came to a queue while its CPUs went off line. */
static __always_inline void rescue(void)
{
	u32 cpu;
	int i;

	if (!gone)
		return;
	bpf_for(i, 0, settings.cpus) {
		cpu = i;
		if (cpu_of(cpu)->has_gone)
			rescue_from(cpu, depth);
	}
}

/* Other CPUs whose queues a CPU looks at in a tick. */
#define LOOKED_AT 4

/* A CPU that became idle while a thread came may not have been seen. */
static __always_inline void offer_first(u32 cpu)
{
	struct cpu *c = cpu_of(cpu);
	struct task_struct *p;
	u64 queue;
	u32 other;
	int i;

	bpf_for(i, 0, 2 * used) {
		queue = 1 + i;
		if (!is_waiting(queue))
			continue;
		bpf_for_each(scx_dsq, p, queue, 0) {
			offer(p, thread_of(p));
			break;
		}
	}
	bpf_for(i, 0, LOOKED_AT) {
		other = c->cursor < settings.cpus ? c->cursor : 0;
		c->cursor = other + 1;
		if (!cpu_of(other)->offline && (is_waiting(own_queue(other, false)) || is_waiting(own_queue(other, true))))
			scx_bpf_kick_cpu(other, SCX_KICK_IDLE);
	}
}

#endif
