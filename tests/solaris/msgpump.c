/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * msgpump - pump messages through remote shared memory, in the manner of 2002.
 *
 *	msgpump [-c controller] [-n messages] [-s slots] [-p] [-v]
 *
 * One thread exports a ring of slots and empties it, one imports it over
 * the controller and fills it. Every slot carries its sequence number and
 * a checksum in network byte order. The filler sleeps when the ring is
 * full, until the emptier has posted. With -p the filler uses puts and
 * gets, otherwise loads and stores. A monitor, a daemon thread, reports
 * what has been done so far every second, or at once when told to.
 *
 * For the test of the Solaris kit: it is compiled as it is. Nothing in it
 * knows of Linux.
 */
#pragma ident "@(#)msgpump.c	1.14	02/04/23"

#include <sys/types.h>
#include <sys/param.h>
#include <sys/time.h>
#include <sys/mman.h>
#include <sys/procset.h>
#include <sys/processor.h>
#include <sys/systeminfo.h>
#include <sys/utsname.h>
#include <sys/sysmacros.h>
#include <sys/byteorder.h>
#include <sys/atomic.h>
#include <sys/varargs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <errno.h>
#include <signal.h>
#include <poll.h>
#include <thread.h>
#include <synch.h>
#include <rsmapi.h>

/* clang-format off */

#define	RING_MAGIC	0x5253524d50554d50ULL	/* "RSRMPUMP" */
#define	RING_SEGID	0x480000
#define	TEXT_LEN	108
#define	WAIT_MSEC	20000
#define	CONNECT_TRIES	50

typedef struct slot {
	uint32_t	s_seq;		/* big endian; 0: never used */
	uint32_t	s_sum;
	ushort_t	s_len;
	uchar_t		s_last;		/* B_TRUE in the last message */
	uchar_t		s_pad;
	char		s_text[TEXT_LEN];
} slot_t;

typedef struct ring {
	uint64_t	r_magic;	/* big endian */
	uint32_t	r_slots;
	uint32_t	r_emptied;	/* written by the exporter */
	longlong_t	r_unused[6];
	slot_t		r_slot[1];
} ring_t;

typedef struct stats {
	volatile uint_t	st_filled;
	volatile uint_t	st_emptied;
	volatile ulong_t st_bytes;
	volatile uint_t	st_naps;
	hrtime_t	st_slowest;	/* under stats_lock */
	hrtime_t	st_total;
} stats_t;

static char		*progname;
static char		controller[MAXNAMELEN] = "sci0";
static uint_t		messages = 1000;
static uint_t		slots = 16;
static boolean_t	use_put = B_FALSE;
static boolean_t	verbose = B_FALSE;

static stats_t		stats;
static mutex_t		stats_lock = DEFAULTMUTEX;
static mutex_t		log_lock;	/* zero: ready for use */
static rwlock_t		config_lock = DEFAULTRWLOCK;
static thread_key_t	name_key;
static sema_t		ring_ready;
static mutex_t		monitor_lock;
static cond_t		monitor_cv;
static boolean_t	monitor_stop = B_FALSE;
static boolean_t	monitor_gone = B_FALSE;

static rsm_node_id_t	my_node;
static rsm_memseg_id_t	ring_segid = RING_SEGID;

/*
 * Messages to the user, with the name of the thread.
 */
/*PRINTFLIKE2*/
static void
say(int always, const char *format, ...)
{
	va_list		args;
	void		*name = NULL;
	char		line[2 * MAXNAMELEN];

	if (!always && !verbose)
		return;
	(void) thr_getspecific(name_key, &name);
	va_start(args, format);
	(void) vsnprintf(line, sizeof (line), format, args);
	va_end(args);
	(void) mutex_lock(&log_lock);
	(void) fprintf(always ? stderr : stdout, "%s[%u:%s]: %s\n", progname,
	    (uint_t)thr_self(), name == NULL ? "?" : (char *)name, line);
	(void) mutex_unlock(&log_lock);
}

