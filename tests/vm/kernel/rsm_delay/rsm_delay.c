// SPDX-License-Identifier: GPL-2.0
/*
 * For tests only: named functions of the kernel and its modules return later than they would. What another processor
 * can see between two steps of a driver for a microsecond, it can see for milliseconds then. The driver has no code
 * for that: a kprobe stands at each function.
 */
#include <linux/delay.h>
#include <linux/kprobes.h>
#include <linux/module.h>

#define DELAYS_MAX 8

static char *functions[DELAYS_MAX];
static unsigned int number;
module_param_array(functions, charp, &number, 0444);
MODULE_PARM_DESC(functions, "what returns later: NAME or MODULE:NAME, with commas between them");

static unsigned int ms = 5;
module_param(ms, uint, 0444);
MODULE_PARM_DESC(ms, "how much later, in milliseconds (5)");

static unsigned int delayed[DELAYS_MAX];
module_param_array(delayed, uint, &number, 0444);
MODULE_PARM_DESC(delayed, "how often each of them has returned");

static struct kretprobe probes[DELAYS_MAX];
static struct kretprobe *registered[DELAYS_MAX];

static int wait_a_while(struct kretprobe_instance *instance, struct pt_regs *regs)
{
	struct kretprobe *probe = get_kretprobe(instance);

	/* Where one may not sleep: the other processor goes on. */
	mdelay(ms);
	if (probe)
		delayed[probe - probes]++;
	return 0;
}

static int __init delay_init(void)
{
	unsigned int i;
	int err;

	for (i = 0; i < number; i++) {
		probes[i].kp.symbol_name = functions[i];
		probes[i].handler = wait_a_while;
		registered[i] = &probes[i];
	}
	err = register_kretprobes(registered, number);
	if (err)
		pr_err("rsm_delay: there is a function that cannot be delayed: error %d\n", err);
	return err;
}

static void __exit delay_exit(void)
{
	unregister_kretprobes(registered, number);
}

module_init(delay_init);
module_exit(delay_exit);
MODULE_DESCRIPTION("Delays named functions, for tests");
MODULE_LICENSE("GPL");
