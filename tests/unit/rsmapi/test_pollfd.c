/* SPDX-License-Identifier: BSD-3-Clause */
/* Conformance N-16 to N-29, reference section 7.4. */
#include "unit/rsmapi/rsmapi_test.h"

#include <sys/time.h>

enum { SEGMENTS = 6 };

/* Segments with a reference each, and a pipe. */
struct scene {
    rsm_memseg_import_handle_t imports[SEGMENTS];
    struct pollfd fds[SEGMENTS + 1];
    int pipe[2];
};

static void make_scene(struct scene *scene)
{
    memset(scene, 0, sizeof *scene);
    assert_int_equal(pipe2(scene->pipe, O_CLOEXEC), 0);
    for (int i = 0; i < SEGMENTS; i++) {
        scene->imports[i] = connect_import(0);
        assert_int_equal(rsm_memseg_get_pollfd(scene->imports[i], &scene->fds[i]), RSM_SUCCESS);
    }
    scene->fds[SEGMENTS] = (struct pollfd){.fd = scene->pipe[0], .events = POLLIN};
}

static void end_scene(struct scene *scene)
{
    for (int i = 0; i < SEGMENTS; i++) {
        assert_int_equal(rsm_memseg_release_pollfd(scene->imports[i]), RSM_SUCCESS);
        disconnect_import(scene->imports[i]);
    }
    close(scene->pipe[0]);
    close(scene->pipe[1]);
}

static void raise_on(struct scene *scene, int index)
{
    fake_raise(event_of(scene->imports[index]));
}

static unsigned pending(struct scene *scene, int index)
{
    return fake_pending(event_of(scene->imports[index]));
}

static int wait_for(struct scene *scene, nfds_t count, int timeout, int *ready)
{
    *ready = -1;
    return rsm_intr_signal_wait_pollfd(scene->fds, count, timeout, ready);
}

TEST(get_fills_descriptor_and_events_only)
{
    struct pollfd first = {.fd = -1, .events = 0, .revents = 0x1234};
    struct pollfd second;
    rsm_memseg_export_handle_t export_handle = create_export();
    assert_int_equal(rsm_memseg_get_pollfd(export_handle, NULL), RSMERR_BAD_ADDR);
    assert_int_equal(rsm_memseg_get_pollfd(export_handle, &first), RSMERR_BAD_SEG_HNDL);
    assert_int_equal(first.fd, -1);
    publish_one(export_handle);
    assert_int_equal(rsm_memseg_get_pollfd(export_handle, &first), RSM_SUCCESS);
    assert_true(first.fd >= 0);
    assert_int_equal(first.events, POLLRDNORM);
    assert_int_equal(first.revents, 0x1234);
    assert_int_equal(rsm_memseg_get_pollfd(export_handle, &second), RSM_SUCCESS);
    assert_int_equal(second.fd, first.fd);

    /* Two references need two releases; more do no harm. */
    assert_int_equal(rsm_memseg_release_pollfd(export_handle), RSM_SUCCESS);
    assert_int_equal(rsm_memseg_export_destroy(export_handle), RSMERR_POLLFD_IN_USE);
    for (int i = 0; i < 3; i++)
        assert_int_equal(rsm_memseg_release_pollfd(export_handle), RSM_SUCCESS);
    destroy_export(export_handle);
}

TEST(a_failed_get_leaves_no_reference)
{
    struct pollfd pollfd = {.fd = -7, .events = 1};
    rsm_memseg_import_handle_t import = connect_import(0);
    fake.descriptor = RSM_ST_NO_RESOURCES;
    assert_int_equal(rsm_memseg_get_pollfd(import, &pollfd), RSMERR_INSUFFICIENT_RESOURCES);
    fake.descriptor = RSM_ST_NO_MEMORY;
    assert_int_equal(rsm_memseg_get_pollfd(import, &pollfd), RSMERR_INSUFFICIENT_MEM);
    assert_int_equal(pollfd.fd, -7);
    assert_int_equal(pollfd.events, 1);
    disconnect_import(import);
}