static void
check(int error, const char *what)
{
	if (error != RSM_SUCCESS) {
		say(1, "%s: error %d", what, error);
		exit(1);
	}
}

static void
set_name(const char *name)
{
	char	*copy;
	size_t	len = strlen(name) + 1;

	if ((copy = malloc(len)) == NULL || strlcpy(copy, name, len) >= len) {
		say(1, "no memory");
		exit(1);
	}
	if (thr_setspecific(name_key, copy) != 0) {
		say(1, "thr_setspecific failed");
		exit(1);
	}
}

static size_t
ring_size(void)
{
	size_t	bytes;

	(void) rw_rdlock(&config_lock);
	bytes = offsetof(ring_t, r_slot) + slots * sizeof (slot_t);
	(void) rw_unlock(&config_lock);
	return (P2ROUNDUP(bytes, (size_t)PAGESIZE));
}

static uint32_t
checksum(const char *text, uint_t len)
{
	uint32_t	sum = len;

	while (len-- > 0)
		sum = (sum << 5) + (sum >> 27) + (uchar_t)*text++;
	return (sum);
}

/*
 * The exporter's side.
 */
static void
check_slot(slot_t *sp, uint_t seq)
{
	uint_t	len = ntohs(sp->s_len);

	if (BE_32(sp->s_seq) != seq || len >= TEXT_LEN ||
	    sp->s_text[len] != '\0' ||
	    BE_IN32(&sp->s_sum) != checksum(sp->s_text, len)) {
		say(1, "message %u is damaged (%u, \"%.20s\")", seq,
		    (uint_t)BE_32(sp->s_seq), sp->s_text);
		exit(1);
	}
	atomic_inc_uint(&stats.st_emptied);
	atomic_add_long(&stats.st_bytes, (long)len);
	say(0, "%s", sp->s_text);
}

static void
empty_ring(ring_t *rp, rsm_memseg_export_handle_t seg)
{
	uint_t		seq;
	slot_t		*sp;
	boolean_t	last = B_FALSE;
	int		error;

	for (seq = 1; !last; seq++) {
		sp = &rp->r_slot[seq % slots];
		while (BE_32(*(volatile uint32_t *)&sp->s_seq) != seq) {
			error = rsm_intr_signal_wait(seg, WAIT_MSEC);
			if (error == RSMERR_INTERRUPTED)
				continue;
			check(error, "waiting for a message");
		}
		membar_consumer();
		check_slot(sp, seq);
		last = (boolean_t)sp->s_last;
		membar_producer();
		(void) atomic_swap_32(&rp->r_emptied, BE_32(seq));
		check(rsm_intr_signal_post(seg, 0), "telling the importer");
	}
}

static void *
exporter(void *arg)
{
	rsmapi_controller_handle_t	ctlr;
	rsm_memseg_export_handle_t	seg;
	rsmapi_access_entry_t		acl[1];
	ring_t				*rp;
	size_t				size = ring_size();

	set_name("exporter");
	check(rsm_get_controller(controller, &ctlr), "rsm_get_controller");
	rp = (ring_t *)memalign(PAGESIZE, size);
	if (rp == NULL) {
		say(1, "no memory for the ring");
		exit(1);
	}
	bzero((caddr_t)rp, size);
	check(rsm_memseg_export_create(ctlr, &seg, (void *)rp, size, 0),
	    "rsm_memseg_export_create");
	rp->r_slots = BE_32(slots);
	BE_OUT64(&rp->r_magic, RING_MAGIC);
	acl[0].ae_node = my_node;
	acl[0].ae_permission = 0660;
	check(rsm_memseg_export_publish(seg, &ring_segid, acl, 1),
	    "rsm_memseg_export_publish");
	(void) sema_post(&ring_ready);

	empty_ring(rp, seg);

	check(rsm_memseg_export_unpublish(seg), "rsm_memseg_export_unpublish");
	check(rsm_memseg_export_destroy(seg), "rsm_memseg_export_destroy");
	check(rsm_release_controller(ctlr), "rsm_release_controller");
	free(rp);
	return (arg);
}

