// SPDX-License-Identifier: (MIT OR Apache-2.0) OR GPL-2.0-only
/*
 * A scheduler for the threads that a policy manages: those of the class SCHED_EXT. All others stay
 * with the kernel's own. All decisions are made here, so that a loader that stands still does no
 * harm; when it is gone, the kernel takes all threads back.
 */
#include "kernel.h"

#include "command.h"
#include "watch.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

struct ended ended SEC(".data.ended");

SEC("struct_ops/select_cpu")
s32 BPF_PROG(select_cpu, struct task_struct *p, s32 last, u64 wake_flags)
{
	struct thread *t = thread_of(p);
	const struct cpumask *mask;
	s32 cpu = -1;
	bool here;

	if (!t)
		return last;
	mask = mask_of(p, t);
	here = bpf_cpumask_test_cpu(last, mask);
	if (here && scx_bpf_test_and_clear_cpu_idle(last))
		cpu = last;
	else
		cpu = scx_bpf_pick_idle_cpu(mask, 0);
	if (cpu >= 0) {
		*(volatile s32 *)&t->cpu = NOWHERE;
		keep_up(t, cpu);
		if (claim(p, t, cpu, cpu)) {
			arrive(p, t, cpu);
			insert(p, SCX_DSQ_LOCAL, slice_of(t), 0);
		}
		return cpu;
	}
	if (here)
		return last;
	cpu = bpf_cpumask_any_distribute(mask);
	return (u32)cpu < settings.cpus ? cpu : last;
}

SEC("struct_ops/enqueue")
void BPF_PROG(enqueue, struct task_struct *p, u64 flags)
{
	struct thread *t = thread_of(p);
	s32 cpu = scx_bpf_task_cpu(p);

	if (!t) {
		insert_vtime(p, queue_of(p), settings.quantum, front, flags);
		return;
	}
	*(volatile s32 *)&t->cpu = NOWHERE;
	if (flags & SCX_ENQ_WAKEUP)
		keep_up(t, cpu);
	/* The virtual time that it had at the old place means nothing at the new one. */
	if (t->moved)
		wait_for(p, t, now_on_any(mask_of(p, t)));
	else if (flags & SCX_ENQ_WAKEUP && t->last != cpu)
		wait_for(p, t, now_on(cpu));
	t->waits_since = bpf_ktime_get_ns();
	t->queue = queue_of(p);
	insert_vtime(p, t->queue, slice_of(t), t->vtime, flags);
	if (!offer(p, t) && t->raised)
		preempt(mask_of(p, t));
}

/* Records that a thread has a CPU, for those that look for one, and how far the thread is. */
static __always_inline void runs(const struct thread *t, struct cpu *c)
{
	c->running = t->raised || t->spared ? RUNNING_RAISED : RUNNING_NORMAL;
	if (t->raised)
		return;
	c->front = t->vtime;
	c->front_at = bpf_ktime_get_ns();
	if (before(front, t->vtime))
		front = t->vtime;
}

SEC("struct_ops/dispatch")
void BPF_PROG(dispatch, s32 cpu, struct task_struct *prev)
{
	/* A thread that went to sleep has had its turn, and stands in no other's way. */
	struct thread *t = prev && prev->scx.flags & SCX_TASK_QUEUED ? thread_of(prev) : NULL;
	struct cpu *c = cpu_of(cpu);
	bool stays = false, yields = false, first;
	u64 now;

	if (t) {
		yields = t->yields;
		charge(prev, t);
		stays = may_run_on(prev, t, cpu);
	}
	now = bpf_ktime_get_ns();
	if (before(c->mercy, now)) {
		c->mercy = now + MERCY_EVERY;
		rescue();
		first = c->turnabout;
		c->turnabout = !first;
		if (take(first, cpu, now - settings.patience, NULL) ||
		    take(!first, cpu, now - settings.patience, NULL))
			return;
	}
	if (take(true, cpu, 0, stays && t && t->raised && !yields ? t : NULL))
		return;
	if (!stays || !t || !t->raised) {
		if (take(false, cpu, 0, stays && !yields ? t : NULL))
			return;
	}
	if (!stays || !t) {
		rescue();
		return;
	}
	/* No thread that comes before it waits. */
	if (!is_wanted(false, cpu, 0))
		wait_for(prev, t, front);
	finish(prev, t, cpu, yields);
	t->yields = 0;
	set_slice(prev, slice_of(t));
	/* The kernel does not report a thread that goes on. */
	runs(t, c);
}

