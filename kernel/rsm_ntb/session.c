// SPDX-License-Identifier: GPL-2.0
/*
 * The session: what two drivers agree on before anything of the window is used, and its end.
 *
 * A side that is not in session writes its key, (generation, sequence), into the other's
 * scratchpads, and acknowledges the key that it has seen there. It acknowledges only after it has
 * ended all imports of the session before. It is in session when the other acknowledges its present
 * key. Only then it has the hardware lead the other's window to its pool: a driver that has been
 * bound anew does not know what imports of an earlier one the other side still has, and what they
 * store must reach nothing. Whenever a session ends, by whatever either side notices, the sequence
 * is counted up; so the other side, whether it was hung or never noticed anything, sees a new key
 * and ends it, too.
 *
 * All of it runs in one work item, every heartbeat_ms and when a doorbell or the link says so.
 */
#include <linux/crc32.h>
#include <linux/io.h>
#include <linux/moduleparam.h>
#include <linux/pci.h>

#include "port.h"

static unsigned int heartbeat_ms = 100;
module_param_cb(heartbeat_ms, &rsm_positive_ops, &heartbeat_ms, 0444);
__MODULE_PARM_TYPE(heartbeat_ms, "uint");
MODULE_PARM_DESC(heartbeat_ms, "interval of the heartbeat, in milliseconds (100)");
static unsigned int heartbeat_misses = 10;
module_param_cb(heartbeat_misses, &rsm_positive_ops, &heartbeat_misses, 0444);
__MODULE_PARM_TYPE(heartbeat_misses, "uint");
MODULE_PARM_DESC(heartbeat_misses, "intervals without one that end a session (10)");

/* What the other side has written into our scratchpads. */
struct greeting {
	struct rsm_key key, ack;
};

static bool same(struct rsm_key a, struct rsm_key b)
{
	return a.generation == b.generation && a.sequence == b.sequence;
}

struct rsm_ntb_hello *rsm_hello(struct rsm_port *port)
{
	return port->pool.memory + RSM_NTB_HELLO;
}

static struct rsm_ntb_heartbeat *heartbeat(struct rsm_port *port)
{
	return port->pool.memory + RSM_NTB_HEARTBEAT;
}

static u64 canary(struct rsm_key key)
{
	return (u64)key.generation << 32 | key.sequence;
}

/* Once for each time that the link comes up. */
static bool complain(struct rsm_port *port)
{
	bool first = !port->complained;

	port->complained = true;
	return first;
}

/* What may be wrong for a moment only: after some time. */
static bool complain_late(struct rsm_port *port)
{
	return ++port->failures > 20 && complain(port);
}

/* port->lock. Log the trouble, and keep it for TROUBLE, which rsmd logs. */
static __printf(2, 3) void trouble(struct rsm_port *port, const char *format, ...)
{
	va_list args;

	memset(&port->trouble, 0, sizeof(port->trouble));
	va_start(args, format);
	vscnprintf(port->trouble.text, sizeof(port->trouble.text), format, args);
	va_end(args);
	dev_err_ratelimited(&port->ntb->dev, "%s: %s\n", port->name, port->trouble.text);
	rsm_event(port, RSM_NTB_EVENT_TROUBLE, 0);
}

static void write_key(struct rsm_port *port)
{
	struct rsm_ntb_hello *hello = rsm_hello(port);

	WRITE_ONCE(hello->generation, cpu_to_le32(port->own.generation));
	WRITE_ONCE(hello->sequence, cpu_to_le32(port->own.sequence));
	WRITE_ONCE(hello->canary, cpu_to_le64(canary(port->own)));
}

void rsm_session_init(struct rsm_port *port)
{
	struct rsm_ntb_hello *hello = rsm_hello(port);

	do
		port->own.generation = get_random_u32();
	while (!port->own.generation || port->own.generation == U32_MAX);
	port->own.sequence = 1;
	hello->magic = cpu_to_le32(RSM_NTB_MAGIC);
	hello->wire = cpu_to_le32(RSM_NTB_WIRE);
	hello->pool_size = cpu_to_le64(rsm_pool_span(&port->pool));
	hello->granule = cpu_to_le64(PAGE_SIZE);
	hello->caps = 0;
	write_key(port);
}

/* ---- scratchpads ---- */

static u32 check_of(const u32 *words)
{
	__le32 wire[RSM_NTB_SPAD_CHECK - RSM_NTB_SPAD_WIRE];
	int i;

	for (i = 0; i < ARRAY_SIZE(wire); i++)
		wire[i] = cpu_to_le32(words[RSM_NTB_SPAD_WIRE + i]);
	return crc32_le(~0u, (const u8 *)wire, sizeof(wire));
}

