/* SPDX-License-Identifier: (MIT OR Apache-2.0) OR GPL-2.0-only */
/*
 * The kernel's side of sched_ext, by Documentation/scheduler/sched-ext.rst and the kernel's own
 * type information. Functions that not all kernels since 6.12 have are weak, under names of our
 * own: libbpf strips the part from `___` on.
 */
#ifndef FAIRWAYS_EXT_H
#define FAIRWAYS_EXT_H

#include "kernel.h"

enum scx_exit_kind {
	SCX_EXIT_NONE,
};

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct scx_exit_info {
	enum scx_exit_kind kind;
	s64 exit_code;
	const char *reason;
	char *msg;
};

struct scx_init_task_args {
	bool fork;
};

struct scx_exit_task_args;

#pragma clang attribute pop

/*
 * The callbacks in use. The library finds the first two by their place, to set them; libbpf finds
 * all by name.
 */
struct sched_ext_ops {
	u64 flags;
	u32 timeout_ms;
	s32 (*select_cpu)(struct task_struct *p, s32 prev_cpu, u64 wake_flags);
	void (*enqueue)(struct task_struct *p, u64 enq_flags);
	void (*dispatch)(s32 cpu, struct task_struct *prev);
	void (*tick)(struct task_struct *p);
	void (*running)(struct task_struct *p);
	void (*stopping)(struct task_struct *p, bool runnable);
	bool (*yield)(struct task_struct *from, struct task_struct *to);
	void (*set_cpumask)(struct task_struct *p, const struct cpumask *cpumask);
	void (*update_idle)(s32 cpu, bool idle);
	void (*cpu_online)(s32 cpu);
	void (*cpu_offline)(s32 cpu);
	s32 (*init_task)(struct task_struct *p, struct scx_init_task_args *args);
	void (*exit_task)(struct task_struct *p, struct scx_exit_task_args *args);
	void (*enable)(struct task_struct *p);
	void (*disable)(struct task_struct *p);
	s32 (*init)(void);
	void (*exit)(struct scx_exit_info *info);
	char name[128];
};

/* Bits and numbers from include/linux/sched/ext.h and kernel/sched/ext*. They are the same in every
 * kernel so far. */
#define SCX_OPS_KEEP_BUILTIN_IDLE (1ULL << 0)
#define SCX_OPS_ENQ_LAST (1ULL << 1)
#define SCX_OPS_ENQ_EXITING (1ULL << 2)
#define SCX_OPS_SWITCH_PARTIAL (1ULL << 3)
#define SCX_DSQ_LOCAL 0x8000000000000002ULL
#define SCX_KICK_IDLE 1
#define SCX_KICK_PREEMPT 2
#define SCX_ENQ_WAKEUP 1ULL
/* For a thread: it can run. */
#define SCX_TASK_QUEUED 1U

struct bpf_iter_scx_dsq {
	u64 __opaque[6];
} __attribute__((aligned(8)));

/* The iterator of the enclosing bpf_for_each(). */
#define ITERATOR (&___it)

extern int bpf_iter_scx_dsq_new(struct bpf_iter_scx_dsq *it, u64 dsq_id, u64 flags) __ksym __weak;
extern struct task_struct *bpf_iter_scx_dsq_next(struct bpf_iter_scx_dsq *it) __ksym __weak;
extern void bpf_iter_scx_dsq_destroy(struct bpf_iter_scx_dsq *it) __ksym __weak;

extern struct bpf_cpumask *bpf_cpumask_create(void) __ksym;
extern void bpf_cpumask_release(struct bpf_cpumask *cpumask) __ksym;
extern void bpf_cpumask_copy(struct bpf_cpumask *dst, const struct cpumask *src) __ksym;
extern void bpf_cpumask_clear_cpu(u32 cpu, struct bpf_cpumask *cpumask) __ksym;
extern bool bpf_cpumask_test_cpu(u32 cpu, const struct cpumask *cpumask) __ksym;
extern bool bpf_cpumask_empty(const struct cpumask *cpumask) __ksym;
extern u32 bpf_cpumask_any_distribute(const struct cpumask *cpumask) __ksym;

extern s32 scx_bpf_create_dsq(u64 dsq_id, s32 node) __ksym __weak;
extern s32 scx_bpf_dsq_nr_queued(u64 dsq_id) __ksym __weak;
extern s32 scx_bpf_pick_idle_cpu(const struct cpumask *cpus_allowed, u64 flags) __ksym __weak;
extern bool scx_bpf_test_and_clear_cpu_idle(s32 cpu) __ksym __weak;
extern void scx_bpf_kick_cpu(s32 cpu, u64 flags) __ksym __weak;
extern const struct cpumask *scx_bpf_get_idle_cpumask(void) __ksym __weak;
extern const struct cpumask *scx_bpf_get_online_cpumask(void) __ksym __weak;
extern void scx_bpf_put_idle_cpumask(const struct cpumask *cpumask) __ksym __weak;
extern void scx_bpf_put_cpumask(const struct cpumask *cpumask) __ksym __weak;
extern s32 scx_bpf_task_cpu(const struct task_struct *p) __ksym __weak;