/* Whether a thread must leave its CPU before its turn is over. */
static __always_inline bool is_to_leave(struct task_struct *p, struct thread *t, s32 cpu)
{
	struct cpu *c = cpu_of(cpu);
	u64 now = bpf_ktime_get_ns(), since = now - settings.patience;

	if (!may_run_on(p, t, cpu))
		return true;
	c->running = t->raised || t->spared ? RUNNING_RAISED : RUNNING_NORMAL;
	if (c->running == RUNNING_NORMAL && is_wanted(true, cpu, 0))
		return true;
	/* An ordered turn may be longer than a thread may have to wait: it goes on afterwards. */
	if (!before(c->mercy, now) || t->spared)
		return false;
	if (is_wanted(false, cpu, since) || is_wanted(true, cpu, since))
		return true;
	c->mercy = now + MERCY_EVERY;
	return false;
}

SEC("struct_ops/tick")
void BPF_PROG(tick, struct task_struct *p)
{
	struct thread *t = thread_of(p);

	s32 cpu = scx_bpf_task_cpu(p);

	if (t && is_to_leave(p, t, cpu)) {
		set_slice(p, 0);
		return;
	}
	offer_first(cpu);
}

/*
 * A change to a running thread (to its owner's affinity, say) stops it and has it run again in
 * place, with callbacks on its own CPU.
 */
SEC("struct_ops/running")
void BPF_PROG(running, struct task_struct *p)
{
	struct thread *t = thread_of(p);
	s32 cpu = scx_bpf_task_cpu(p);
	struct cpu *c = cpu_of(cpu);

	if (!t)
		return;
	*(volatile s32 *)&t->cpu = cpu;
	runs(t, c);
}

SEC("struct_ops/stopping")
void BPF_PROG(stopping, struct task_struct *p, bool runnable)
{
	struct thread *t = thread_of(p);
	s32 cpu = scx_bpf_task_cpu(p);
	struct cpu *c = cpu_of(cpu);

	if (c->running == RUNNING_NORMAL)
		c->front_at = bpf_ktime_get_ns();
	c->running = RUNNING_NONE;
	if (!t)
		return;
	charge(p, t);
	finish(p, t, cpu, !runnable || t->yields);
	t->spared = 0;
	t->yields = 0;
	if (!runnable)
		*(volatile s32 *)&t->cpu = NOWHERE;
}

SEC("struct_ops/yield")
bool BPF_PROG(yield, struct task_struct *from, struct task_struct *to)
{
	struct thread *t = thread_of(from);

	if (t)
		t->yields = 1;
	set_slice(from, 0);
	return false;
}

SEC("struct_ops/set_cpumask")
void BPF_PROG(set_cpumask, struct task_struct *p, const struct cpumask *mask)
{
	struct thread *t = thread_of(p);

	if (t)
		add_first(&t->version, 2);
}

SEC("struct_ops/update_idle")
void BPF_PROG(update_idle, s32 cpu, bool idle)
{
	/* A request that a CPU going off line makes to itself then is never done, nor are later ones. */
	if (!idle || cpu_of(cpu)->offline)
		return;
	if (is_wanted(true, cpu, 0) || is_wanted(false, cpu, 0))
		scx_bpf_kick_cpu(cpu, 0);
}

