/* SPDX-License-Identifier: BSD-3-Clause */
#include "agent.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include "hosts.h"
#include "process.h"
#include "sides.h"
#include "suite.h"

enum { PORT = 19248, BACKLOG = 16, ANSWER_MS = 120000, DAEMON_END_MS = 20000 };

enum what { BEGIN, END, DAEMON_START, DAEMON_END, AWAIT_LINK, ACTOR, KILL };

/* One on each connection, but for BEGIN, whose connection stays for END. The answer is a number, negative for
 * a failure. The connection of an actor goes on as its stream. */
struct request {
    uint32_t what;
    uint32_t node, other;
    int32_t pid;
    uint32_t failed;
};

static struct sockaddr_in socket_address(const char *address)
{
    struct sockaddr_in made = {.sin_family = AF_INET, .sin_port = htons(PORT)};
    HOLDS(inet_pton(AF_INET, address, &made.sin_addr) == 1);
    return made;
}

static bool receive(int fd, void *bytes, size_t length)
{
    return recv(fd, bytes, length, MSG_WAITALL) == (ssize_t)length;
}

static void answer(int fd, int32_t number)
{
    if (send(fd, &number, sizeof number, MSG_NOSIGNAL) != sizeof number)
        perror("agent");
}

/* ---------------------------------------------------------------- the agent */

static struct {
    struct world *world;
    int listener, control;
    pid_t *daemon; /* shared with the processes that start it */
} agent = {.listener = -1, .control = -1};

/* In a process of its own, because what fails ends it. Daemons become the agent's children with its end. */
static int32_t apart(void (*function)(const struct request *request), const struct request *request)
{
    int status = 0;
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        function(request);
        _exit(0);
    }
    return pid > 0 && child_await(pid, 0, ANSWER_MS, &status) == pid && status == 0 ? 0 : -1;
}

static void start_daemon(const struct request *request)
{
    *agent.daemon = host_start(agent.world, request->node);
}

static void await_link(const struct request *request)
{
    host_await_link(agent.world, request->node, request->other, true);
}

static int32_t end_daemon(void)
{
    int status = 0;
    pid_t daemon = *agent.daemon;
    *agent.daemon = 0;
    if (daemon == 0 || kill(daemon, SIGTERM) != 0 ||
        child_await(daemon, 0, DAEMON_END_MS, &status) != daemon)
        return -1;
    return status == 0 ? 0 : -1;
}

static int32_t kill_one(pid_t pid)
{
    int status;
    return kill(pid, SIGKILL) == 0 && child_await(pid, 0, ANSWER_MS, &status) == pid ? 0 : -1;
}

static void start_actor(int fd, unsigned node)
{
    fflush(NULL);
    pid_t pid = fork();
    if (pid != 0) {
        if (pid < 0)
            answer(fd, -1);
        return;
    }
    close(agent.listener);
    close(agent.control);
    answer(fd, getpid());
    actor_serve(agent.world, node, fd);
}

static void serve_one(int fd)
{
    struct request request;
    if (!receive(fd, &request, sizeof request))
        return;
    switch (request.what) {
    case DAEMON_START:
        answer(fd, apart(start_daemon, &request));
        break;
    case DAEMON_END:
        answer(fd, end_daemon());
        break;
    case AWAIT_LINK:
        answer(fd, apart(await_link, &request));
        break;
    case ACTOR:
        start_actor(fd, request.node);
        break;
    case KILL:
        answer(fd, kill_one(request.pid));
        break;
    default:
        answer(fd, -1);
    }
}

static bool kill_child(pid_t pid, void *context)
{
    kill(pid, SIGKILL);
    return true;
}

/* Until the test is over, or whoever runs it has gone. */
static void serve_test(void)
{
    struct pollfd descriptors[] = {{.fd = agent.listener, .events = POLLIN},
                                   {.fd = agent.control, .events = POLLIN}};
    while (poll(descriptors, 2, -1) > 0 && descriptors[1].revents == 0) {
        int fd = accept4(agent.listener, NULL, NULL, SOCK_CLOEXEC);
        serve_one(fd);
        close(fd);
    }
}