/* Since 7.0 this sets a thread's slice; it was a store before. */
extern bool scx_bpf_task_set_slice___new(struct task_struct *p, u64 slice) __ksym __weak;

/* 6.13 introduced these names; 6.12 has the functions under the second. */
extern void scx_bpf_dsq_insert___new(struct task_struct *p, u64 dsq, u64 slice, u64 flags) __ksym __weak;
extern void scx_bpf_dispatch___old(struct task_struct *p, u64 dsq, u64 slice, u64 flags) __ksym __weak;
extern void scx_bpf_dsq_insert_vtime___new(struct task_struct *p, u64 dsq, u64 slice, u64 vtime,
					   u64 flags) __ksym __weak;
extern void scx_bpf_dispatch_vtime___old(struct task_struct *p, u64 dsq, u64 slice, u64 vtime,
					 u64 flags) __ksym __weak;
extern bool scx_bpf_dsq_move___new(struct bpf_iter_scx_dsq *it, struct task_struct *p, u64 dsq,
				   u64 flags) __ksym __weak;
extern bool scx_bpf_dispatch_from_dsq___old(struct bpf_iter_scx_dsq *it, struct task_struct *p, u64 dsq,
					    u64 flags) __ksym __weak;
extern bool scx_bpf_dsq_move_vtime___new(struct bpf_iter_scx_dsq *it, struct task_struct *p, u64 dsq,
					 u64 flags) __ksym __weak;
extern bool scx_bpf_dispatch_vtime_from_dsq___old(struct bpf_iter_scx_dsq *it, struct task_struct *p, u64 dsq,
						  u64 flags) __ksym __weak;
extern void scx_bpf_dsq_move_set_slice___new(struct bpf_iter_scx_dsq *it, u64 slice) __ksym __weak;
extern void scx_bpf_dispatch_from_dsq_set_slice___old(struct bpf_iter_scx_dsq *it, u64 slice) __ksym __weak;
extern void scx_bpf_dsq_move_set_vtime___new(struct bpf_iter_scx_dsq *it, u64 vtime) __ksym __weak;
extern void scx_bpf_dispatch_from_dsq_set_vtime___old(struct bpf_iter_scx_dsq *it, u64 vtime) __ksym __weak;

static __always_inline void insert(struct task_struct *p, u64 dsq, u64 slice, u64 flags)
{
	if (bpf_ksym_exists(scx_bpf_dsq_insert___new))
		scx_bpf_dsq_insert___new(p, dsq, slice, flags);
	else
		scx_bpf_dispatch___old(p, dsq, slice, flags);
}

static __always_inline void insert_vtime(struct task_struct *p, u64 dsq, u64 slice, u64 vtime, u64 flags)
{
	if (bpf_ksym_exists(scx_bpf_dsq_insert_vtime___new))
		scx_bpf_dsq_insert_vtime___new(p, dsq, slice, vtime, flags);
	else
		scx_bpf_dispatch_vtime___old(p, dsq, slice, vtime, flags);
}

static __always_inline bool move(struct bpf_iter_scx_dsq *it, struct task_struct *p, u64 slice)
{
	if (bpf_ksym_exists(scx_bpf_dsq_move___new)) {
		scx_bpf_dsq_move_set_slice___new(it, slice);
		return scx_bpf_dsq_move___new(it, p, SCX_DSQ_LOCAL, 0);
	}
	scx_bpf_dispatch_from_dsq_set_slice___old(it, slice);
	return scx_bpf_dispatch_from_dsq___old(it, p, SCX_DSQ_LOCAL, 0);
}

static __always_inline bool move_vtime(struct bpf_iter_scx_dsq *it, struct task_struct *p, u64 vtime, u64 dsq)
{
	if (bpf_ksym_exists(scx_bpf_dsq_move_vtime___new)) {
		scx_bpf_dsq_move_set_vtime___new(it, vtime);
		return scx_bpf_dsq_move_vtime___new(it, p, dsq, 0);
	}
	scx_bpf_dispatch_from_dsq_set_vtime___old(it, vtime);
	return scx_bpf_dispatch_vtime_from_dsq___old(it, p, dsq, 0);
}

static __always_inline void set_slice(struct task_struct *p, u64 slice)
{
	if (bpf_ksym_exists(scx_bpf_task_set_slice___new))
		scx_bpf_task_set_slice___new(p, slice);
	else
		p->scx.slice = slice;
}

#endif
