/* SPDX-License-Identifier: (MIT OR Apache-2.0) OR GPL-2.0-only */
/*
 * The state of threads and CPUs, and the CPUs on which a thread may run.
 */
#ifndef FAIRWAYS_THREADS_H
#define FAIRWAYS_THREADS_H

#include "ext.h"
#include "intf.h"

const volatile struct settings settings SEC(".rodata.settings");
struct counts counts SEC(".data.counts");

/* A thread that is nowhere: it sleeps, or waits in one of our queues. */
#define NOWHERE (-1)

/* Added to the CPU that takes a thread from a queue, until the thread runs there: different from
 * any other claim. */
#define TAKING 0x10000

struct thread {
	/* The CPUs on which it may run: allowed, also by its owner, and on line. Never changed, only
	 * replaced. */
	struct bpf_cpumask __kptr *effective;
	u64 allowed[CPU_WORDS];
	u64 vtime; /* CPU time used, weighted */
	u64 charged; /* CPU time, as the kernel counts it, that vtime includes */
	u64 turn; /* CPU time used in this turn */
	u64 ordered; /* length of this turn; 0: a quantum */
	u64 next; /* the same for the next */
	u64 waits_since;
	u32 key;
	u32 restricted; /* whether allowed is set */
	u32 version; /* of effective's sources; odd while they are being written */
	u32 built; /* the version and the hotplug generation of effective */
	u32 generation;
	u32 building;
	s32 cpu; /* where it runs, or to which it is on its way: place_of() */
	s32 last; /* the CPU to which it came last */
	u32 raised;
	u32 yields;
	u32 moved; /* since it ran last, its CPUs or its queue were changed, or it is new */
	u32 spared; /* it waited too long: it has its turn before raised threads */
	u32 known; /* whether the rest is set */
	u64 hash; /* of effective: the same for threads with the same CPUs */
	u32 count; /* effective's CPUs, and the highest of them */
	u32 highest;
	u32 set; /* its set of CPUs, from 1 on; 0: none yet, or there is no room for it */
	u32 queue; /* the queue that it came to last */
};

/*
 * By the kernel's number of the thread. Room is reserved beforehand: nothing is allocated when a
 * thread is forked, or changes its class. A thread without room runs where its owner lets it.
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__type(key, s32);
	__type(value, struct thread);
} threads SEC(".maps");

enum running { RUNNING_NONE, RUNNING_NORMAL, RUNNING_RAISED };

/* A CPU; each has a cache line of its own. */
struct cpu {
	u32 offline;
	u32 has_gone; /* it went off line since the scheduler was loaded */
	u32 running; /* enum running: which thread of ours is on it */
	u64 mercy; /* when it next looks for threads that wait too long */
	u32 turnabout; /* the queue in which it looks first then */
	u64 front; /* virtual time of the last thread it took, and when that was */
	u64 front_at;
	u64 sets; /* bit i: it belongs to sets[i] */
	u32 cursor; /* the CPU at whose queues it looks next */
} __attribute__((aligned(64)));

static struct cpu cpus[MAX_CPUS];

/* A set of CPUs that some threads may use: the queue's, in which they wait. */
struct set {
	u64 hash;
	u32 threads; /* how many have it; with none, it may become another */
};

static struct set sets[MAX_SETS];

static __always_inline struct set *set_of(u32 index)
{
	return &sets[index & (MAX_SETS - 1)];
}

/* Visible to other CPUs before what follows, on every machine: an addition whose result is not used
 * need not be. */
static __always_inline void add_first(u32 *to, u32 more)
{
	volatile u32 was = __sync_fetch_and_add(to, more);

	(void)was;
}

/* Changes when a CPU comes or goes. */
static u32 hotplug = 1;

/* How many CPUs have gone off line since the scheduler was loaded. */
static u32 gone;

static __always_inline struct cpu *cpu_of(u32 cpu)
{
	/* The verifier requires to see that it is one. */
	return &cpus[cpu & (MAX_CPUS - 1)];
}

static __always_inline struct thread *thread_of(const struct task_struct *p)
{
	s32 pid = p->pid;

	return bpf_map_lookup_elem(&threads, &pid);
}

static const struct thread nothing;

/* The same, for a thread that may not be known yet. */
static __always_inline struct thread *new_thread(const struct task_struct *p)
{
	struct thread *t = thread_of(p);
	s32 pid = p->pid;

	if (t)
		return t;
	bpf_map_update_elem(&threads, &pid, &nothing, BPF_NOEXIST);
	t = bpf_map_lookup_elem(&threads, &pid);
	if (!t)
		__sync_fetch_and_add(&counts.threads_without_room, 1);
	return t;
}

/* A thread leaves its set of CPUs. */
static __always_inline void leave_set(struct thread *t)
{
	u32 set = __sync_lock_test_and_set(&t->set, 0);

	if (set)
		__sync_fetch_and_sub(&set_of(set - 1)->threads, 1);
}

/* The number of the thread that a command is about, one at a time: its entry is not given to
 * another meanwhile. */
static s32 held;

static __always_inline void forget(const struct task_struct *p)
{
	struct thread *t = thread_of(p);
	s32 pid = p->pid;

	if (!t)
		return;
	leave_set(t);
	bpf_map_delete_elem(&threads, &pid);
}

/* The same, for a thread that ends: a command about it forgets it when done. */
static __always_inline void forget_ended(const struct task_struct *p)
{
	if (*(volatile s32 *)&held != p->pid)
		forget(p);
}

static __always_inline const struct cpumask *as_mask(struct bpf_cpumask *mask)
{
	return (const struct cpumask *)mask;
}

