/* SPDX-License-Identifier: BSD-3-Clause */
#include "perftest.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "sisci_near.h"

enum {
    WORDS_MAX = 40,
    TEXT_BYTES = 16384,
    LINE_BYTES = 512,   /* longer ones are no table */
    CLIENT_TRIES = 100, /* until the server listens */
    TRY_MS = 50,
    CLIENT_MS = 60000, /* for a run */
    ITERATIONS = 1000,
    ITERATIONS_MIN = 20,
    RUNS = 4, /* it finds its clock's rate by regression and prints "inf" where that fails */
};
#define COUNT_MAX       1e12
#define BANDWIDTH_BYTES ((size_t)256 << 20) /* about so many are moved by one run */
#define LATENCY_BYTES   ((size_t)1 << 20)   /* beyond this latency is bandwidth */

/* Which of perftest's programs does what a gauge does. */
static const struct {
    const char *gauge, *program;
    bool bandwidth;
    unsigned depth; /* of its queue of sends; 0: its own choice */
} programs[] = {
    {"pingpong", "ib_write_lat", false, 0},
    {"get", "ib_read_lat", false, 0},
    {"put-stream", "ib_write_bw", true, 0},
    {"get-stream", "ib_read_bw", true, 0},
    {"sci-dma-queue", "ib_write_bw", true, SISCI_QUEUE_ENTRIES},
};

/* --- reading -----------------------------------------------------------------------------------
 */

/* "#bytes #iterations t_min t_max t_typical t_avg t_stdev 99% 99.9%" in microseconds, or
 * "#bytes #iterations peak average rate" in Gb/s; comments and settings are around it. */
static bool parse_line(const char *line, size_t bytes, bool bandwidth, struct figure *figure)
{
    double field[9];
    int count = 0;
    for (char *end; count < 9; count++, line = end) {
        field[count] = strtod(line, &end); /* what is out of range is not finite, or 0 */
        if (end == line)
            break;
    }
    if (line[strspn(line, " \t\r")] != '\0')
        return false;
    if ((bandwidth ? count != 5 : count < 8) || field[0] != (double)bytes ||
        !(field[1] >= 1 && field[1] < COUNT_MAX))
        return false;
    *figure = (struct figure){.count = (uint64_t)field[1]};
    if (bandwidth) { /* 8 bits a byte, and Gb/s are bits per ns */
        figure->p50 = figure->p99 = figure->best = (double)bytes * 8 / field[3];
        if (field[2] > field[3])
            figure->best = (double)bytes * 8 / field[2];
    } else {
        figure->best = field[2] * 1e3;
        figure->p50 = field[4] * 1e3;
        figure->p99 = field[7] * 1e3;
    }
    return isfinite(figure->best + figure->p50 + figure->p99) && figure->best > 0 &&
           figure->p50 > 0 && figure->p99 > 0;
}

bool perftest_parse(const char *text, size_t bytes, bool bandwidth, struct figure *figure)
{
    while (*text != '\0') {
        char line[LINE_BYTES];
        size_t length = strcspn(text, "\n");
        snprintf(line, sizeof line, "%.*s", length < sizeof line ? (int)length : 0, text);
        if (parse_line(line, bytes, bandwidth, figure))
            return true;
        text += length + (text[length] == '\n');
    }
    return false;
}

/* --- running -----------------------------------------------------------------------------------
 */

/* A command line; the words are kept in `text`. */
struct command {
    char text[1024];
    char *words[WORDS_MAX + 1];
    unsigned count;
};

static bool split(struct command *command)
{
    char *rest = NULL;
    for (char *word = strtok_r(command->text, " ", &rest); word != NULL;
         word = strtok_r(NULL, " ", &rest)) {
        if (command->count == WORDS_MAX)
            return false;
        command->words[command->count++] = word;
    }
    command->words[command->count] = NULL;
    return true;
}

/* A port that was free just now. */
static unsigned free_port(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool found = fd >= 0 && bind(fd, (struct sockaddr *)&address, length) == 0 &&
                 getsockname(fd, (struct sockaddr *)&address, &length) == 0;
    if (fd >= 0)
        close(fd);
    return found ? ntohs(address.sin_port) : 0;
}

/* Start it with its output to `out`; it ends with us. */
static pid_t start(const struct command *command, int out)
{
    sigset_t none;
    pid_t parent = getpid(), pid = fork();
    if (pid != 0)
        return pid;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() == parent && dup2(out, STDOUT_FILENO) >= 0 && dup2(out, STDERR_FILENO) >= 0)
        execvp(command->words[0], command->words);
    dprintf(out, "%s: %s\n", command->words[0], strerror(errno));
    _exit(EXIT_FAILURE);
}

