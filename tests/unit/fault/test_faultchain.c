/* SPDX-License-Identifier: BSD-3-Clause */
/* The chain of SIGSEGV handlers: several of ours behind one, the application's after
 * them. */
#include <setjmp.h>

#include "cases.h"
#include "fault/faultchain.h"

enum { HANDLERS = 4, FORKS = 200 };

static size_t page;
static char *pages; /* one for each of the handlers, and one that is nobody's */
static int calls[HANDLERS];
static volatile sig_atomic_t of_application;
static sigjmp_buf back;
static struct sigaction before;

static bool handle(unsigned which, const siginfo_t *info)
{
    char *own = pages + which * page;
    calls[which]++;
    return (char *)info->si_addr >= own && (char *)info->si_addr < own + page &&
           mprotect(own, page, PROT_READ | PROT_WRITE) == 0;
}

#define HANDLER(which)                                                                             \
    static bool handler_##which(siginfo_t *info, void *context)                                    \
    {                                                                                              \
        (void)context;                                                                             \
        errno = EIO; /* what the program has there comes back */                                   \
        return handle(which, info);                                                                \
    }
HANDLER(0)
HANDLER(1)
HANDLER(2)
HANDLER(3)
static const rsmcore_fault_handler handlers[HANDLERS] = {handler_0, handler_1, handler_2,
                                                         handler_3};

static bool one_too_many(siginfo_t *info, void *context)
{
    (void)info, (void)context;
    return false;
}

static void application(int signal, siginfo_t *info, void *context)
{
    (void)signal, (void)info, (void)context;
    of_application++;
    siglongjmp(back, 1);
}

static void store(unsigned which)
{
    if (sigsetjmp(back, 1) == 0)
        *(volatile char *)(pages + which * page) = 1;
}

static void (*present(void))(int, siginfo_t *, void *)
{
    struct sigaction action;
    assert_int_equal(sigaction(SIGSEGV, NULL, &action), 0);
    return action.sa_sigaction;
}

static void install_application(void)
{
    struct sigaction action = {.sa_sigaction = application, .sa_flags = SA_SIGINFO};
    assert_int_equal(sigaction(SIGSEGV, &action, NULL), 0);
}

/* In the test, not in a fixture: cmocka has handlers of its own around each. */
static void begin(void)
{
    page = (size_t)sysconf(_SC_PAGESIZE);
    pages = mmap(NULL, (HANDLERS + 1) * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(pages != MAP_FAILED);
    for (unsigned i = 0; i < HANDLERS; i++)
        calls[i] = 0;
    of_application = 0;
    assert_int_equal(sigaction(SIGSEGV, NULL, &before), 0);
    install_application();
}

/* The chain has left nothing. */
static void end(void)
{
    assert_ptr_equal(present(), application);
    assert_int_equal(sigaction(SIGSEGV, &before, NULL), 0);
    munmap(pages, (HANDLERS + 1) * page);
}

TEST_ALONE(test_each_knows_its_own)
{
    begin();
    for (unsigned i = 0; i < HANDLERS; i++)
        assert_true(rsmcore_faultchain_add(handlers[i]));
    assert_ptr_not_equal(present(), application);
    errno = 0;
    for (unsigned i = 0; i < HANDLERS; i++)
        store(i);
    assert_int_equal(errno, 0);
    assert_int_equal(of_application, 0);
    store(HANDLERS);
    assert_int_equal(of_application, 1);
    for (unsigned i = 0; i < HANDLERS; i++) {
        assert_true(calls[i] > 0);
        rsmcore_faultchain_remove(handlers[i]);
    }
    end();
}

/* A temporary one comes and goes beside one that stays: it is the same handler of the signal. */
TEST_ALONE(test_one_stays)
{
    begin();
    assert_true(rsmcore_faultchain_add(handlers[0]));
    void (*chain)(int, siginfo_t *, void *) = present();
    for (unsigned round = 0; round < 3; round++) {
        assert_true(rsmcore_faultchain_add(handlers[1]));
        assert_ptr_equal(present(), chain);
        rsmcore_faultchain_remove(handlers[1]);
        assert_ptr_equal(present(), chain);
    }
    rsmcore_faultchain_remove(handlers[1]); /* that is not there */
    store(0);
    store(1);
    assert_int_equal(calls[1], 0);
    assert_int_equal(of_application, 1);
    rsmcore_faultchain_remove(handlers[0]);
    end();
}

/* The application installs its handler over the chain; the next one of ours to be added, or to be
 * added again, puts the chain in front. */
TEST_ALONE(test_application_between)
{
    begin();
    assert_true(rsmcore_faultchain_add(handlers[0]));
    install_application();
    store(0);
    assert_int_equal(of_application, 1);
    assert_true(rsmcore_faultchain_add(handlers[0]));
    store(0);
    assert_int_equal(of_application, 1);
    install_application();
    assert_true(rsmcore_faultchain_add(handlers[1]));
    store(1);
    assert_int_equal(of_application, 1);
    install_application();
    rsmcore_faultchain_remove(handlers[0]);
    rsmcore_faultchain_remove(handlers[1]);
    end();
}

TEST_ALONE(test_too_many)
{
    begin();
    for (unsigned i = 0; i < HANDLERS; i++)
        assert_true(rsmcore_faultchain_add(handlers[i]));
    assert_false(rsmcore_faultchain_add(one_too_many));
    assert_int_equal(errno, ENOSPC);
    for (unsigned i = 0; i < HANDLERS; i++)
        rsmcore_faultchain_remove(handlers[i]);
    end();
}

static atomic_bool stop;

static void *add_and_remove(void *unused)
{
    while (!atomic_load(&stop)) {
        if (!rsmcore_faultchain_add(handlers[2]))
            break;
        rsmcore_faultchain_remove(handlers[2]);
    }
    return unused;
}

/* A child that was forked in the midst of a change can go on changing. */
TEST_ALONE(test_fork)
{
    pthread_t thread;
    begin();
    assert_true(rsmcore_faultchain_add(handlers[0]));
    atomic_store(&stop, false);
    assert_int_equal(pthread_create(&thread, NULL, add_and_remove, NULL), 0);
    for (unsigned i = 0; i < FORKS; i++) {
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            alarm(30); /* not for ever */
            bool added = rsmcore_faultchain_add(handlers[1]);
            store(0);
            store(1);
            rsmcore_faultchain_remove(handlers[1]);
            _exit(added && of_application == 0 ? 0 : 1);
        }
        int status;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
    }
    atomic_store(&stop, true);
    pthread_join(thread, NULL);
    rsmcore_faultchain_remove(handlers[0]);
    end();
}