static void write_spad(struct rsm_port *port, int index, u32 value)
{
	ntb_peer_spad_write(port->ntb, RSM_PEER, index, value);
}

/* Publish this side's key, and acknowledge the other's. */
static void greet(struct rsm_port *port)
{
	u32 words[RSM_NTB_SPADS] = {
		[RSM_NTB_SPAD_MAGIC] = RSM_NTB_MAGIC,
		[RSM_NTB_SPAD_WIRE] = RSM_NTB_WIRE,
		[RSM_NTB_SPAD_GENERATION] = port->own.generation,
		[RSM_NTB_SPAD_SEQUENCE] = port->own.sequence,
		[RSM_NTB_SPAD_ACK_GENERATION] = port->acked.generation,
		[RSM_NTB_SPAD_ACK_SEQUENCE] = port->acked.sequence,
	};
	int i;

	words[RSM_NTB_SPAD_CHECK] = check_of(words);
	write_spad(port, RSM_NTB_SPAD_MAGIC, 0);
	for (i = RSM_NTB_SPAD_WIRE; i < RSM_NTB_SPADS; i++)
		write_spad(port, i, words[i]);
	wmb(); /* the magic number is behind what it vouches for */
	write_spad(port, RSM_NTB_SPAD_MAGIC, words[RSM_NTB_SPAD_MAGIC]);
	/* Only changes: two sides that wait for each other would ring for ever. */
	if (!same(port->own, port->published) || !same(port->acked, port->published_ack))
		ntb_peer_db_set(port->ntb, BIT_ULL(RSM_NTB_DB_SESSION));
	port->published = port->own;
	port->published_ack = port->acked;
}

/* Whether there is a greeting; half of one is none, and comes again. */
static bool read_greeting(struct rsm_port *port, struct greeting *greeting)
{
	u32 words[RSM_NTB_SPADS];
	int i;

	for (i = 0; i < RSM_NTB_SPADS; i++)
		words[i] = ntb_spad_read(port->ntb, i);
	if (words[RSM_NTB_SPAD_MAGIC] != RSM_NTB_MAGIC ||
	    words[RSM_NTB_SPAD_CHECK] != check_of(words))
		return false;
	if (words[RSM_NTB_SPAD_WIRE] != RSM_NTB_WIRE) {
		if (complain(port))
			trouble(port,
				"the other host's rsm_ntb speaks version %u, this one %u: install the same version on both",
				words[RSM_NTB_SPAD_WIRE], RSM_NTB_WIRE);
		return false;
	}
	greeting->key.generation = words[RSM_NTB_SPAD_GENERATION];
	greeting->key.sequence = words[RSM_NTB_SPAD_SEQUENCE];
	greeting->ack.generation = words[RSM_NTB_SPAD_ACK_GENERATION];
	greeting->ack.sequence = words[RSM_NTB_SPAD_ACK_SEQUENCE];
	/* A canary of all zeroes or ones would look like a dead link. */
	return greeting->key.generation && greeting->key.generation != U32_MAX;
}

/* ---- begin and end ---- */

/* port->lock. Everything that belongs to the session ends before the other side can see so. */
static void end(struct rsm_port *port, const char *why)
{
	u32 epoch = port->epoch;

	if (!epoch)
		return;
	WRITE_ONCE(port->epoch, 0);
	port->link_seq++;
	rsm_imports_end(port);
	memset(port->posted, 0, RSM_NTB_CONNECTIONS * sizeof(*port->posted));
	port->own.sequence++;
	port->peer_node = 0;
	port->peer_caps = 0;
	write_key(port);
	pr_info_ratelimited("%s: session %u has ended: %s\n", port->name, epoch, why);
	rsm_event(port, RSM_NTB_EVENT_DOWN, 0);
}

/* Read the other side's hello page, and believe none of it without a look. */
static bool read_hello(struct rsm_port *port, const struct greeting *greeting)
{
	struct rsm_ntb_hello hello;
	u64 size, granule;

	memcpy_fromio(&hello, port->window + RSM_NTB_HELLO, sizeof(hello));
	size = le64_to_cpu(hello.pool_size);
	granule = le64_to_cpu(hello.granule);
	if (le32_to_cpu(hello.magic) != RSM_NTB_MAGIC ||
	    le32_to_cpu(hello.wire) != RSM_NTB_WIRE ||
	    le32_to_cpu(hello.generation) != greeting->key.generation ||
	    le32_to_cpu(hello.sequence) != greeting->key.sequence ||
	    le64_to_cpu(hello.canary) != canary(greeting->key) || granule < SZ_4K ||
	    granule > SZ_1M || !is_power_of_2(granule) || size <= RSM_NTB_CONTROL_SIZE ||
	    size & (granule - 1)) {
		if (complain_late(port))
			trouble(port,
				"the other host has greeted, but the window does not show its hello page: magic %#x, %llu bytes; check the sizes of the windows on both hosts",
				le32_to_cpu(hello.magic), size);
		return false;
	}
	port->peer_pool = min_t(u64, size, port->window_size);
	port->peer_granule = granule;
	port->peer_node = le32_to_cpu(hello.node);
	port->peer_caps = le32_to_cpu(hello.caps);
	return true;
}

