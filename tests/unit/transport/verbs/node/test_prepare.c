/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the node half makes of the device for a connection, by a thread, and what becomes of it if
 * the offer ends meanwhile. The device and the connection manager are fake_device.c's.
 */
#include "cases.h"
#include "fake_device.h"

static struct {
    pthread_t loop;      /* the thread that serves everybody */
    int in_loop;         /* objects of the device that it has made */
    int registrations;   /* so far */
    int fails_at;        /* the registration of this number; 0: none */
    int accepted, ended; /* requests; ids that were destroyed */
} fabric;

static bool on_call(enum fake_call call)
{
    switch (call) {
    case FAKE_MAKE:
        fabric.in_loop += pthread_equal(pthread_self(), fabric.loop) != 0;
        return false;
    case FAKE_REGISTER:
        return ++fabric.registrations == fabric.fails_at;
    case FAKE_ACCEPT:
        fabric.accepted++;
        return false;
    default:
        return false;
    }
}

static void on_id_end(struct rdma_cm_id *id)
{
    fabric.ended++;
}

/* ------------------------------------------------------------------ rsmd */

static struct {
    enum rsm_status status; /* of submit() */
    struct rsm_node_job *job;
    int lost;
} rsmd;

static enum rsm_status on_submit(void *context, struct rsm_node_offer *made,
                                 struct rsm_node_job *job)
{
    (void)context, (void)made;
    rsmd.job = rsmd.status == RSM_ST_OK ? job : NULL;
    return rsmd.status;
}

static void on_lost(void *context, struct rsm_node_offer *made)
{
    (void)context, (void)made;
    rsmd.lost++;
}

static struct rsm_node_upcalls upcalls = {
    .size = sizeof upcalls, .lost = on_lost, .submit = on_submit};

static void *run_in_thread(void *job)
{
    rsmd.job->run(job);
    return NULL;
}