/* What it writes, NUL-terminated, until it ends or the time is over. Whether it ended well. */
static bool collect(pid_t pid, int out, char text[TEXT_BYTES])
{
    size_t length = 0;
    int status;
    struct pollfd readable = {.fd = out, .events = POLLIN};
    while (length < TEXT_BYTES - 1 && poll(&readable, 1, CLIENT_MS) > 0) {
        ssize_t got = read(out, text + length, TEXT_BYTES - 1 - length);
        if (got <= 0)
            break;
        length += (size_t)got;
    }
    text[length] = '\0';
    kill(pid, SIGKILL); /* which does not matter to one that has ended */
    return waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static bool run_client(const struct command *command, char text[TEXT_BYTES])
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0)
        return false;
    pid_t client = start(command, ends[1]);
    close(ends[1]);
    bool well = client > 0 && collect(client, ends[0], text);
    close(ends[0]);
    return well;
}

/* The client is tried until the server listens, or has ended. */
static bool run_both(const struct command *server, const struct command *client,
                     char text[TEXT_BYTES])
{
    struct timespec pause = {.tv_nsec = TRY_MS * 1000000L};
    int ends[2];
    bool well = false, there = true;
    if (pipe2(ends, O_CLOEXEC) < 0)
        return false;
    pid_t pid = start(server, ends[1]);
    close(ends[1]);
    for (int i = 0; pid > 0 && there && !well && i < CLIENT_TRIES; i++) {
        nanosleep(&pause, NULL);
        siginfo_t ended = {.si_pid = 0};
        there =
            waitid(P_PID, (id_t)pid, &ended, WEXITED | WNOHANG | WNOWAIT) == 0 && ended.si_pid == 0;
        well = there && run_client(client, text);
    }
    if (pid > 0 && !there) /* its own words are the better ones */
        collect(pid, ends[0], text);
    else if (pid > 0 && kill(pid, SIGKILL) == 0)
        waitpid(pid, NULL, 0);
    close(ends[0]);
    return well;
}

static bool run_pair(const struct options *options, const char *program, const char *common,
                     char text[TEXT_BYTES])
{
    struct command server = {.count = 0}, client = {.count = 0};
    unsigned port = free_port();
    const char *more = options->limit_args != NULL ? options->limit_args : "";
    snprintf(server.text, sizeof server.text, "%s -d %s -F -p %u %s %s", program,
             options->limit_device[0], port, common, more);
    snprintf(client.text, sizeof client.text, "%s -d %s -F -p %u %s %s 127.0.0.1", program,
             options->limit_device[1], port, common, more);
    strcpy(text, "too many words in --limit-args\n");
    return split(&server) && split(&client) && run_both(&server, &client, text);
}

static bool is_installed(const char *program)
{
    char path[4096], file[4096 + 64], *rest = NULL;
    const char *given = getenv("PATH");
    snprintf(path, sizeof path, "%s", given != NULL ? given : "/usr/bin:/bin");
    for (char *part = strtok_r(path, ":", &rest); part != NULL; part = strtok_r(NULL, ":", &rest)) {
        snprintf(file, sizeof file, "%s/%s", part, program);
        if (access(file, X_OK) == 0)
            return true;
    }
    return false;
}

/* Said once, whatever the number of figures that have no limit then. */
static bool is_there(const char *program)
{
    static bool said;
    bool there = is_installed(program);
    if (!there && !said)
        complain("%s is not installed: the package perftest has it; figures have no limit",
                 program);
    said |= !there;
    return there;
}

/* The last line says why. */
static void complain_of(const char *program, char text[TEXT_BYTES])
{
    size_t length = strlen(text);
    while (length > 0 && (text[length - 1] == '\n' || text[length - 1] == ' '))
        text[--length] = '\0';
    const char *last = strrchr(text, '\n');
    last = last != NULL ? last + 1 : text;
    complain("%s: %s", program, *last != '\0' ? last : "no figure in what it wrote");
}

void perftest_limit(const struct options *options, struct result *result)
{
    static char text[TEXT_BYTES];
    char common[64], depth[16] = "";
    size_t i = 0, count = sizeof programs / sizeof *programs, bytes = result->bytes;
    while (i < count && strcmp(programs[i].gauge, result->gauge->name) != 0)
        i++;
    if (i == count || (!programs[i].bandwidth && bytes > LATENCY_BYTES))
        return;
    if (!is_there(programs[i].program))
        return;
    size_t iterations = BANDWIDTH_BYTES / bytes;
    iterations = iterations > ITERATIONS       ? ITERATIONS
                 : iterations < ITERATIONS_MIN ? ITERATIONS_MIN
                                               : iterations;
    if (programs[i].depth > 0)
        snprintf(depth, sizeof depth, " -t %u", programs[i].depth);
    snprintf(common, sizeof common, "-s %zu -n %zu%s%s", bytes, iterations,
             programs[i].bandwidth ? " --report_gbits" : "", depth);
    for (int run = 0; run < RUNS && result->limit_name == NULL; run++) {
        if (!run_pair(options, programs[i].program, common, text))
            break;
        if (perftest_parse(text, bytes, programs[i].bandwidth, &result->limit))
            result->limit_name = programs[i].program;
    }
    if (result->limit_name == NULL)
        complain_of(programs[i].program, text);
}
