/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs the published example program as two people at two terminals would: the exporter on one, the
 * importer on another, ten messages, each sent when the one before has been displayed. The program
 * has no flow control, so the pace is part of using it right.
 *
 *     type_driver [--typed] [--importer-first] [--one-node] [--patience TIMES] PROGRAM
 *
 *     --typed            the importer reads from its terminal, letter by letter; otherwise from a
 * pipe
 *     --importer-first   it has to try in vain before the exporter starts
 *     --one-node         both on node 1, without -n; otherwise on nodes 1 and 2
 *     --patience         wait so many times as long, on a machine that is slow
 *
 * Exits 0 when all ten have arrived in order and both have ended by themselves. No wait is
 * unbounded, and neither child outlives this process.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

enum {
    MESSAGES = 10,
    STEP_TIMEOUT_MS = 30000,  /* until something awaited is displayed, or an end comes */
    WATCHDOG_SECONDS = 150,   /* for everything that is not such a wait */
    TRANSCRIPT_SIZE = 131072, /* ten messages and much noise */
    MESSAGE_SIZE = 2048,      /* a terminal takes lines of 4095 bytes */
};

struct options {
    bool typed, importer_first, one_node;
    const char *program;
};

/* How one of the two is called; no peer: its own node. */
struct command {
    const char *program, *role, *node, *peer;
};

/* One of the two, and what it has displayed. */
struct party {
    const char *name;
    pid_t pid;
    int input;   /* what it reads, -1: nothing */
    int display; /* master of its terminal, -1: ended */
    char text[TRANSCRIPT_SIZE];
    size_t length; /* bytes in `text`, which always ends with NUL */
    size_t seen;   /* how much of them has been awaited */
};

static unsigned patience = 1;

static struct party exporter = {.name = "exporter", .input = -1, .display = -1};
static struct party importer = {.name = "importer", .input = -1, .display = -1};

static void print_transcript(const struct party *party)
{
    fprintf(stderr, "--- %s displayed:\n%s\n", party->name, party->text);
}

static void stop(const struct party *party)
{
    if (party->pid <= 0)
        return;
    kill(party->pid, SIGKILL);
    waitpid(party->pid, NULL, 0);
}

__attribute__((noreturn, format(printf, 1, 2))) static void die(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "FAILED: ");
    vfprintf(stderr, format, arguments);
    fprintf(stderr, "\n");
    va_end(arguments);
    print_transcript(&exporter);
    print_transcript(&importer);
    stop(&exporter);
    stop(&importer);
    exit(1);
}

static long now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* A terminal that displays what is written to it as it is; returns the master. */
static int open_terminal(int *slave)
{
    struct termios settings;
    int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (master < 0 || grantpt(master) < 0 || unlockpt(master) < 0)
        die("no terminal: %s", strerror(errno));
    *slave = open(ptsname(master), O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (*slave < 0 || tcgetattr(*slave, &settings) < 0)
        die("%s: %s", ptsname(master), strerror(errno));
    settings.c_oflag &= ~(tcflag_t)OPOST;
    if (tcsetattr(*slave, TCSANOW, &settings) < 0)
        die("tcsetattr: %s", strerror(errno));
    return master;
}

__attribute__((noreturn)) static void become(const struct command *command, int input, int terminal)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setsid();
    ioctl(terminal, TIOCSCTTY, 0);
    dup2(input, STDIN_FILENO);
    dup2(terminal, STDOUT_FILENO);
    dup2(terminal, STDERR_FILENO);
    setenv("RSM_NODE", command->node, 1);
    if (command->peer == NULL)
        execl(command->program, command->program, command->role, (char *)NULL);
    else
        execl(command->program, command->program, command->role, "-n", command->peer, (char *)NULL);
    fprintf(stderr, "%s: %s\n", command->program, strerror(errno));
    _exit(127);
}

/* @p typed: it reads from its terminal; otherwise from a pipe. */
static void start(struct party *party, const struct command *command, bool typed)
{
    int terminal, ends[2] = {-1, -1};
    party->display = open_terminal(&terminal);
    if (!typed && pipe2(ends, O_CLOEXEC) < 0)
        die("pipe: %s", strerror(errno));
    party->input = typed ? party->display : ends[1];
    party->pid = fork();
    if (party->pid < 0)
        die("fork: %s", strerror(errno));
    if (party->pid == 0)
        become(command, typed ? terminal : ends[0], terminal);
    close(terminal);
    if (!typed)
        close(ends[0]);
}

static void start_exporter(const struct options *options)
{
    struct command command = {.program = options->program, .role = "-e", .node = "1"};
    command.peer = options->one_node ? NULL : "2";
    start(&exporter, &command, false);
}

static void start_importer(const struct options *options)
{
    struct command command = {.program = options->program, .role = "-i"};
    command.node = options->one_node ? "1" : "2";
    command.peer = options->one_node ? NULL : "1";
    start(&importer, &command, options->typed);
}

