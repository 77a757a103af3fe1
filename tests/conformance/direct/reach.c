/* SPDX-License-Identifier: BSD-3-Clause */
/* What an importer reaches that claims more than it was granted, and what a false offer does. */
#include "base/status.h"
#include "direct.h"

enum { RECORD_BYTES = 64, PROBE_MS = 10000 };

/* ---------------------------------------------------------------- rights */

/* By every way that there is. What they return does not matter, nor whether this process survives:
 * the core never lets a program do it. */
static void write_somehow(struct importing *self)
{
    uint8_t bytes[RECORD_BYTES];
    uint64_t word = 0x1111111111111111;
    unsigned done;
    struct rsm_transfer entry = {bytes, 512, sizeof bytes};
    memset(bytes, 0x11, sizeof bytes);
    (void)self->ops->put(self->conn, 0, bytes, sizeof bytes);
    (void)self->ops->complete(self->conn);
    (void)self->ops->put_elems(self->conn, 256, &word, 8, 1);
    (void)self->ops->complete(self->conn);
    (void)self->ops->putv(self->conn, &entry, 1, &done);
    (void)self->ops->complete(self->conn);
    if (self->ops->put_complete != NULL)
        (void)self->ops->put_complete(self->conn, 1024, bytes, sizeof bytes);
}

/* Returns if it has read a byte of the segment. */
static void read_somehow(struct importing *self)
{
    uint8_t bytes[RECORD_BYTES] = {0};
    uint64_t word = 0;
    unsigned done;
    bool snapshot;
    struct rsm_transfer entry = {bytes, 512, sizeof bytes};
    (void)self->ops->get(self->conn, 0, bytes, sizeof bytes);
    (void)self->ops->get_elems(self->conn, 256, &word, 8, 1);
    (void)self->ops->getv(self->conn, &entry, 1, &done);
    if (self->ops->get_snapshot != NULL)
        (void)self->ops->get_snapshot(self->conn, 1024, bytes, sizeof bytes, &snapshot);
    for (unsigned i = 0; i < sizeof bytes; i++)
        if (bytes[i] == SEGMENT_BYTE)
            return;
    NEED((word & 0xff) == SEGMENT_BYTE);
}

static void nothing_is_written(uint32_t granted)
{
    struct stand *s = stand();
    struct ticket *ticket = offered_to(s, granted);
    (void)ending_of(honest(s, ticket, write_somehow, NULL), PROBE_MS);
    HOLDS(all_are(s, 0, s->size, SEGMENT_BYTE));
    HOLDS(guards_are_whole(s));
}

static void nothing_is_read(uint32_t granted)
{
    struct stand *s = stand();
    struct ticket *ticket = offered_to(s, granted);
    HOLDS(ending_of(honest(s, ticket, read_somehow, NULL), PROBE_MS) != ENDED_WELL);
}

DIRECT(01, "Who may read cannot write, whatever he claims",
       "Make the offer for exactly the rights that are requested.")
{
    nothing_is_written(RSM_RIGHT_READ);
}

static void say_whether_it_maps(struct importing *self)
{
    NEED((self->conn->caps & RSM_CAP_MAP) == 0);
}

DIRECT(02, "Who may write cannot read, whatever he claims, but where memory is mapped",
       "Do not trust the importer to use less than its descriptors or keys allow.")
{
    struct stand *s = stand();
    struct ticket *ticket = offered_to(s, RSM_RIGHT_WRITE);
    struct claim claim = {RSM_RIGHT_WRITE, s->size};
    bool maps =
        ending_of(importer(s, ticket, claim, say_whether_it_maps, NULL), PROBE_MS) != ENDED_WELL;
    APPLIES_IF(!maps, "memory that is mapped to be written can be read");
    nothing_is_read(RSM_RIGHT_WRITE);
}

DIRECT(03, "Who has no rights neither reads nor writes",
       "Rights of 0 are a connection that carries signals and no data.")
{
    nothing_is_written(0);
    nothing_is_read(0);
}

/* ---------------------------------------------------------------- range */

/* An access that is outside of the segment, or partly so. */
struct beyond {
    uint64_t offset;
    uint64_t length;
};

static void write_beyond(struct importing *self)
{
    const struct beyond *where = self->argument;
    static _Alignas(8) uint8_t bytes[1 << 16];
    memset(bytes, 0x22, sizeof bytes);
    (void)self->ops->put(self->conn, where->offset, bytes, where->length);
    (void)self->ops->complete(self->conn);
    if (where->offset % 8 == 0)
        (void)self->ops->put_elems(self->conn, where->offset, bytes, 8, where->length / 8);
    (void)self->ops->complete(self->conn);
}