/*
 * The importer's side.
 */
typedef struct filler {
	rsm_memseg_import_handle_t	f_seg;
	rsmapi_barrier_t		f_barrier;
	ring_t				*f_ring;	/* NULL with -p */
} filler_t;

static uint_t
emptied(filler_t *fp)
{
	uint32_t	value;

	if (fp->f_ring != NULL)
		return (BE_32(*(volatile uint32_t *)&fp->f_ring->r_emptied));
	check(rsm_memseg_import_get32(fp->f_seg,
	    offsetof(ring_t, r_emptied), &value, 1), "get32");
	return (BE_32(value));
}

static void
compose(slot_t *sp, uint_t seq)
{
	char	number[16];
	uint_t	len;

	bzero(sp, sizeof (*sp));
	(void) snprintf(number, sizeof (number), "%u", seq);
	(void) strlcpy(sp->s_text, "message ", sizeof (sp->s_text));
	(void) strlcat(sp->s_text, number, sizeof (sp->s_text));
	for (len = strlen(sp->s_text); len < seq % (TEXT_LEN - 1); len++)
		sp->s_text[len] = (char)('a' + len % 26);
	sp->s_len = htons((ushort_t)len);
	sp->s_sum = BE_32(checksum(sp->s_text, len));
	sp->s_last = (uchar_t)(seq == messages ? B_TRUE : B_FALSE);
	sp->s_seq = BE_32(seq);
}

/*
 * Everything but the sequence number first, which says that the rest is
 * there.
 */
static void
send_slot(filler_t *fp, slot_t *sp, uint_t seq)
{
	off_t	where = offsetof(ring_t, r_slot) +
	    (seq % slots) * sizeof (slot_t);
	off_t	body = offsetof(slot_t, s_sum);
	slot_t	*dst;

	check(rsm_memseg_import_open_barrier(&fp->f_barrier), "open barrier");
	if (fp->f_ring != NULL) {
		dst = &fp->f_ring->r_slot[seq % slots];
		(void) memcpy((caddr_t)dst + body, (caddr_t)sp + body,
		    sizeof (slot_t) - body);
		check(rsm_memseg_import_order_barrier(&fp->f_barrier),
		    "order barrier");
		(void) atomic_swap_32(&dst->s_seq, sp->s_seq);
	} else {
		check(rsm_memseg_import_put(fp->f_seg, where + body,
		    (caddr_t)sp + body, sizeof (slot_t) - body), "put");
		check(rsm_memseg_import_order_barrier(&fp->f_barrier),
		    "order barrier");
		check(rsm_memseg_import_put32(fp->f_seg, where, &sp->s_seq,
		    1), "put32");
	}
	check(rsm_memseg_import_close_barrier(&fp->f_barrier),
	    "close barrier");
	check(rsm_intr_signal_post(fp->f_seg, 0), "telling the exporter");
}

static void
fill_ring(filler_t *fp)
{
	uint_t		seq;
	slot_t		slot;
	hrtime_t	start, took;
	int		error;

	for (seq = 1; seq <= messages; seq++) {
		compose(&slot, seq);
		start = gethrtime();
		while (seq - emptied(fp) > slots) {
			atomic_inc_uint(&stats.st_naps);
			error = rsm_intr_signal_wait(fp->f_seg, WAIT_MSEC);
			if (error != RSMERR_INTERRUPTED)
				check(error, "waiting for room");
		}
		send_slot(fp, &slot, seq);
		took = gethrtime() - start;
		(void) mutex_lock(&stats_lock);
		stats.st_slowest = MAX(stats.st_slowest, took);
		stats.st_total += took;
		(void) mutex_unlock(&stats_lock);
		atomic_inc_uint(&stats.st_filled);
	}
}