/* Take in what a terminal displays. A closed terminal reports EIO. */
static void read_display(struct party *party)
{
    size_t room = sizeof party->text - 1 - party->length;
    if (room == 0)
        die("the %s displays without end", party->name);
    ssize_t got = read(party->display, party->text + party->length, room);
    if (got < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    if (got <= 0) {
        if (party->input == party->display)
            party->input = -1;
        close(party->display);
        party->display = -1;
        return;
    }
    for (ssize_t i = 0; i < got; i++) /* keep it a string */
        if (party->text[party->length + (size_t)i] == '\0')
            party->text[party->length + (size_t)i] = '@';
    party->length += (size_t)got;
    party->text[party->length] = '\0';
}

/* Read from both, so that neither is ever held up; false when the deadline is over. */
static bool read_displays(long deadline)
{
    struct pollfd displays[2] = {{.fd = exporter.display, .events = POLLIN},
                                 {.fd = importer.display, .events = POLLIN}};
    long left = deadline - now_ms();
    if (left <= 0)
        return false;
    if (poll(displays, 2, (int)left) < 0 && errno != EINTR)
        die("poll: %s", strerror(errno));
    if (displays[0].revents != 0)
        read_display(&exporter);
    if (displays[1].revents != 0)
        read_display(&importer);
    return true;
}

/* Wait until @p wanted is displayed after everything that was awaited before. */
static void await(struct party *party, const char *wanted)
{
    long deadline = now_ms() + (long)patience * STEP_TIMEOUT_MS;
    const char *found;
    while ((found = strstr(party->text + party->seen, wanted)) == NULL) {
        if (party->display < 0)
            die("the %s ended before it displayed \"%.60s\"", party->name, wanted);
        if (!read_displays(deadline))
            die("the %s did not display \"%.60s\" in time", party->name, wanted);
    }
    party->seen = (size_t)(found - party->text) + strlen(wanted);
}

static void await_end(struct party *party)
{
    long deadline = now_ms() + (long)patience * STEP_TIMEOUT_MS;
    int status = 0;
    while (party->display >= 0)
        if (!read_displays(deadline))
            die("the %s did not end", party->name);
    if (waitpid(party->pid, &status, 0) != party->pid)
        die("waitpid: %s", strerror(errno));
    party->pid = -1;
    /* "void main": the exit status on success is whatever was left in a register. */
    if (WIFSIGNALED(status))
        die("the %s died of %s", party->name, strsignal(WTERMSIG(status)));
    if (strstr(party->text, "Sanitizer:") != NULL)
        die("a sanitizer complained about the %s", party->name);
}

static void write_all(const char *text, size_t length)
{
    while (length > 0) {
        ssize_t wrote = write(importer.input, text, length);
        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote <= 0)
            die("the importer takes no input: %s", strerror(errno));
        text += wrote;
        length -= (size_t)wrote;
    }
}

/* Ten lines of growing length that share no beginning. */
static void compose(int number, char message[MESSAGE_SIZE])
{
    int length = snprintf(message, MESSAGE_SIZE, "%d of %d ", number, MESSAGES);
    int end = length + (number - 1) * 150;
    while (length < end) {
        message[length] = (char)('a' + (length + number) % 26);
        length++;
    }
    message[length++] = '\n';
    message[length] = '\0';
}

static void send_message(const struct options *options, const char *message)
{
    if (!options->typed) {
        write_all(message, strlen(message));
        return;
    }
    await(&importer, "]: "); /* the end of its prompt */
    for (const char *letter = message; *letter != '\0'; letter++)
        write_all(letter, 1);
}

static void run(const struct options *options)
{
    char message[MESSAGE_SIZE], displayed[MESSAGE_SIZE + 2];
    if (options->importer_first) {
        start_importer(options);
        await(&importer, " err ");
        await(&importer, " err ");
    }
    start_exporter(options);
    await(&exporter, "Mbuf "); /* its segment is ready */
    if (!options->importer_first)
        start_importer(options);
    for (int number = 1; number <= MESSAGES; number++) {
        compose(number, message);
        send_message(options, message);
        snprintf(displayed, sizeof displayed, "] %s", message);
        await(&exporter, displayed);
    }
    await_end(&importer);
    await_end(&exporter);
    if (strstr(exporter.text + exporter.seen, " of ") != NULL)
        die("the exporter displayed more than was sent");
}

static bool parse(int argc, char *argv[], struct options *options)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--typed") == 0)
            options->typed = true;
        else if (strcmp(argv[i], "--importer-first") == 0)
            options->importer_first = true;
        else if (strcmp(argv[i], "--one-node") == 0)
            options->one_node = true;
        else if (strcmp(argv[i], "--patience") == 0 && i + 1 < argc && atoi(argv[i + 1]) > 0)
            patience = (unsigned)atoi(argv[++i]);
        else if (argv[i][0] != '-' && options->program == NULL)
            options->program = argv[i];
        else
            return false;
    }
    return options->program != NULL;
}

int main(int argc, char *argv[])
{
    struct options options = {.program = NULL};
    if (!parse(argc, argv, &options)) {
        fprintf(stderr,
                "usage: %s [--typed] [--importer-first] [--one-node] [--patience TIMES] PROGRAM\n",
                argv[0]);
        return 2;
    }
    signal(SIGPIPE, SIG_IGN);
    alarm(patience * WATCHDOG_SECONDS);
    run(&options);
    printf("%d messages arrived in order, and both ended\n", MESSAGES);
    return 0;
}