static void serve_world(void)
{
    void *state = NULL;
    struct request request = {0};
    bool well = true;
    if (world_setup(&state) != 0) {
        answer(agent.control, -1);
        return;
    }
    agent.world = state;
    stage_split(agent.world);
    answer(agent.control, 0);
    serve_test();
    if (!receive(agent.control, &request, sizeof request) || request.failed != 0)
        children_visit(kill_child, NULL);
    else if (*agent.daemon != 0)
        well = end_daemon() == 0;
    *agent.daemon = 0;
    well = world_teardown(&state) == 0 && well;
    answer(agent.control, well ? 0 : -1);
}

int agent_serve(const char *address)
{
    struct sockaddr_in here = socket_address(address);
    struct request request;
    agent.daemon =
        mmap(NULL, sizeof *agent.daemon, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    agent.listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (agent.daemon == MAP_FAILED || agent.listener < 0 ||
        setsockopt(agent.listener, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int)) < 0 ||
        bind(agent.listener, (struct sockaddr *)&here, sizeof here) < 0 ||
        listen(agent.listener, BACKLOG) < 0) {
        perror(address);
        return 1;
    }
    puts("serving");
    fflush(stdout);
    for (;;) {
        agent.control = accept4(agent.listener, NULL, NULL, SOCK_CLOEXEC);
        if (agent.control >= 0 && receive(agent.control, &request, sizeof request) &&
            request.what == BEGIN)
            serve_world();
        close(agent.control); /* others belong to a test that has ended */
    }
}

/* ---------------------------------------------------------------- the tests' machine */

static int control = -1;

/* The answer, -1 if there is none. */
static int32_t receive_answer(int fd)
{
    int32_t number = -1;
    struct pollfd readable = {.fd = fd, .events = POLLIN};
    if (poll(&readable, 1, ANSWER_MS) != 1 || !receive(fd, &number, sizeof number))
        return -1;
    return number;
}

static int connect_to_agent(void)
{
    unsigned other = options.side == SIDE_EXPORTER ? SIDE_IMPORTER : SIDE_EXPORTER;
    struct sockaddr_in there = socket_address(options.machines[other]);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&there, sizeof there) == 0)
        return fd;
    perror("agent");
    if (fd >= 0)
        close(fd);
    return -1;
}

/* A connection on which this was asked, and the answer. */
static int ask(const struct request *request, int32_t *number)
{
    int fd = connect_to_agent();
    *number = -1;
    if (fd >= 0 && send(fd, request, sizeof *request, MSG_NOSIGNAL) == sizeof *request)
        *number = receive_answer(fd);
    return fd;
}

static void must_answer(const struct request *request)
{
    int32_t number;
    int fd = ask(request, &number);
    HOLDS(fd >= 0);
    close(fd);
    about("request %u to the agent", (unsigned)request->what);
    HOLDS(number >= 0);
    about("%s", "");
}

bool agent_begin(void)
{
    int32_t number;
    control = ask(&(struct request){.what = BEGIN}, &number);
    if (number < 0 && control >= 0)
        close(control);
    return number >= 0;
}

bool agent_end(bool failed)
{
    const struct request request = {.what = END, .failed = failed};
    bool well = send(control, &request, sizeof request, MSG_NOSIGNAL) == sizeof request &&
                receive_answer(control) >= 0;
    close(control);
    return well;
}

void agent_daemon_start(unsigned node)
{
    must_answer(&(struct request){.what = DAEMON_START, .node = node});
}

void agent_daemon_end(unsigned node)
{
    must_answer(&(struct request){.what = DAEMON_END, .node = node});
}

void agent_await_link(unsigned node, unsigned other)
{
    must_answer(&(struct request){.what = AWAIT_LINK, .node = node, .other = other});
}

static void kill_actor(const struct actor *actor)
{
    must_answer(&(struct request){.what = KILL, .pid = actor->pid});
}

struct actor *agent_actor(struct world *world, unsigned node)
{
    int32_t pid;
    int fd = ask(&(struct request){.what = ACTOR, .node = node}, &pid);
    HOLDS(fd >= 0 && pid > 0);
    return actor_elsewhere(world, node, pid, fd, kill_actor);
}