static void *
importer(void *arg)
{
	rsmapi_controller_handle_t	ctlr;
	filler_t			filler;
	uint64_t			magic = 0;
	int				tries = 0;
	int				error;

	set_name("importer");
	bzero(&filler, sizeof (filler));
	check(rsm_get_controller(controller, &ctlr), "rsm_get_controller");
	while (sema_wait(&ring_ready) == EINTR)
		continue;
	do {
		error = rsm_memseg_import_connect(ctlr, my_node, ring_segid,
		    RSM_PERM_RDWR, &filler.f_seg);
		if (error != RSM_SUCCESS)
			(void) poll(NULL, 0, 20);
	} while (error != RSM_SUCCESS && ++tries < CONNECT_TRIES);
	check(error, "rsm_memseg_import_connect");
	check(rsm_memseg_import_set_mode(filler.f_seg,
	    RSM_BARRIER_MODE_EXPLICIT), "rsm_memseg_import_set_mode");
	check(rsm_memseg_import_init_barrier(filler.f_seg,
	    RSM_BARRIER_NODE, &filler.f_barrier), "init barrier");
	check(rsm_memseg_import_get(filler.f_seg, 0, &magic, sizeof (magic)),
	    "rsm_memseg_import_get");
	if (ntohll(magic) != RING_MAGIC) {
		say(1, "the segment is no ring: %llx",
		    (u_longlong_t)ntohll(magic));
		exit(1);
	}
	if (!use_put)
		check(rsm_memseg_import_map(filler.f_seg,
		    (void **)&filler.f_ring, RSM_MAP_NONE, RSM_PERM_RDWR, 0,
		    ring_size()), "rsm_memseg_import_map");

	fill_ring(&filler);

	check(rsm_memseg_import_destroy_barrier(&filler.f_barrier),
	    "destroy barrier");
	if (!use_put)
		check(rsm_memseg_import_unmap(filler.f_seg), "unmap");
	check(rsm_memseg_import_disconnect(filler.f_seg), "disconnect");
	check(rsm_release_controller(ctlr), "rsm_release_controller");
	thr_exit(arg);
	/*NOTREACHED*/
	return (NULL);
}

/*
 * The monitor: every second, and when it is told to stop.
 */
static void *
monitor(void *arg)
{
	timestruc_t	when;
	int		error;

	set_name("monitor");
	(void) mutex_lock(&monitor_lock);
	while (!monitor_stop) {
		when.tv_sec = time(NULL) + 1;
		when.tv_nsec = 0;
		error = cond_timedwait(&monitor_cv, &monitor_lock, &when);
		if (error != 0 && error != ETIME && error != EINTR)
			say(1, "cond_timedwait: error %d", error);
		say(0, "%u filled, %u emptied",
		    atomic_add_int_nv(&stats.st_filled, 0),
		    atomic_add_int_nv(&stats.st_emptied, 0));
	}
	monitor_gone = B_TRUE;
	(void) cond_broadcast(&monitor_cv);
	(void) mutex_unlock(&monitor_lock);
	return (arg);
}

static void
stop_monitor(void)
{
	(void) mutex_lock(&monitor_lock);
	monitor_stop = B_TRUE;
	(void) cond_broadcast(&monitor_cv);
	while (!monitor_gone)
		(void) cond_wait(&monitor_cv, &monitor_lock);
	(void) mutex_unlock(&monitor_lock);
}

/*
 * Where are we?
 */