static void hotplugged(s32 cpu, bool offline)
{
	struct cpu *c = cpu_of(cpu);
	int i;

	c->offline = offline;
	add_first(&hotplug, 1);
	if (c->has_gone != offline)
		add_first(&gone, offline ? 1 : -1);
	c->has_gone = offline;
	if (offline)
		rescue_from(cpu, -1);
	/* Threads that could run on no other CPU may do so now. */
	bpf_for(i, 0, settings.cpus) {
		if (!cpu_of(i)->offline)
			scx_bpf_kick_cpu(i, SCX_KICK_IDLE);
	}
}

SEC("struct_ops/cpu_online")
void BPF_PROG(cpu_online, s32 cpu)
{
	hotplugged(cpu, false);
}

SEC("struct_ops/cpu_offline")
void BPF_PROG(cpu_offline, s32 cpu)
{
	hotplugged(cpu, true);
}

/* A child may run where its parent may, until user space reports it; it is not raised: its parent
 * was, for what it does itself. */
SEC("struct_ops.s/init_task")
s32 BPF_PROG(init_task, struct task_struct *p, struct scx_init_task_args *args)
{
	struct thread *parent, *t;
	int i;

	if (!args->fork)
		return 0;
	parent = thread_of(bpf_get_current_task_btf());
	if (!parent)
		return 0;
	t = new_thread(p);
	if (!t)
		return 0;
	for (i = 0; i < CPU_WORDS; i++)
		t->allowed[i] = parent->allowed[i];
	t->restricted = parent->restricted;
	start(p, t);
	return 0;
}

SEC("struct_ops/exit_task")
void BPF_PROG(exit_task, struct task_struct *p, struct scx_exit_task_args *args)
{
	forget_ended(p);
}

SEC("struct_ops/enable")
void BPF_PROG(enable, struct task_struct *p)
{
	struct thread *t = new_thread(p);

	if (!t)
		return;
	start(p, t);
	t->moved = 1;
	t->charged = p->se.sum_exec_runtime;
}

SEC("struct_ops/disable")
void BPF_PROG(disable, struct task_struct *p)
{
	struct thread *t = thread_of(p);

	if (t)
		*(volatile s32 *)&t->cpu = NOWHERE;
}

SEC("struct_ops.s/init")
s32 BPF_PROG(init)
{
	const struct cpumask *online;
	int i, error;

	bpf_for(i, 0, 2 * (MAX_SETS + settings.cpus)) {
		error = scx_bpf_create_dsq(1 + i, -1);
		if (error)
			return error;
	}
	online = scx_bpf_get_online_cpumask();
	bpf_for(i, 0, settings.cpus)
		cpu_of(i)->offline = !bpf_cpumask_test_cpu(i, online);
	scx_bpf_put_cpumask(online);
	return 0;
}

SEC("struct_ops/exit")
void BPF_PROG(ends, struct scx_exit_info *info)
{
	bpf_probe_read_kernel_str(ended.reason, sizeof(ended.reason), info->reason);
	bpf_probe_read_kernel_str(ended.message, sizeof(ended.message), info->msg);
	ended.code = info->exit_code;
	__sync_lock_test_and_set(&ended.kind, info->kind);
}

SEC(".struct_ops.link")
struct sched_ext_ops fairways = {
	.select_cpu = (void *)select_cpu,
	.enqueue = (void *)enqueue,
	.dispatch = (void *)dispatch,
	.tick = (void *)tick,
	.running = (void *)running,
	.stopping = (void *)stopping,
	.yield = (void *)yield,
	.set_cpumask = (void *)set_cpumask,
	.update_idle = (void *)update_idle,
	.cpu_online = (void *)cpu_online,
	.cpu_offline = (void *)cpu_offline,
	.init_task = (void *)init_task,
	.exit_task = (void *)exit_task,
	.enable = (void *)enable,
	.disable = (void *)disable,
	.init = (void *)init,
	.exit = (void *)ends,
	.flags = SCX_OPS_KEEP_BUILTIN_IDLE | SCX_OPS_ENQ_LAST | SCX_OPS_ENQ_EXITING | SCX_OPS_SWITCH_PARTIAL,
	.timeout_ms = 5000,
	.name = "fairways",
};
