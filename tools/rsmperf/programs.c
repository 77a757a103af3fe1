/* SPDX-License-Identifier: BSD-3-Clause */
#include "programs.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "report.h"

enum {
    WORDS_MAX = 40,
    LINE_BYTES = 1024,  /* of a command */
    CLIENT_TRIES = 100, /* until the server listens */
    TRY_MS = 50,
    RUN_MS = 60000,
};

/* A command line; the words are kept in `text`. */
struct command {
    char text[LINE_BYTES];
    const char *words[WORDS_MAX + 1];
};

static bool split(struct command *command, const char *line)
{
    char *rest = NULL;
    unsigned count = 0;
    if (snprintf(command->text, sizeof command->text, "%s", line) >= LINE_BYTES)
        return false;
    for (char *word = strtok_r(command->text, " ", &rest); word != NULL;
         word = strtok_r(NULL, " ", &rest)) {
        if (count == WORDS_MAX)
            return false;
        command->words[count++] = word;
    }
    command->words[count] = NULL;
    return count > 0;
}

unsigned program_port(void)
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
static pid_t start(const char *const words[], int out)
{
    sigset_t none;
    pid_t parent = getpid(), pid = fork();
    if (pid != 0)
        return pid;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() == parent && dup2(out, STDOUT_FILENO) >= 0 && dup2(out, STDERR_FILENO) >= 0)
        execvp(words[0], (char *const *)(uintptr_t)words);
    dprintf(out, "%s: %s\n", words[0], strerror(errno));
    _exit(EXIT_FAILURE);
}

/* What it writes, NUL-terminated, until it ends or the time is over. Whether it ended well. */
static bool collect(pid_t pid, int out, char text[PROGRAM_TEXT_BYTES])
{
    size_t length = 0;
    int status;
    struct pollfd readable = {.fd = out, .events = POLLIN};
    while (length < PROGRAM_TEXT_BYTES - 1 && poll(&readable, 1, RUN_MS) > 0) {
        ssize_t got = read(out, text + length, PROGRAM_TEXT_BYTES - 1 - length);
        if (got <= 0)
            break;
        length += (size_t)got;
    }
    text[length] = '\0';
    kill(pid, SIGKILL); /* which does not matter to one that has ended */
    return waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

bool program_run(const char *const words[], char text[PROGRAM_TEXT_BYTES])
{
    int ends[2];
    text[0] = '\0';
    if (pipe2(ends, O_CLOEXEC) < 0)
        return false;
    pid_t pid = start(words, ends[1]);
    close(ends[1]);
    bool well = pid > 0 && collect(pid, ends[0], text);
    close(ends[0]);
    return well;
}

/* The client is tried until the server listens, or has ended. */
static bool run_both(const char *const server[], const char *const client[],
                     char text[PROGRAM_TEXT_BYTES])
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
        well = there && program_run(client, text);
    }
    if (pid > 0 && !there) /* its own words are the better ones */
        collect(pid, ends[0], text);
    else if (pid > 0 && kill(pid, SIGKILL) == 0)
        waitpid(pid, NULL, 0);
    close(ends[0]);
    return well;
}

bool program_pair(const char *server, const char *client, char text[PROGRAM_TEXT_BYTES])
{
    struct command first, second;
    strcpy(text, "the command line is too long\n");
    return split(&first, server) && split(&second, client) &&
           run_both(first.words, second.words, text);
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

bool program_is_there(const char *program, const char *package, const char *then, bool *said)
{
    bool there = is_installed(program);
    if (!there && !*said)
        complain("%s is not installed: the package %s has it; %s", program, package, then);
    *said |= !there;
    return there;
}

void program_complain(const char *program, char text[PROGRAM_TEXT_BYTES])
{
    size_t length = strlen(text);
    while (length > 0 && (text[length - 1] == '\n' || text[length - 1] == ' '))
        text[--length] = '\0';
    const char *last = strrchr(text, '\n');
    last = last != NULL ? last + 1 : text;
    complain("%s: %s", program, *last != '\0' ? last : "no figure in what it wrote");
}