/* The CPU where a thread is, or to which it is on its way; or NOWHERE. */
static __always_inline s32 place_of(const struct thread *t)
{
	s32 cpu = *(volatile s32 *)&t->cpu;

	return cpu == NOWHERE ? NOWHERE : cpu & (MAX_CPUS - 1);
}

static __always_inline bool in_words(const u64 *words, u32 cpu)
{
	if (cpu >= MAX_CPUS)
		return false;
	/* The compiler may have compared another copy of it than the verifier sees here. */
	barrier_var(cpu);
	return words[cpu / 64 & (CPU_WORDS - 1)] >> (cpu % 64) & 1;
}

/* Whether effective reflects the current orders. */
static __always_inline bool is_built(const struct thread *t)
{
	return t->built == *(volatile u32 *)&t->version && t->generation == *(volatile u32 *)&hotplug;
}

/* A number without a pattern for each CPU: the finalizer of splitmix64, by Steele, Lea and Flood. */
static __always_inline u64 mixed(u64 cpu)
{
	u64 z = (cpu + 1) * 0x9e3779b97f4a7c15ULL + settings.seed;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

/* Counts effective's CPUs, and gives them a number of their own. Its set is another one then. */
static void number(struct thread *t, const struct cpumask *mask)
{
	u32 count = 0, highest = 0, cpu;
	u64 hash = 0;
	int i;

	bpf_for(i, 0, settings.cpus) {
		cpu = i;
		if (!bpf_cpumask_test_cpu(cpu, mask))
			continue;
		count++;
		highest = cpu;
		hash ^= mixed(cpu);
	}
	if (hash == t->hash)
		return;
	t->hash = hash;
	t->count = count;
	t->highest = highest;
	leave_set(t);
}

/*
 * Builds effective again. Called with interrupts off; a second caller leaves it to the first. While
 * its sources are being written, the old one stays in force.
 */
static int build(struct task_struct *p, struct thread *t)
{
	struct bpf_cpumask *mask, *old;
	u32 version, generation, cpu;
	bool restricted;
	int i;

	if (__sync_lock_test_and_set(&t->building, 1))
		return 0;
	version = *(volatile u32 *)&t->version;
	generation = *(volatile u32 *)&hotplug;
	if (version & 1)
		goto out;
	mask = bpf_cpumask_create();
	if (!mask)
		goto out;
	restricted = t->restricted;
	bpf_cpumask_copy(mask, p->cpus_ptr);
	bpf_for(i, 0, settings.cpus) {
		cpu = i;
		if (cpu_of(cpu)->offline || (restricted && !in_words(t->allowed, cpu)))
			bpf_cpumask_clear_cpu(cpu, mask);
	}
	if (bpf_cpumask_empty(as_mask(mask))) {
		bpf_cpumask_copy(mask, p->cpus_ptr);
		bpf_for(i, 0, settings.cpus) {
			cpu = i;
			if (cpu_of(cpu)->offline)
				bpf_cpumask_clear_cpu(cpu, mask);
		}
		/* None that is on line: the kernel will choose. */
		if (bpf_cpumask_empty(as_mask(mask)))
			bpf_cpumask_copy(mask, p->cpus_ptr);
	}
	number(t, as_mask(mask));
	old = bpf_kptr_xchg(&t->effective, mask);
	if (old)
		bpf_cpumask_release(old);
	t->built = version;
	t->generation = generation;
out:
	__sync_lock_test_and_set(&t->building, 0);
	return 0;
}

/* As a function that the verifier looks at once, and not wherever it is called. */
__noinline int build_again(struct task_struct *p __arg_trusted)
{
	struct thread *t;

	bpf_rcu_read_lock();
	t = thread_of(p);
	if (t)
		build(p, t);
	bpf_rcu_read_unlock();
	return 0;
}

/*
 * The CPUs on which a thread may run, as far as known: for an unknown thread, those that its owner
 * allows. An old mask is good enough to look for a CPU, and for nothing else.
 */
static __always_inline const struct cpumask *mask_of(struct task_struct *p, struct thread *t)
{
	const struct cpumask *mask;

	if (!t)
		return p->cpus_ptr;
	if (!is_built(t))
		build_again(p);
	mask = as_mask(t->effective);
	return mask ? mask : p->cpus_ptr;
}

/* Whether any allowed CPU is allowed by its owner, too, and on line; if not, all that the owner
 * allows apply. */
static bool any_allowed(struct task_struct *p, struct thread *t)
{
	u32 cpu;
	int i;

	if (!t->restricted)
		return false;
	bpf_for(i, 0, settings.cpus) {
		cpu = i;
		if (in_words(t->allowed, cpu) && !cpu_of(cpu)->offline && bpf_cpumask_test_cpu(cpu, p->cpus_ptr))
			return true;
	}
	return false;
}

/*
 * Whether a thread may run on a CPU, by the current orders. There may be no new mask yet (another
 * CPU builds it, or there is no memory at this moment): then its sources decide. While they are
 * being written, each bit is the old or the new.
 */
static __always_inline bool may_run_on(struct task_struct *p, struct thread *t, u32 cpu)
{
	const struct cpumask *mask;

	if (!is_built(t))
		build_again(p);
	mask = is_built(t) ? as_mask(t->effective) : NULL;
	if (mask)
		return bpf_cpumask_test_cpu(cpu, mask);
	if (cpu_of(cpu)->offline || !bpf_cpumask_test_cpu(cpu, p->cpus_ptr))
		return false;
	return in_words(t->allowed, cpu) || !any_allowed(p, t);
}

#endif