TEST(one_event_is_consumed_per_call)
{
    struct scene scene;
    int ready;
    make_scene(&scene);
    raise_on(&scene, 0);
    raise_on(&scene, 0);
    for (unsigned left = 2; left-- > 0;) {
        assert_int_equal(wait_for(&scene, 1, 1000, &ready), RSM_SUCCESS);
        assert_int_equal(ready, 1);
        assert_int_equal(scene.fds[0].revents, POLLRDNORM);
        assert_int_equal(scene.fds[0].events, POLLRDNORM);
        assert_int_equal(pending(&scene, 0), left);
    }
    assert_int_equal(wait_for(&scene, 1, 0, &ready), RSMERR_TIMEOUT);
    assert_int_equal(ready, 0);
    assert_int_equal(scene.fds[0].revents, 0);
    raise_on(&scene, 0);
    assert_int_equal(rsm_intr_signal_wait_pollfd(scene.fds, 1, -1, NULL), RSM_SUCCESS);
    assert_int_equal(pending(&scene, 0), 0);
    end_scene(&scene);
}

TEST(segments_and_other_descriptors_mix)
{
    struct scene scene;
    int ready;
    make_scene(&scene);
    assert_int_equal(write(scene.pipe[1], "x", 1), 1);
    assert_int_equal(wait_for(&scene, SEGMENTS + 1, -1, &ready), RSM_SUCCESS);
    assert_int_equal(ready, 1);
    assert_int_equal(scene.fds[SEGMENTS].revents, POLLIN);
    assert_int_equal(scene.fds[0].revents, 0);
    for (int i = 0; i < SEGMENTS; i++)
        raise_on(&scene, i);
    assert_int_equal(wait_for(&scene, SEGMENTS + 1, -1, &ready), RSM_SUCCESS);
    assert_int_equal(ready, SEGMENTS + 1);
    for (int i = 0; i < SEGMENTS; i++) {
        assert_int_equal(scene.fds[i].revents, POLLRDNORM);
        assert_int_equal(pending(&scene, i), 0);
    }
    char byte;
    assert_int_equal(read(scene.pipe[0], &byte, 1), 1); /* its data was left alone */
    end_scene(&scene);
}

TEST(a_segment_reports_pollrdnorm_whatever_else_was_asked)
{
    static const short asked[] = {POLLRDNORM | POLLIN, POLLIN, POLLRDNORM | POLLIN | POLLOUT};
    struct scene scene;
    int ready;
    make_scene(&scene);
    for (size_t i = 0; i < COUNT(asked); i++) {
        raise_on(&scene, 1);
        scene.fds[1].events = asked[i];
        assert_int_equal(wait_for(&scene, 2, 1000, &ready), RSM_SUCCESS);
        assert_int_equal(scene.fds[1].revents, POLLRDNORM);
        assert_int_equal(scene.fds[1].events, asked[i]);
        assert_int_equal(pending(&scene, 1), 0);
    }
    end_scene(&scene);
}

TEST(what_is_not_asked_for_is_not_taken)
{
    struct scene scene;
    int ready;
    make_scene(&scene);
    raise_on(&scene, 0);
    scene.fds[0].events = 0;
    assert_int_equal(write(scene.pipe[1], "x", 1), 1);
    assert_int_equal(wait_for(&scene, SEGMENTS + 1, -1, &ready), RSM_SUCCESS);
    assert_int_equal(ready, 1);
    assert_int_equal(scene.fds[0].revents, 0);
    assert_int_equal(pending(&scene, 0), 1);
    end_scene(&scene);
}

TEST(the_same_descriptor_twice_takes_up_to_two)
{
    struct scene scene;
    int ready;
    make_scene(&scene);
    scene.fds[1] = scene.fds[0];
    for (int i = 0; i < 3; i++)
        raise_on(&scene, 0);
    assert_int_equal(wait_for(&scene, 2, 0, &ready), RSM_SUCCESS);
    assert_int_equal(ready, 2);
    assert_int_equal(pending(&scene, 0), 1);
    assert_int_equal(wait_for(&scene, 2, 0, &ready), RSM_SUCCESS);
    assert_int_equal(ready, 1);
    assert_int_equal(scene.fds[0].revents, POLLRDNORM);
    assert_int_equal(scene.fds[1].revents, 0);
    end_scene(&scene);
}

