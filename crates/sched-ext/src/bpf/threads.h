/* SPDX-License-Identifier: (MIT OR Apache-2.0) OR GPL-2.0-only */
/*
 * What is known of a thread, and of a CPU; on which CPUs a thread may run.
 */
#ifndef FAIRWAYS_THREADS_H
#define FAIRWAYS_THREADS_H

#include "ext.h"
#include "intf.h"

const volatile struct settings settings SEC(".rodata.settings");
struct told told SEC(".data.told");

/* A thread that is nowhere: it sleeps, or waits in a queue of ours. */
#define NOWHERE (-1)

/* Beside the CPU that takes a thread from a queue, until it runs there: no claim of another's looks the same. */
#define TAKING 0x10000

struct thread {
	/* On which it may run: what is allowed of what its owner allows, and on line. Never changed, only replaced. */
	struct bpf_cpumask __kptr *effective;
	u64 allowed[CPU_WORDS];
	u64 vtime; /* CPU time had, weighed */
	u64 charged; /* CPU time, as the kernel has it, that vtime holds already */
	u64 turn; /* CPU time had in this turn */
	u64 ordered; /* how long this turn is to be; 0: a quantum */
	u64 next; /* the same of the next */
	u64 waits_since;
	u32 key;
	u32 restricted; /* whether allowed says something */
	u32 version; /* of what effective is made of; odd while that is being written */
	u32 built; /* the version and the hotplug generation that effective is of */
	u32 generation;
	u32 building;
	s32 cpu; /* on which it runs, or to which it is on its way: place_of() */
	s32 last; /* the CPU to which it came last */
	u32 raised;
	u32 yields;
	u32 moved; /* since it ran last, it was let run elsewhere, or is new */
	u32 spared; /* it waited too long: it has its turn, whoever is raised */
	u32 known; /* whether the rest was set */
};

/*
 * By the kernel's number of the thread. There is room before there are threads: nothing is allocated where a thread is
 * forked, or changes its class. Who finds no room runs where its owner lets it.
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__type(key, s32);
	__type(value, struct thread);
} threads SEC(".maps");

enum running { RUNNING_NONE, RUNNING_NORMAL, RUNNING_RAISED };

/* A CPU; each has a line of the cache for itself. */
struct cpu {
	u32 offline;
	u32 running; /* enum running: who of ours is on it */
	u64 mercy; /* when it looks next for those that wait too long */
	u32 turnabout; /* in which queue it looks first then */
	u64 front; /* virtual time of whom it took last, and when that was */
	u64 front_at;
} __attribute__((aligned(64)));

static struct cpu cpus[MAX_CPUS];

/* Seen by others before what follows, on every machine: an addition of which nobody uses the result need not be. */
static __always_inline void add_first(u32 *to, u32 more)
{
	volatile u32 was = __sync_fetch_and_add(to, more);

	(void)was;
}

/* Changes when a CPU comes or goes. */
static u32 hotplug = 1;

static __always_inline struct cpu *cpu_of(u32 cpu)
{
	/* The verifier wants to see that it is one. */
	return &cpus[cpu & (MAX_CPUS - 1)];
}

static __always_inline struct thread *thread_of(const struct task_struct *p)
{
	s32 pid = p->pid;

	return bpf_map_lookup_elem(&threads, &pid);
}

static const struct thread nothing;

/* The same, of one of which nothing may be known yet. */
static __always_inline struct thread *new_thread(const struct task_struct *p)
{
	struct thread *t = thread_of(p);
	s32 pid = p->pid;

	if (t)
		return t;
	bpf_map_update_elem(&threads, &pid, &nothing, BPF_NOEXIST);
	return bpf_map_lookup_elem(&threads, &pid);
}

/* The number of the thread that a command is about, one at a time: what is known of it is not given to another meanwhile. */
static s32 held;

static __always_inline void forget(const struct task_struct *p)
{
	s32 pid = p->pid;

	bpf_map_delete_elem(&threads, &pid);
}

/* The same, of one that ends: a command that is about it does so when it is done. */
static __always_inline void forget_ended(const struct task_struct *p)
{
	if (*(volatile s32 *)&held != p->pid)
		forget(p);
}

static __always_inline const struct cpumask *as_mask(struct bpf_cpumask *mask)
{
	return (const struct cpumask *)mask;
}

/* Where a thread is, or is on its way to; NOWHERE. */
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

/* Whether effective is of what is ordered now. */
static __always_inline bool is_built(const struct thread *t)
{
	return t->built == *(volatile u32 *)&t->version && t->generation == *(volatile u32 *)&hotplug;
}

/*
 * Makes effective anew. Called with interrupts off; whoever is second leaves it to the first. While what it is made of is
 * being written, the old one holds.
 */
static void build(struct task_struct *p, struct thread *t)
{
	struct bpf_cpumask *mask, *old;
	u32 version, generation, cpu;
	bool restricted;
	int i;

	if (__sync_lock_test_and_set(&t->building, 1))
		return;
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
		/* None that is on line: the kernel will say where. */
		if (bpf_cpumask_empty(as_mask(mask)))
			bpf_cpumask_copy(mask, p->cpus_ptr);
	}
	old = bpf_kptr_xchg(&t->effective, mask);
	if (old)
		bpf_cpumask_release(old);
	t->built = version;
	t->generation = generation;
out:
	__sync_lock_test_and_set(&t->building, 0);
}

/*
 * On which CPUs a thread may run, as far as is known: of one of which nothing is, where its owner lets it. What is old is good
 * enough to look for a CPU, and for nothing else.
 */
static __always_inline const struct cpumask *mask_of(struct task_struct *p, struct thread *t)
{
	const struct cpumask *mask;

	if (!t)
		return p->cpus_ptr;
	if (!is_built(t))
		build(p, t);
	mask = as_mask(t->effective);
	return mask ? mask : p->cpus_ptr;
}

/* Whether anything of what is allowed is left by its owner and on line; if not, all that the owner allows holds. */
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
 * Whether a thread may run on a CPU, by what is ordered now. There may be no new mask yet (another CPU makes it, or there is
 * no memory at this moment): what it would be made of says so, too. While that is written, each bit is the old or the new.
 */
static __always_inline bool may_run_on(struct task_struct *p, struct thread *t, u32 cpu)
{
	const struct cpumask *mask;

	if (!is_built(t))
		build(p, t);
	mask = is_built(t) ? as_mask(t->effective) : NULL;
	if (mask)
		return bpf_cpumask_test_cpu(cpu, mask);
	if (cpu_of(cpu)->offline || !bpf_cpumask_test_cpu(cpu, p->cpus_ptr))
		return false;
	return in_words(t->allowed, cpu) || !any_allowed(p, t);
}

#endif