static void begin(struct rsm_port *port, const struct greeting *greeting)
{
	if (!read_hello(port, greeting))
		return;
	rsm_device_errors(port); /* a window that does not lead anywhere yet may have been read */
	port->peer = greeting->key;
	port->silent = 0;
	port->next_beat = jiffies;
	port->failures = 0;
	memset(&port->trouble, 0, sizeof(port->trouble));
	port->beat = 0;
	if (!++port->last_epoch)
		port->last_epoch = 1;
	WRITE_ONCE(port->epoch, port->last_epoch);
	rsm_extents_expose(port);
	pr_info_ratelimited("%s: session %u: this side %08x.%u, the other %08x.%u, %llu KiB to import\n",
		port->name, port->epoch, port->own.generation, port->own.sequence,
		port->peer.generation, port->peer.sequence, port->peer_pool >> 10);
	rsm_event(port, RSM_NTB_EVENT_UP, 0);
	ntb_peer_db_set(port->ntb, BIT_ULL(RSM_NTB_DB_SESSION));
}

/* ---- what the work looks at ---- */

/* Whether the hardware can lead the other side's window to the pool. */
static bool pool_fits(struct rsm_port *port)
{
	struct rsm_pool *pool = &port->pool;
	resource_size_t address, granule, max;
	size_t size = rsm_pool_span(pool);
	char remedy[80] = "boot with intel_iommu=on or amd_iommu=on and without iommu=pt";

	if (ntb_mw_get_align(port->ntb, RSM_PEER, RSM_WINDOW, &address, &granule, &max))
		return false; /* not now */
	if (size <= max && !(size & (granule - 1)) && !(pool->dma & (address - 1)))
		return true;
	if (size != max) /* a block of the window's size has its alignment */
		snprintf(remedy, sizeof(remedy), "load rsm_ntb with pool_mib%s=%llu",
			 pool->pin_size ? " + pin_mib" : "", (u64)max >> 20);
	if (complain(port))
		trouble(port,
			"the hardware wants a pool of at most %llu bytes, a multiple of %llu, at a multiple of %llu; it has %zu bytes at %pad: %s",
			(u64)max, (u64)granule, (u64)address, size, &pool->dma, remedy);
	return false;
}

/* The other side has nothing of earlier sessions any more: lead its window to the pool. False: not
 * now. */
static bool set_translation(struct rsm_port *port)
{
	int err = ntb_mw_set_trans(port->ntb, RSM_PEER, RSM_WINDOW, port->pool.dma,
				   rsm_pool_span(&port->pool));

	if (err && err != -ENOTCONN && complain(port))
		trouble(port, "the hardware refuses the translation: %d", err);
	return !err;
}

/* Errors that the device has noticed since the last look, which it forgets by it. */
bool rsm_device_errors(struct rsm_port *port)
{
	const u16 of_link = PCI_EXP_DEVSTA_NFED | PCI_EXP_DEVSTA_FED | PCI_EXP_DEVSTA_URD;
	const u16 of_bus = PCI_STATUS_REC_MASTER_ABORT | PCI_STATUS_REC_TARGET_ABORT |
			   PCI_STATUS_SIG_SYSTEM_ERROR | PCI_STATUS_DETECTED_PARITY;
	struct pci_dev *pdev = port->ntb->pdev;
	u16 link = 0, bus = 0;

	if (pci_is_pcie(pdev))
		pcie_capability_read_word(pdev, PCI_EXP_DEVSTA, &link);
	pci_read_config_word(pdev, PCI_STATUS, &bus);
	link &= of_link;
	bus &= of_bus;
	if (link)
		pcie_capability_write_word(pdev, PCI_EXP_DEVSTA, link);
	if (bus)
		pci_write_config_word(pdev, PCI_STATUS, bus);
	return link || bus;
}

/* In session: send a heartbeat and look for the other side's. */
static void beat(struct rsm_port *port)
{
	u32 theirs = le32_to_cpu(READ_ONCE(heartbeat(port)->count));

	writel(++port->beat, port->window + RSM_NTB_HEARTBEAT);
	if (theirs != port->peer_beat) {
		port->peer_beat = theirs;
		port->silent = 0;
	} else if (++port->silent >= heartbeat_misses) {
		end(port, "the other host is silent");
		return;
	}
	if (rsm_device_errors(port))
		rsm_imports_errors(port);
}