static void
describe(void)
{
	static int	what[] = { SI_HOSTNAME, SI_SYSNAME, SI_RELEASE,
	    SI_MACHINE, SI_ARCHITECTURE, SI_HW_SERIAL };
	char		line[SYS_NMLN * 4];
	char		value[257];
	rsm_topology_t	*tp;
	processorid_t	cpu = PBIND_NONE;
	uint_t		i;

	line[0] = '\0';
	for (i = 0; i < sizeof (what) / sizeof (what[0]); i++) {
		if (sysinfo(what[i], value, sizeof (value)) == -1) {
			perror("sysinfo");
			exit(1);
		}
		(void) strlcat(line, value, sizeof (line));
		(void) strlcat(line, " ", sizeof (line));
	}
	if (processor_bind(P_LWPID, P_MYID, PBIND_QUERY, &cpu) != 0) {
		perror("processor_bind");
		exit(1);
	}
	check(rsm_get_interconnect_topology(&tp), "topology");
	my_node = tp->topology_hdr.local_nodeid;
	say(0, "%s: %s(processor %d), node %u of the cluster, %u controllers",
	    getexecname(), line, cpu, my_node,
	    tp->topology_hdr.local_cntlr_count);
	rsm_free_interconnect_topology(tp);
}

static void
options(int argc, char **argv)
{
	int	c;

	while ((c = getopt(argc, argv, "c:n:ps:v")) != EOF) {
		switch (c) {
		case 'c':
			if (strlcpy(controller, optarg, MAXNAMELEN) >=
			    MAXNAMELEN)
				exit(2);
			break;
		case 'n':
			messages = (uint_t)strtoul(optarg, NULL, 0);
			break;
		case 's':
			(void) rw_wrlock(&config_lock);
			slots = (uint_t)atoi(optarg);
			(void) rw_unlock(&config_lock);
			break;
		case 'p':
			use_put = B_TRUE;
			break;
		case 'v':
			verbose = B_TRUE;
			break;
		default:
			exit(2);
		}
	}
	if (messages == 0 || slots == 0)
		exit(2);
}

int
main(int argc, char **argv)
{
	thread_t	exp_tid, imp_tid, mon_tid, departed;
	hrtime_t	start;
	sigset_t	mask;
	int		joined = 0;
	void		*status;

	progname = strrchr(argv[0], '/') ? strrchr(argv[0], '/') + 1 : argv[0];
	options(argc, argv);
	if (thr_keycreate(&name_key, free) != 0 ||
	    sema_init(&ring_ready, 0, USYNC_THREAD, NULL) != 0 ||
	    mutex_init(&monitor_lock, USYNC_THREAD, NULL) != 0 ||
	    cond_init(&monitor_cv, USYNC_THREAD, NULL) != 0) {
		(void) fprintf(stderr, "%s: cannot initialise\n", progname);
		return (1);
	}
	set_name("main");
	describe();
	(void) sigemptyset(&mask);
	(void) sigaddset(&mask, SIGPIPE);
	(void) thr_sigsetmask(SIG_BLOCK, &mask, NULL);
	(void) thr_setconcurrency(4);

	start = gethrtime();
	if (thr_create(NULL, 0, exporter, &exp_tid, THR_SUSPENDED, &exp_tid) ||
	    thr_create(NULL, THR_MIN_STACK + 512 * 1024, importer, &imp_tid,
	    THR_BOUND | THR_NEW_LWP, &imp_tid) != 0 ||
	    thr_create(NULL, 0, monitor, NULL, THR_DAEMON | THR_DETACHED,
	    &mon_tid) != 0 || thr_continue(exp_tid) != 0) {
		say(1, "cannot create threads");
		return (1);
	}
	while (thr_join(0, &departed, &status) == 0) {
		if (departed != *(thread_t *)status) {
			say(1, "%u went as %u", departed, *(thread_t *)status);
			return (1);
		}
		joined++;
	}
	stop_monitor();
	if (joined != 2 || stats.st_emptied != messages ||
	    stats.st_filled != messages) {
		say(1, "%d threads, %u and %u of %u messages", joined,
		    stats.st_filled, stats.st_emptied, messages);
		return (1);
	}
	(void) printf("%s: %u messages, %lu bytes in %lld us; %u naps, "
	    "slowest %lld us\n", controller, messages, stats.st_bytes,
	    (gethrtime() - start) / (NANOSEC / MICROSEC), stats.st_naps,
	    stats.st_slowest / (NANOSEC / MICROSEC));
	return (0);
}
