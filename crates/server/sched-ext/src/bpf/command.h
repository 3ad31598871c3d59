/* SPDX-License-Identifier: (MIT OR Apache-2.0) OR GPL-2.0-only */
/*
 * Commands from user space.
 */
#ifndef FAIRWAYS_COMMAND_H
#define FAIRWAYS_COMMAND_H

#include "queues.h"

extern struct task_struct *bpf_task_from_vpid(s32 pid) __ksym __weak;

/* A thread by the caller's number, where the kernel knows it. */
static __always_inline struct task_struct *task(s32 tid)
{
	if (bpf_ksym_exists(bpf_task_from_vpid))
		return bpf_task_from_vpid(tid);
	return bpf_task_from_pid(tid);
}

static __always_inline void allow(struct thread *t, const struct command *c)
{
	u64 any = 0;
	int i;

	add_first(&t->version, 1);
	for (i = 0; i < CPU_WORDS; i++) {
		t->allowed[i] = c->cpus[i];
		any |= c->cpus[i];
	}
	t->restricted = any != 0;
	t->moved = 1;
	add_first(&t->version, 1);
}

/*
 * The CPU on which a thread is, or to which it is on its way. It is still on one while it leaves
 * it, and while the kernel stops it to have it run again; and, wherever it waits, while it may not
 * be moved.
 */
static __always_inline s32 cpu_with(struct task_struct *p, struct thread *t)
{
	s32 cpu = place_of(t);

	/* A kernel in which this only watches may lack the call. */
	if (!settings.scheduling || cpu != NOWHERE)
		return cpu;
	return p->on_cpu || p->migration_disabled ? scx_bpf_task_cpu(p) : NOWHERE;
}

/* Whether a thread is on no CPU that it may not use. Where none of its allowed CPUs is on line and
 * allowed by its owner, all of the owner's count. */
static __always_inline bool in_force(struct task_struct *p, struct thread *t, s32 cpu)
{
	bool any;

	if (cpu == NOWHERE || !t->restricted || in_words(t->allowed, cpu))
		return true;
	/* Its mask is a single CPU meanwhile. */
	if (p->migration_disabled)
		return false;
	bpf_rcu_read_lock();
	any = any_allowed(p, t);
	bpf_rcu_read_unlock();
	return !any;
}

/* A waiting thread now has other competitors; and a CPU new to it may be idle. */
static __always_inline void offer_again(struct task_struct *p, struct thread *t)
{
	if (!settings.scheduling || p->policy != SCHED_EXT || place_of(t) != NOWHERE)
		return;
	bpf_rcu_read_lock();
	wait_for(p, t, now_on_any(mask_of(p, t)));
	change_queue(p, t);
	offer(p, t);
	bpf_rcu_read_unlock();
}

SEC("syscall")
int command(struct command *c)
{
	struct task_struct *p;
	struct thread *t;
	bool ends;
	int answer = 0;
	s32 cpu;

	p = task(c->tid);
	if (!p)
		return -ESRCH;
	__sync_lock_test_and_set(&held, p->pid);
	ends = p->flags & PF_EXITING;
	t = ends ? NULL : c->operation == OP_ADD ? new_thread(p) : thread_of(p);
	if (!t) {
		if (c->operation != OP_REMOVE)
			answer = c->operation == OP_ADD && !ends ? -ENOMEM : -ESRCH;
		goto out;
	}
	switch (c->operation) {
	case OP_ADD:
	case OP_REMOVE:
		start(p, t);
		t->key = c->operation == OP_ADD ? c->key : NO_KEY;
		t->next = 0;
		__builtin_memset(c->cpus, 0, sizeof(c->cpus));
		allow(t, c);
		raise(p, t, false);
		offer_again(p, t);
		if (c->operation == OP_REMOVE && p->policy != SCHED_EXT)
			forget(p);
		break;
	case OP_ALLOW:
		allow(t, c);
		cpu = cpu_with(p, t);
		c->answer = in_force(p, t, cpu);
		if (!settings.scheduling)
			break;
		if (!c->answer)
			scx_bpf_kick_cpu(cpu, SCX_KICK_PREEMPT);
		offer_again(p, t);
		break;
	case OP_IN_FORCE:
		c->answer = in_force(p, t, cpu_with(p, t));
		break;
	case OP_RAISE:
		raise(p, t, c->value != 0);
		break;
	case OP_ORDER:
		t->next = c->value;
		break;
	default:
		answer = -EINVAL;
	}
out:
	__sync_lock_test_and_set(&held, 0);
	/* Its end may have left that to this. */
	if (p->flags & PF_EXITING)
		forget(p);
	bpf_task_release(p);
	return answer;
}

#endif