/* What the other side's daemon has changed in the hello page. */
static void look_for_node(struct rsm_port *port)
{
	u32 node = readl(port->window + RSM_NTB_HELLO + offsetof(struct rsm_ntb_hello, node));
	u32 caps = readl(port->window + RSM_NTB_HELLO + offsetof(struct rsm_ntb_hello, caps));

	if (node == U32_MAX || caps == U32_MAX)
		return;
	if (node != port->peer_node || caps != port->peer_caps) {
		port->peer_node = node;
		port->peer_caps = caps;
		rsm_event(port, RSM_NTB_EVENT_PEER, node);
	}
}

/* The hardware has a link. */
static void linked(struct rsm_port *port)
{
	struct greeting greeting;
	bool greeted = read_greeting(port, &greeting);

	if (port->epoch && !greeted) /* look again: half of one, or the driver there has gone */
		greeted = read_greeting(port, &greeting);
	if (port->epoch && (!greeted || !same(greeting.key, port->peer)))
		end(port, greeted ? "the other side has begun a new one" :
				    "the other side has gone");
	if (port->epoch) {
		/* Doorbells make this run more often; time is what counts. */
		if (time_after_eq(jiffies, port->next_beat)) {
			port->next_beat = jiffies + msecs_to_jiffies(heartbeat_ms);
			beat(port);
		}
		if (port->epoch)
			look_for_node(port);
		return;
	}
	if (greeted && !same(greeting.key, port->acked)) {
		rsm_posts_reset(port);
		heartbeat(port)->count = 0;
		port->peer_beat = 0;
		port->acked = greeting.key;
	}
	greet(port);
	if (!greeted || !same(greeting.ack, port->own))
		return;
	if (!port->translated)
		port->translated = set_translation(port);
	if (port->translated)
		begin(port, &greeting);
}

void rsm_session_work(struct work_struct *work)
{
	struct rsm_port *port = container_of(to_delayed_work(work), struct rsm_port, work);

	mutex_lock(&port->lock);
	if (!port->ntb) {
		mutex_unlock(&port->lock);
		return;
	}
	if (test_and_clear_bit(RSM_LINK_EVENT, &port->events)) {
		end(port, "the link went down");
		port->fits = port->translated = false;
		port->complained = false;
		memset(&port->trouble, 0, sizeof(port->trouble));
		port->failures = 0;
	}
	if (ntb_link_is_up(port->ntb, NULL, NULL) & BIT_ULL(RSM_PEER)) {
		if (!port->fits)
			port->fits = pool_fits(port);
		if (port->fits)
			linked(port);
	} else {
		end(port, "the link is down");
		port->fits = port->translated = false;
	}
	mutex_unlock(&port->lock);
	queue_delayed_work(system_highpri_wq, &port->work, msecs_to_jiffies(heartbeat_ms));
}

/* The driver is being removed, port->lock: notify the other side at once. */
void rsm_session_leave(struct rsm_port *port)
{
	end(port, "the device is being removed");
	rsm_hello(port)->canary = 0;
	if (port->fits) {
		write_spad(port, RSM_NTB_SPAD_MAGIC, 0);
		ntb_peer_db_set(port->ntb, BIT_ULL(RSM_NTB_DB_SESSION));
	}
}

/* Something in the hello page has changed. */
void rsm_session_publish(struct rsm_port *port)
{
	WRITE_ONCE(rsm_hello(port)->node, cpu_to_le32(port->node));
	WRITE_ONCE(rsm_hello(port)->caps, cpu_to_le32(port->caps));
	if (port->epoch)
		ntb_peer_db_set(port->ntb, BIT_ULL(RSM_NTB_DB_SESSION));
}

/* ---- interrupts ---- */

static void link_event(void *context)
{
	struct rsm_port *port = context;

	set_bit(RSM_LINK_EVENT, &port->events);
	mod_delayed_work(system_highpri_wq, &port->work, 0);
}

static void db_event(void *context, int vector)
{
	struct rsm_port *port = context;
	struct ntb_dev *ntb = port->bound;
	u64 bits;

	bits = ntb_db_read(ntb) & ntb_db_vector_mask(ntb, vector);
	ntb_db_clear(ntb, bits);
	ntb_db_read(ntb); /* it has arrived before any reader sees the counters */
	if (bits & BIT_ULL(RSM_NTB_DB_POSTED))
		rsm_event_posted(port);
	if (bits & BIT_ULL(RSM_NTB_DB_SESSION))
		mod_delayed_work(system_highpri_wq, &port->work, 0);
}

const struct ntb_ctx_ops rsm_ctx_ops = {
	.link_event = link_event,
	.db_event = db_event,
};