static void run_job(void)
{
    pthread_t thread;
    assert_non_null(rsmd.job);
    assert_int_equal(pthread_create(&thread, NULL, run_in_thread, rsmd.job), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

static void end_job(void)
{
    rsmd.job->done(rsmd.job, &upcalls, NULL);
    rsmd.job = NULL;
}

/* ------------------------------------------------------------------ a port and one offer */

static struct rdma_cm_id id;
static struct verbs_extent extent;
static struct verbs_node_port *port;
static struct verbs_node_offer *offer;

static int set_up(void **state)
{
    memset(&fabric, 0, sizeof fabric);
    memset(&rsmd, 0, sizeof rsmd);
    upcalls.size = sizeof upcalls;
    fabric.loop = pthread_self();
    fake_device = (struct fake_device){.fails = on_call, .id_ends = on_id_end};
    port = calloc(1, sizeof *port);
    assert_non_null(port);
    fake_port_begin(port, &extent, (size_t)sysconf(_SC_PAGESIZE));
    struct rsm_extent_piece piece = {.extent = &extent.base, .length = extent.length};
    struct rsm_importer importer = {.node = 2};
    struct rsm_offer bytes;
    struct rsm_node_offer *made;
    assert_int_equal(verbs_offer_make(&port->base, &piece, 1, RSM_RIGHT_READ | RSM_RIGHT_WRITE,
                                      &importer, &bytes, &made),
                     RSM_ST_OK);
    offer = verbs_node_offer_of(made);
    id = (struct rdma_cm_id){.verbs = &fake_device.context};
    return 0;
}

static void revoke_it(void)
{
    verbs_offer_revoke(port, offer);
    offer = NULL;
}

/* Nothing is left, whatever happened. */
static int tear_down(void **state)
{
    assert_null(rsmd.job);
    if (offer != NULL)
        revoke_it();
    verbs_deferred_disconnects_end(port); /* it has been accepted, and nobody has confirmed that */
    assert_int_equal(fabric.ended, 1);
    verbs_send_buffers_end(port);
    assert_int_equal(fake_device.made, 0);
    assert_null(port->offers);
    free(extent.bytes);
    free(port);
    return 0;
}

static void dispatch(void)
{
    verbs_dispatch(&port->base, &upcalls, NULL);
}

/* The importer's request arrives. */
static void request(void)
{
    uint8_t bytes[VERBS_HELLO_BYTES];
    struct verbs_hello hello = {.mtu = 0};
    memcpy(hello.token, offer->token, sizeof hello.token);
    verbs_hello_encode(&hello, bytes);
    struct rdma_cm_event event = {
        .id = &id,
        .event = RDMA_CM_EVENT_CONNECT_REQUEST,
        .param.conn = {.private_data = bytes, .private_data_len = sizeof bytes}};
    fake_device.event = &event;
    dispatch();
}

/* The importer has gone. */
static void gone(void)
{
    struct rdma_cm_event event = {.id = &id, .event = RDMA_CM_EVENT_DISCONNECTED};
    fake_device.event = &event;
    dispatch();
}

/* ------------------------------------------------------------------ tests */

#define PREPARE_TEST(name) TEST_BETWEEN(name, set_up, tear_down)

PREPARE_TEST(the_loop_makes_nothing)
{
    request();
    assert_int_equal(fabric.registrations, 0);
    assert_int_equal(fabric.accepted, 0);
    run_job();
    assert_int_equal(fabric.accepted, 0);
    end_job();
    assert_int_equal(fabric.accepted, 1);
    assert_int_equal(fabric.registrations, 3);
    assert_int_equal(fabric.in_loop, 0);
    assert_int_equal(rsmd.lost, 0);
}

PREPARE_TEST(a_second_request_does_not_begin_again)
{
    request();
    struct rsm_node_job *first = rsmd.job;
    rsmd.job = NULL;
    struct rdma_cm_id *kept = offer->id;
    request();
    assert_null(rsmd.job);
    assert_int_equal(fabric.ended, 1); /* its own */
    assert_ptr_equal(offer->id, kept);
    fabric.ended = 0;
    rsmd.job = first;
    run_job();
    end_job();
    assert_int_equal(fabric.accepted, 1);
}

PREPARE_TEST(revoked_before_it_runs)
{
    request();
    revoke_it();
    assert_int_equal(fabric.ended, 1);
    run_job();
    end_job();
    assert_int_equal(fabric.registrations, 0);
    assert_int_equal(fabric.accepted, 0);
}

PREPARE_TEST(revoked_after_it_ran)
{
    request();
    run_job();
    assert_true(fake_device.made > 0);
    revoke_it();
    end_job();
    assert_int_equal(fabric.accepted, 0);
    assert_int_equal(rsmd.lost, 0);
}

PREPARE_TEST(the_importer_leaves_meanwhile)
{
    request();
    run_job();
    gone();
    assert_int_equal(rsmd.lost, 1);
    assert_int_equal(fabric.ended, 1);
    end_job();
    assert_int_equal(fabric.accepted, 0);
    assert_int_equal(rsmd.lost, 1);
}

PREPARE_TEST(the_importer_leaves_and_the_offer_ends)
{
    request();
    gone();
    assert_int_equal(rsmd.lost, 1);
    revoke_it();
    run_job();
    end_job();
    assert_int_equal(fabric.registrations, 0);
}

/* The registration of the chunk, of the send buffer or of the piece. */
static void one_fails(int number)
{
    fabric.fails_at = number;
    request();
    run_job();
    assert_int_equal(fabric.registrations, number);
    end_job();
    assert_int_equal(rsmd.lost, 1);
    assert_int_equal(fabric.accepted, 0);
}

PREPARE_TEST(the_first_registration_fails)
{
    one_fails(1);
}

PREPARE_TEST(the_second_registration_fails)
{
    one_fails(2);
}

PREPARE_TEST(the_third_registration_fails)
{
    one_fails(3);
}

PREPARE_TEST(without_threads_at_once)
{
    rsmd.status = RSM_ST_UNSUPPORTED;
    request();
    assert_int_equal(fabric.accepted, 1);
}

PREPARE_TEST(of_an_rsmd_without_jobs_at_once)
{
    upcalls.size = offsetof(struct rsm_node_upcalls, submit);
    request();
    assert_int_equal(fabric.accepted, 1);
}

PREPARE_TEST(refused_if_no_job_can_be_had)
{
    rsmd.status = RSM_ST_NO_MEMORY;
    request();
    assert_int_equal(fabric.accepted, 0);
    assert_int_equal(fabric.registrations, 0);
    assert_int_equal(rsmd.lost, 1);
}