/* Returns if it has read what lies around the segment. */
static void read_beyond(struct importing *self)
{
    const struct beyond *where = self->argument;
    static _Alignas(8) uint8_t bytes[1 << 16];
    (void)self->ops->get(self->conn, where->offset, bytes, where->length);
    const uint64_t guard = GUARD_WORD;
    NEED(memmem(bytes, sizeof bytes, &guard, sizeof guard) != NULL);
}

static void nothing_beyond(struct stand *s, struct claim claim, struct beyond where, bool reads)
{
    struct ticket *ticket = offered_to(s, READ_WRITE);
    pid_t pid = importer(s, ticket, claim, reads ? read_beyond : write_beyond, &where);
    about("%s %#llx bytes at %#llx", reads ? "get" : "put", (unsigned long long)where.length,
          (unsigned long long)where.offset);
    bool read = ending_of(pid, PROBE_MS) == ENDED_WELL && reads;
    HOLDS(!read);
    HOLDS(guards_are_whole(s));
    ticket_sent(ticket);
    revoked(s, ticket);
}

DIRECT(04, "No access takes place outside of the segment, whatever range is claimed",
       "Sums can overflow, and descriptors can be anything.")
{
    struct stand *s = stand();
    uint64_t run = s->pieces[0].length, end = s->size;
    const struct beyond places[] = {
        {end, 64},
        {end - 8, 4096},
        {end + s->page, 4096},
        {end + run, 64},
        {UINT64_MAX - 7, 64},           /* the sum overflows */
        {UINT64_MAX - s->page + 1, 64}, /* a page in front of the first */
        {0 - run, 4096},
    };
    const struct claim claims[] = {{READ_WRITE, end}, {READ_WRITE, end + 2 * s->page}};
    for (unsigned c = 0; c < 2; c++)
        for (unsigned i = 0; i < sizeof places / sizeof places[0]; i++) {
            nothing_beyond(s, claims[c], places[i], false);
            nothing_beyond(s, claims[c], places[i], true);
        }
}

/* ---------------------------------------------------------------- offers that make no sense */

static bool is_refusal(enum rsm_status status)
{
    switch (status) {
    case RSM_ST_PROTOCOL:
    case RSM_ST_UNREACHABLE:
    case RSM_ST_TIMEOUT:
    case RSM_ST_TRANSFER:
    case RSM_ST_ABORTED:
    case RSM_ST_NO_MEMORY:
    case RSM_ST_NO_RESOURCES:
        return true;
    default:
        return false;
    }
}

static void do_nothing(struct importing *self)
{
}

/* One lie: the connect is refused, or it connects, which then has to be harmless. */
static void tell(const struct stand *s, const struct ticket *lie, uint64_t size, bool must_refuse)
{
    struct claim claim = {READ_WRITE, size};
    enum ending ending = ending_of(importer(s, lie, claim, do_nothing, NULL), PROBE_MS);
    if (ending == ENDED_BY_SIGNAL)
        about("%s", strsignal(shared->status));
    HOLDS(ending == ENDED_WELL || ending == ENDED_NO_CONNECTION);
    HOLDS(ending == ENDED_NO_CONNECTION || !must_refuse);
    if (ending != ENDED_NO_CONNECTION)
        return;
    about("connect: %s", rsmcore_status_text((enum rsm_status)shared->status));
    HOLDS(is_refusal((enum rsm_status)shared->status));
}

/* Descriptors that are open, but are nothing of the transport's. */
static void swap_descriptors(struct ticket *lie, int with)
{
    for (unsigned i = 0; i < lie->offer.fd_count; i++)
        lie->offer.fds[i] = with;
}

DIRECT(05, "connect refuses an offer that makes no sense, with a status of the table",
       "Check every count, length and offset before you use it; a wrong one is `RSM_ST_PROTOCOL`.")
{
    struct stand *s = stand();
    const struct ticket *right = offered_to(s, READ_WRITE);
    struct ticket lie = *right;
    int other = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (right->offer.blob_len > 0) {
        lie.offer.blob_len--;
        tell(s, &lie, s->size, true);
        lie = *right;
        memset(lie.offer.blob, 0xff, lie.offer.blob_len);
        tell(s, &lie, s->size, true);
    }
    lie = *right;
    lie.offer.blob_len = lie.offer.fd_count = 0;
    tell(s, &lie, s->size, true);
    lie = *right;
    lie.offer.blob_len = RSM_OFFER_MAX_BLOB + 1;
    tell(s, &lie, s->size, true);
    lie = *right;
    lie.offer.fd_count = RSM_OFFER_MAX_FDS + 1;
    tell(s, &lie, s->size, true);
    lie = *right;
    swap_descriptors(&lie, other);
    if (lie.offer.fd_count > 0)
        tell(s, &lie, s->size, false);
    for (unsigned i = 0; i < right->offer.blob_len; i += 1 + i / 8) {
        lie = *right;
        lie.offer.blob[i] ^= 0x81;
        about("byte %u of the offer", i);
        tell(s, &lie, s->size, false);
    }
}