TEST(negative_and_closed_descriptors_are_polls_affair)
{
    struct scene scene;
    int ready;
    make_scene(&scene);
    scene.fds[0].fd = -1;
    scene.fds[0].revents = 77;
    raise_on(&scene, 1);
    assert_int_equal(wait_for(&scene, 2, 0, &ready), RSM_SUCCESS);
    assert_int_equal(ready, 1);
    assert_int_equal(scene.fds[0].revents, 0);
    int closed = dup(scene.pipe[0]);
    assert_int_equal(close(closed), 0);
    scene.fds[0].fd = closed;
    assert_int_equal(wait_for(&scene, 1, 0, &ready), RSM_SUCCESS);
    assert_int_equal(ready, 1);
    assert_int_equal(scene.fds[0].revents, POLLNVAL);
    end_scene(&scene);
}

TEST(after_the_last_release_nothing_is_consumed)
{
    struct scene scene;
    int ready;
    make_scene(&scene);
    raise_on(&scene, 0);
    assert_int_equal(rsm_memseg_release_pollfd(scene.imports[0]), RSM_SUCCESS);
    assert_int_equal(wait_for(&scene, 1, 0, &ready), RSM_SUCCESS);
    assert_int_equal(ready, 1);
    assert_int_equal(pending(&scene, 0), 1);
    struct pollfd again;
    assert_int_equal(rsm_memseg_get_pollfd(scene.imports[0], &again), RSM_SUCCESS);
    assert_int_equal(again.fd, scene.fds[0].fd);
    assert_int_equal(wait_for(&scene, 1, 0, &ready), RSM_SUCCESS);
    assert_int_equal(pending(&scene, 0), 0);
    end_scene(&scene);
}

/* More segments than the table has buckets: chains are searched and mended in any order. */
TEST(many_segments_are_told_apart)
{
    enum { MANY = 200 };
    static rsm_memseg_import_handle_t imports[MANY];
    static struct pollfd fds[MANY];
    for (int i = 0; i < MANY; i++) {
        imports[i] = connect_import(0);
        assert_int_equal(rsm_memseg_get_pollfd(imports[i], &fds[i]), RSM_SUCCESS);
        fake_raise(event_of(imports[i]));
    }
    int ready;
    assert_int_equal(rsm_intr_signal_wait_pollfd(fds, MANY, 0, &ready), RSM_SUCCESS);
    assert_int_equal(ready, MANY);
    for (int i = 0; i < MANY; i++) {
        int index = i * 77 % MANY; /* 77 and 200 have no common divisor */
        assert_int_equal(fake_pending(event_of(imports[index])), 0);
        assert_int_equal(rsm_memseg_release_pollfd(imports[index]), RSM_SUCCESS);
        disconnect_import(imports[index]);
    }
}

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

TEST(an_event_that_another_thread_took_is_waited_on_for)
{
    struct scene scene;
    int ready;
    make_scene(&scene);
    /* At the test's own timeout of 0 there is no time left to wait on. */
    raise_on(&scene, 0);
    fake.steals = 1;
    assert_int_equal(wait_for(&scene, 1, 0, &ready), RSMERR_TIMEOUT);
    assert_int_equal(ready, 0);
    assert_int_equal(scene.fds[0].revents, 0);
    /* Another descriptor that is ready is a result all the same. */
    raise_on(&scene, 0);
    assert_int_equal(write(scene.pipe[1], "x", 1), 1);
    fake.steals = 1;
    assert_int_equal(wait_for(&scene, SEGMENTS + 1, -1, &ready), RSM_SUCCESS);
    assert_int_equal(ready, 1);
    assert_int_equal(scene.fds[0].revents, 0);
    /* Not before its time. */
    raise_on(&scene, 0);
    fake.steals = 1;
    int64_t start = now_ms();
    assert_int_equal(wait_for(&scene, 1, 30, &ready), RSMERR_TIMEOUT);
    assert_true(now_ms() - start >= 29);
    /* For ever means until there is one. */
    raise_on(&scene, 0);
    raise_on(&scene, 0);
    fake.steals = 1;
    assert_int_equal(wait_for(&scene, 1, -1, &ready), RSM_SUCCESS);
    assert_int_equal(pending(&scene, 0), 0);
    end_scene(&scene);
}

