/* SPDX-License-Identifier: BSD-3-Clause */
#include "cases.h"
#include "base/packet.h"
#include "server/instance_lock.h"

static struct rsmcore_runtime runtime = {.node = 7};

static int make_directory(void **state)
{
    strcpy(runtime.directory, "/tmp/rsmd-instance-XXXXXX");
    return mkdtemp(runtime.directory) != NULL ? 0 : -1;
}

/* What others see meanwhile: always a socket, and one that somebody listens at. */
struct watch {
    atomic_bool ends, failed;
    atomic_uint looks;
};

static void watch_socket(struct watch *watch, const char *path)
{
    while (!atomic_load(&watch->ends)) {
        struct stat status;
        if (lstat(path, &status) != 0)
            atomic_store(&watch->failed, true);
        atomic_fetch_add(&watch->looks, 1);
    }
    _exit(0);
}

/* Fails when a test left a file behind. */
static int remove_directory(void **state)
{
    return rmdir(runtime.directory);
}

#define TEST(test) TEST_BETWEEN(test, make_directory, remove_directory)

TEST(one_holder_at_a_time)
{
    struct rsmd_instance first, second;
    assert_int_equal(rsmd_instance_lock(&first, &runtime, NULL, false, -1), RSMD_LOCK_TAKEN);
    assert_int_equal(rsmd_instance_lock(&second, &runtime, NULL, false, -1), RSMD_LOCK_BUSY);
    rsmd_instance_unlock(&second); /* the loser touches nothing */
    assert_int_equal(access(first.lock_path, F_OK), 0);
    rsmd_instance_unlock(&first);
    assert_int_equal(access(first.lock_path, F_OK), -1);
    assert_int_equal(rsmd_instance_lock(&second, &runtime, NULL, false, -1), RSMD_LOCK_TAKEN);
    rsmd_instance_unlock(&second);
}

static mode_t mode_of(const char *path)
{
    struct stat what;
    assert_int_equal(lstat(path, &what), 0);
    return what.st_mode & 07777;
}

TEST(socket_of_the_holder)
{
    struct rsmd_instance instance;
    assert_int_equal(rsmd_instance_lock(&instance, &runtime, NULL, false, -1), RSMD_LOCK_TAKEN);
    /* Something that a dead predecessor left. */
    int stale = open(instance.socket_path, O_CREAT | O_WRONLY, 0600);
    assert_true(stale >= 0);
    close(stale);
    int listener = rsmd_instance_listen(&instance, false);
    assert_true(listener > 2);
    assert_int_equal(mode_of(instance.socket_path), 0600);
    int client = rsm_packet_connect(instance.socket_path);
    assert_true(client >= 0);
    close(client);
    rsmd_instance_unlink(&instance);
    assert_int_equal(access(instance.socket_path, F_OK), -1);
    assert_int_equal(access(instance.lock_path, F_OK), 0);
    close(listener);
    listener = rsmd_instance_listen(&instance, true);
    assert_true(listener >= 0);
    assert_int_equal(mode_of(instance.socket_path), 0666);
    close(listener);
    rsmd_instance_unlock(&instance);
    assert_int_equal(access(instance.socket_path, F_OK), -1);
}

/* Many processes take and give up the lock, which removes its file each time. */
enum { CONTENDERS = 8, ROUNDS = 300 };

static void contend(atomic_int *inside)
{
    int taken = 0;
    while (taken < ROUNDS) {
        struct rsmd_instance instance;
        enum rsmd_lock_result result = rsmd_instance_lock(&instance, &runtime, NULL, false, -1);
        if (result == RSMD_LOCK_FAILED)
            _exit(1);
        if (result == RSMD_LOCK_BUSY)
            continue;
        if (atomic_fetch_add(inside, 1) != 0)
            _exit(2);
        taken++;
        atomic_fetch_sub(inside, 1);
        rsmd_instance_unlock(&instance);
    }
    _exit(0);
}

TEST(never_two_holders)
{
    atomic_int *inside =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(inside, MAP_FAILED);
    pid_t children[CONTENDERS];
    for (int i = 0; i < CONTENDERS; i++) {
        children[i] = fork();
        assert_true(children[i] >= 0);
        if (children[i] == 0)
            contend(inside);
    }
    for (int i = 0; i < CONTENDERS; i++) {
        int status;
        assert_int_equal(waitpid(children[i], &status, 0), children[i]);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
    }
    munmap(inside, 4096);
}

TEST_ALONE(words_to_the_starter)
{
    int ends[2];
    char text[64] = "", longest[3000];
    assert_int_equal(pipe(ends), 0);
    rsmd_start_ready(ends[1]);
    assert_int_equal(read(ends[0], text, sizeof text), 1);
    assert_string_equal(text, "R");
    assert_int_equal(read(ends[0], text, sizeof text), 0);
    close(ends[0]);
    assert_int_equal(pipe(ends), 0);
    rsmd_start_not_needed(ends[1]);
    assert_int_equal(read(ends[0], text, sizeof text), 1);
    assert_int_equal(text[0], 'B');
    close(ends[0]);
    assert_int_equal(pipe(ends), 0);
    rsmd_start_failed(ends[1], "no luck");
    assert_int_equal(read(ends[0], text, sizeof text), 8);
    assert_memory_equal(text, "no luck\n", 8);
    close(ends[0]);
    memset(longest, 'x', sizeof longest);
    longest[sizeof longest - 1] = '\0';
    assert_int_equal(pipe(ends), 0);
    rsmd_start_failed(ends[1], longest);
    ssize_t got = read(ends[0], longest, sizeof longest);
    assert_in_range(got, 100, 1024);
    assert_int_equal(longest[got - 1], '\n');
    close(ends[0]);
    rsmd_start_ready(-1); /* nobody waits */
}

TEST(successors_take_the_socket_over)
{
    enum { TIMES = 2000 };
    struct rsmd_instance instance;
    struct watch *watch =
        mmap(NULL, sizeof *watch, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int status;
    assert_ptr_not_equal(watch, MAP_FAILED);
    assert_int_equal(rsmd_instance_lock(&instance, &runtime, NULL, false, -1), RSMD_LOCK_TAKEN);
    int listener = rsmd_instance_listen(&instance, false);
    assert_true(listener >= 0);
    pid_t watcher = fork();
    assert_true(watcher >= 0);
    if (watcher == 0)
        watch_socket(watch, instance.socket_path);
    while (atomic_load(&watch->looks) == 0)
        usleep(1000);
    for (int i = 0; i < TIMES; i++) {
        close(listener); /* as if its daemon had been killed */
        listener = rsmd_instance_listen(&instance, false);
        assert_true(listener >= 0);
    }
    atomic_store(&watch->ends, true);
    assert_int_equal(waitpid(watcher, &status, 0), watcher);
    assert_false(atomic_load(&watch->failed));
    /* It is the node's socket although it was bound under another name. */
    assert_true(rsmd_instance_relisten(&instance, listener));
    close(listener);
    rsmd_instance_unlock(&instance);
    munmap(watch, sizeof *watch);
}
