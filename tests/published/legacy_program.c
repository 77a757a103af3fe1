/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A program in the manner of those that were written against RSMAPI before its release, for
 * <rsm/rsmpai.h>: it leaves the flags out, uses getopt without including anything for it, declares
 * what it calls by hand and takes the plainest names for itself. It is compiled in many dialects,
 * with warnings as they come, and run: it exports a segment, imports it from itself through sci0,
 * passes itself a few lines and compares them.
 *
 *     legacy_program [-c controller] [-r rounds] [-k]        -k keeps quiet
 */
#include <stdio.h>
#include <rsm/rsmpai.h>
#include <errno.h>

#define SEG_ID        0x450000
#define EXPORT        1
#define IMPORT        2
#define BUFSIZE       (1024 * 8)
#define DEFAULT_SEGSZ BUFSIZE
/* clang-format off */
#define RSM_PERM_READ 0400
#define RSM_PERM_WRITE 0200
#define RSM_PERM_RDWR (RSM_PERM_READ|RSM_PERM_WRITE)
/* clang-format on */
#define RSM_ACCESS_TRUSTED 0666

extern void exit();
extern void sleep();
extern void *valloc(size_t);
extern int atoi(const char *);

/* The segment: whose turn it is, and a line of text. */
struct slip {
    char turn;
    char line[1];
};

rsm_topology_t *tp;
int mode = EXPORT;
int test = 0;
char *buf;
int buflen = DEFAULT_SEGSZ;
int offset = 64;
volatile char *iva;
int status;
rsm_memseg_id_t segid = SEG_ID;
rsmapi_controller_handle_t ctrl;
rsmapi_controller_attr_t attr;
rsm_memseg_export_handle_t seg;
rsm_memseg_import_handle_t imseg;
rsm_access_entry_t list[2];
rsm_node_id_t dest;
int iterations = 3;

static void check(char *what)
{
    if (status == RSM_SUCCESS)
        return;
    (void)fprintf(stderr, "%s: error %d\n", what, status);
    exit(1);
}

/* Four arguments; a list that is not looked at, as its length is 0. */
static void export()
{
    buf = (char *)valloc(buflen);
    for (test = 0; test < buflen; test++)
        buf[test] = 0;
    status = rsm_memseg_export_create(ctrl, &seg, (void *)buf, buflen);
    check("create");
    list[0].ae_node = list[1].ae_node = tp->topology_hdr.local_nodeid;
    list[0].ae_permission = list[1].ae_permission = RSM_ACCESS_TRUSTED;
    status = rsm_memseg_export_publish(seg, &segid, list, 0);
    check("publish");
}

static void import()
{
    int tries = 0;
    while ((status = rsm_memseg_import_connect(ctrl, dest, segid, RSM_PERM_RDWR, &imseg)) != 0 &&
           ++tries < 3)
        sleep(1);
    check("connect");
    iva = NULL;
    status = rsm_memseg_import_map(imseg, (void **)&iva, RSM_MAP_NONE, RSM_PERM_RDWR, 0, buflen);
    check("map");
}

/* One argument for rsm_intr_signal_post(). */
static void send_line(rsmapi_barrier_t *bar, char *text)
{
    volatile struct slip *slip = (struct slip *)(iva + offset);
    int i;
    status = rsm_memseg_import_open_barrier(bar);
    check("open barrier");
    for (i = 0; (slip->line[i] = text[i]) != '\0'; i++)
        ;
    status = rsm_memseg_import_order_barrier(bar);
    check("order barrier");
    slip->turn = IMPORT;
    status = rsm_memseg_import_close_barrier(bar);
    check("close barrier");
    status = rsm_intr_signal_post(imseg);
    check("post");
}

static void receive_line(char *text)
{
    volatile struct slip *slip = (struct slip *)(buf + offset);
    int i;
    status = rsm_intr_signal_wait(seg, 10000);
    check("wait");
    for (i = 0; slip->turn == IMPORT && slip->line[i] == text[i] && text[i] != '\0'; i++)
        ;
    if (text[i] != '\0' || slip->line[i] != '\0') {
        (void)fprintf(stderr, "slip at %x differs at %d\n", (uint_t)slip, i, errno);
        exit(1);
    }
    slip->turn = EXPORT;
}

static void export_close()
{
    status = rsm_memseg_export_unpublish(seg);
    check("unpublish");
    status = rsm_memseg_export_destroy(seg);
    check("destroy");
}

static void import_close()
{
    status = rsm_memseg_import_unmap(imseg);
    check("unmap");
    status = rsm_memseg_import_disconnect(imseg);
    check("disconnect");
}

static void test0()
{
    rsmapi_barrier_t bar;
    char text[80];
    export();
    import();
    status = rsm_memseg_import_init_barrier(imseg, RSM_BARRIER_NODE, &bar);
    check("init barrier");
    while (iterations-- > 0) {
        (void)sprintf(text, "line, and %d to come", iterations);
        send_line(&bar, text);
        receive_line(text);
        if (mode == EXPORT)
            (void)printf("[0x%x] %s\n", (uint_t)buf, text);
    }
    import_close();
    export_close();
}

void main(int argc, char *argv[])
{
    char *device = "sci0";
    int letter;
    while ((letter = getopt(argc, argv, "c:kr:")) != -1) {
        if (letter == 'c')
            device = optarg;
        else if (letter == 'r')
            iterations = atoi(optarg);
        else if (letter == 'k')
            mode = IMPORT;
        else
            exit(2);
    }
    status = rsm_get_controller(device, &ctrl);
    check("get controller");
    status = rsm_get_controller_attr(ctrl, &attr);
    check("attributes");
    status = rsm_get_interconnect_topology(&tp);
    check("topology");
    dest = tp->topology_hdr.local_nodeid;
    test0();
    exit(0);
}