TEST(segments_of_a_dead_daemon_hang_up)
{
    struct scene scene;
    int ready;
    make_scene(&scene);
    raise_on(&scene, 1);
    fake_daemon_dies(event_of(scene.imports[1]));
    /* What came before is taken first. */
    assert_int_equal(wait_for(&scene, SEGMENTS, -1, &ready), RSM_SUCCESS);
    assert_int_equal(ready, 1);
    assert_int_equal(scene.fds[1].revents, POLLRDNORM);
    assert_int_equal(pending(&scene, 1), 0);
    assert_int_equal(wait_for(&scene, SEGMENTS, -1, &ready), RSM_SUCCESS);
    assert_int_equal(ready, 1);
    assert_int_equal(scene.fds[1].revents, POLLHUP);
    /* The others go on, and a look does not wait. */
    raise_on(&scene, 0);
    assert_int_equal(wait_for(&scene, SEGMENTS, 0, &ready), RSM_SUCCESS);
    assert_int_equal(ready, 2);
    assert_int_equal(scene.fds[0].revents, POLLRDNORM);
    assert_int_equal(scene.fds[1].revents, POLLHUP);
    /* Nobody asked for this one any more. */
    assert_int_equal(rsm_memseg_release_pollfd(scene.imports[1]), RSM_SUCCESS);
    assert_int_equal(wait_for(&scene, SEGMENTS, 10, &ready), RSMERR_TIMEOUT);
    end_scene(&scene);
}

TEST(errors_of_poll_are_translated)
{
    static const struct {
        int number, error;
    } cases[] = {{EAGAIN, RSMERR_INSUFFICIENT_RESOURCES},
                 {EFAULT, RSMERR_BAD_ADDR},
                 {EINTR, RSMERR_INTERRUPTED},
                 {EINVAL, RSMERR_BAD_ARGS_ERRORS},
                 {ENOMEM, RSMERR_INSUFFICIENT_MEM},
                 {EIO, RSMERR_BAD_ARGS_ERRORS}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct pollfd fd = {.fd = -1};
        int ready = 77;
        inject_poll.error = cases[i].number;
        assert_int_equal(rsm_intr_signal_wait_pollfd(&fd, 1, -1, &ready), cases[i].error);
        assert_int_equal(ready, 0);
    }
}

TEST(bad_arrays_are_found_by_the_kernel)
{
    int ready = 77;
    struct rlimit limit;
    struct pollfd *volatile nowhere = NULL; /* volatile, or the compiler would warn of it */
    assert_int_equal(rsm_intr_signal_wait_pollfd(nowhere, 1, 0, &ready), RSMERR_BAD_ADDR);
    nowhere = (struct pollfd *)16;
    assert_int_equal(rsm_intr_signal_wait_pollfd(nowhere, 1, 0, NULL), RSMERR_BAD_ADDR);
    assert_int_equal(ready, 0);
    assert_int_equal(rsm_intr_signal_wait_pollfd(NULL, 0, 0, &ready), RSMERR_TIMEOUT);
    assert_int_equal(rsm_intr_signal_wait_pollfd(NULL, 0, 5, &ready), RSMERR_TIMEOUT);

    /* More entries than there may be descriptors. */
    static struct pollfd many[301];
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    const struct rlimit low = {.rlim_cur = COUNT(many) - 1, .rlim_max = limit.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
    int error = rsm_intr_signal_wait_pollfd(many, COUNT(many), 0, &ready);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    assert_int_equal(error, RSMERR_BAD_ARGS_ERRORS);
}

static void on_alarm(int number)
{
}

TEST(a_signal_interrupts)
{
    struct scene scene;
    int ready;
    /* Repeating, so that one that comes before the wait does no harm. */
    const struct itimerval timer = {.it_interval.tv_usec = 5000, .it_value.tv_usec = 5000};
    const struct itimerval off = {0};
    struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
    make_scene(&scene);
    assert_int_equal(sigaction(SIGALRM, &action, NULL), 0);
    assert_int_equal(setitimer(ITIMER_REAL, &timer, NULL), 0);
    int error = wait_for(&scene, SEGMENTS, -1, &ready);
    assert_int_equal(setitimer(ITIMER_REAL, &off, NULL), 0);
    assert_int_equal(error, RSMERR_INTERRUPTED);
    assert_int_equal(ready, 0);
    end_scene(&scene);
}