/* ---------------------------------------------------------------- what a refusal leaves */

enum { REFUSALS = 8 };

static void be_refused_often(struct importing *self)
{
    struct ticket *lie = self->argument;
    unsigned descriptors = descriptors_open(), threads = threads_running();
    for (unsigned i = 0; i < REFUSALS; i++) {
        struct rsm_conn *conn;
        NEED(self->port->ops->connect(self->port, &lie->offer, self->size, READ_WRITE, &conn) !=
             RSM_ST_OK);
    }
    NEED(descriptors_open() <= descriptors);
    NEED(threads_fall_to(threads));
}

/* The last descriptor is none: what was taken of the offer before has to go. */
DIRECT(06, "A connect that is refused leaves no descriptor and no thread behind",
       "Keep no descriptor of the offer itself: the caller closes them all.")
{
    struct stand *s = stand();
    struct ticket *good = offered_to(s, READ_WRITE), *bad = offered_to(s, READ_WRITE);
    struct ticket lies[3] = {*bad, *bad, *bad};
    int closed = open("/dev/null", O_RDONLY | O_CLOEXEC);
    close(closed);
    lies[0].offer.blob_len = lies[0].offer.blob_len > 0 ? lies[0].offer.blob_len - 1 : 1;
    memset(lies[1].offer.blob, 0xff, lies[1].offer.blob_len);
    if (bad->offer.fd_count > 0)
        lies[2].offer.fds[bad->offer.fd_count - 1] = closed + 1000;
    else
        lies[2] = lies[0];
    for (unsigned i = 0; i < 3; i++) {
        if (i > 0 && can_be_cut(s)) /* an offer may be good for one connection only */
            good = offered_to(s, READ_WRITE);
        succeeds(honest(s, good, be_refused_often, &lies[i]));
    }
}

/* ---------------------------------------------------------------- descriptors */

static void look_at_own(struct importing *self)
{
    const bool *before = self->argument;
    for (int fd = 0; fd < 1024; fd++) {
        int flags = fcntl(fd, F_GETFD);
        if (flags < 0 || before[fd])
            continue;
        NEED(fd > 2);
        NEED((flags & FD_CLOEXEC) != 0);
    }
}

/* The offer's own stay as they are: the caller closes them. */
static void keep_apart(struct importing *self)
{
    const struct ticket *ticket = self->argument;
    for (unsigned i = 0; i < ticket->offer.fd_count; i++)
        NEED(fcntl(ticket->offer.fds[i], F_GETFD) >= 0);
    for (unsigned i = 0; i < ticket->offer.fd_count; i++)
        close(ticket->offer.fds[i]);
    uint8_t byte = 0;
    NEED_OK(self->ops->put(self->conn, 0, &byte, 1));
    NEED_OK(self->ops->get(self->conn, 0, &byte, 1));
    NEED_OK(self->ops->complete(self->conn));
}

/* Where a program has closed its standard streams, the next descriptors would be those. */
DIRECT(
    07, "A connection's descriptors are its own, close-on-exec, and above 2",
    "They must be close-on-exec and above 2, because an application may have closed its standard "
    "streams.")
{
    struct stand *s = stand();
    bool before[1024];
    struct ticket *ticket = offered_to(s, READ_WRITE);
    succeeds(honest(s, ticket, keep_apart, ticket));
    ticket = offered_to(s, READ_WRITE);
    int kept[3];
    for (int fd = 0; fd < 3; fd++) {
        kept[fd] = fcntl(fd, F_DUPFD_CLOEXEC, 3);
        close(fd);
    }
    for (int fd = 0; fd < 1024; fd++)
        before[fd] = fcntl(fd, F_GETFD) >= 0;
    pid_t pid = honest(s, ticket, look_at_own, before);
    for (int fd = 0; fd < 3; fd++) {
        if (kept[fd] >= 0)
            dup2(kept[fd], fd);
        close(kept[fd]);
    }
    succeeds(pid);
}
