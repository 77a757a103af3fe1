/* SPDX-License-Identifier: BSD-3-Clause */
/* That what is put and got is what arrives: lengths, elements, vectors, works, mappings. */
#include <setjmp.h>

#include "direct.h"
#include "transport/instance.h"

/* The byte at an offset in round @p seed. */
static uint8_t pattern(uint64_t offset, unsigned seed)
{
    return (uint8_t)(offset * 7 + (offset >> 8) * 13 + (offset >> 16) * 29 + seed * 31 + 1);
}

static void make_pattern(uint8_t *bytes, uint64_t offset, uint64_t length, unsigned seed)
{
    for (uint64_t i = 0; i < length; i++)
        bytes[i] = pattern(offset + i, seed);
}

static bool is_pattern(const uint8_t *bytes, uint64_t offset, uint64_t length, unsigned seed)
{
    for (uint64_t i = 0; i < length; i++)
        if (bytes[i] != pattern(offset + i, seed))
            return false;
    return true;
}

static uint8_t *buffer(uint64_t size)
{
    uint8_t *bytes = malloc(size);
    NEED(bytes != NULL);
    return bytes;
}

/* ---------------------------------------------------------------- lengths */

static const uint64_t lengths[] = {0,     1,     2,     3,      7,      8,      15,     64,
                                   65,    255,   4095,  4096,   4097,   16384,  32767,  32769,
                                   65535, 65536, 65537, 131071, 262144, 524289, 1048577};
enum { LENGTHS = sizeof lengths / sizeof lengths[0], SHIFTS = 3 };

/* Put, and get it again; the judge looks at the segment at the end, where all of them are. */
static void put_and_get(struct importing *self, uint64_t offset, uint64_t length, unsigned shift)
{
    uint8_t *from = buffer(length + 16), *to = buffer(length + 16);
    make_pattern(from + shift, offset, length, 1);
    memset(to, 0xee, length + 16);
    NEED_OK(self->ops->put(self->conn, offset, from + shift, length));
    NEED_OK(self->ops->complete(self->conn));
    NEED_OK(self->ops->get(self->conn, offset, to + shift, length));
    NEED(is_pattern(to + shift, offset, length, 1));
    NEED(shift == 0 || to[shift - 1] == 0xee); /* and no byte beside it */
    NEED(to[shift + length] == 0xee);
    free(from);
    free(to);
}

static void all_lengths(struct importing *self)
{
    for (unsigned i = 0; i < LENGTHS; i++)
        for (unsigned shift = 0; shift < SHIFTS; shift++) {
            put_and_get(self, shift * 5, lengths[i], shift);
            put_and_get(self, self->size - lengths[i] - shift, lengths[i], shift * 2);
        }
    put_and_get(self, 0, self->size, 1);
}

/* What lies within `first` of its end is as it was: a put that goes too far shows. */
static void in_the_middle(struct importing *self)
{
    put_and_get(self, 4099, 70001, 1);
}

DIRECT(11, "put and get move every length at every alignment, across pieces, and not a byte more",
       "Several threads may call these operations at once, with any length, including 0, and any "
       "alignment.")
{
    struct stand *s = stand();
    succeeds(honest(s, offered_to(s, READ_WRITE), in_the_middle, NULL));
    HOLDS(all_are(s, 0, 4099, SEGMENT_BYTE));
    HOLDS(all_are(s, 4099 + 70001, s->size - 4099 - 70001, SEGMENT_BYTE));
    succeeds(honest(s, offered_to(s, READ_WRITE), all_lengths, NULL));
    for (uint64_t offset = 0; offset < s->size; offset += s->page)
        HOLDS(is_pattern(at(s, offset), offset, s->page, 1));
    HOLDS(guards_are_whole(s));
}

/* ---------------------------------------------------------------- elements and vectors */

static void elements(struct importing *self)
{
    enum { COUNT = 1500 };
    static _Alignas(8) uint8_t from[COUNT * 8], to[COUNT * 8 + 8];
    for (unsigned width = 1; width <= 8; width *= 2) {
        uint64_t offset = self->size / 3 / 8 * 8 + width; /* aligned to the width, no more */
        size_t length = (size_t)COUNT * width;
        make_pattern(from, offset, length, width);
        memset(to, 0xee, sizeof to);
        NEED_OK(self->ops->put_elems(self->conn, offset, from, width, COUNT));
        NEED_OK(self->ops->complete(self->conn));
        NEED_OK(self->ops->get_elems(self->conn, offset, to, width, COUNT));
        NEED(is_pattern(to, offset, length, width));
        NEED(to[length] == 0xee);
        NEED_OK(self->ops->get(self->conn, offset, to, length + 1));
        NEED(is_pattern(to, offset, length, width));
        NEED_OK(self->ops->put_elems(self->conn, offset, from, width, 0));
    }
}

DIRECT(12, "Elements of 1, 2, 4 and 8 bytes arrive in their places and byte order",
       "Copy @p count elements of @p width (1, 2, 4 or 8) bytes in ascending order, each by a "
       "single access.")
{
    struct stand *s = stand();
    succeeds(honest(s, offered_to(s, READ_WRITE), elements, NULL));
    HOLDS(guards_are_whole(s));
}

static void vectors(struct importing *self)
{
    static uint8_t from[4][5000], to[4][5000];
    const size_t sizes[4] = {1, 0, 4096, 4999};
    struct rsm_transfer out[4], in[4];
    unsigned done = 99;
    for (unsigned i = 0; i < 4; i++) {
        uint64_t offset = i * UINT64_C(6001) + 3;
        make_pattern(from[i], offset, sizes[i], 9);
        out[i] = (struct rsm_transfer){from[i], offset, sizes[i]};
        in[i] = (struct rsm_transfer){to[i], offset, sizes[i]};
    }
    NEED_OK(self->ops->putv(self->conn, out, 4, &done));
    NEED(done == 4);
    NEED_OK(self->ops->complete(self->conn));
    done = 99;
    NEED_OK(self->ops->getv(self->conn, in, 4, &done));
    NEED(done == 4);
    for (unsigned i = 0; i < 4; i++)
        NEED(is_pattern(to[i], i * UINT64_C(6001) + 3, sizes[i], 9));
    NEED_OK(self->ops->putv(self->conn, out, 0, &done));
    NEED(done == 0);
}

DIRECT(13, "Vectors move each entry, also empty ones, and say how many are done",
       "Transfer the entries in order; on failure *done is the number of complete ones.")
{
    struct stand *s = stand();
    succeeds(honest(s, offered_to(s, READ_WRITE), vectors, NULL));
}

/* ---------------------------------------------------------------- torn elements */

enum { TORN_MS = 400, WORD_AT = 128 };

/* One of the two values, of a width, that differ in every byte. */
static uint64_t half_of(unsigned number, unsigned width)
{
    uint64_t all = number % 2 == 0 ? UINT64_C(0x0101010101010101) : UINT64_C(0xf6f6f6f6f6f6f6f6);
    return width == 8 ? all : all & ((UINT64_C(1) << 8 * width) - 1);
}

static uint64_t load(const void *where, unsigned width)
{
    return width == 8   ? __atomic_load_n((const uint64_t *)where, __ATOMIC_RELAXED)
           : width == 4 ? __atomic_load_n((const uint32_t *)where, __ATOMIC_RELAXED)
                        : __atomic_load_n((const uint16_t *)where, __ATOMIC_RELAXED);
}

static void store(void *where, unsigned width, uint64_t value)
{
    if (width == 8)
        __atomic_store_n((uint64_t *)where, value, __ATOMIC_RELAXED);
    else if (width == 4)
        __atomic_store_n((uint32_t *)where, (uint32_t)value, __ATOMIC_RELAXED);
    else
        __atomic_store_n((uint16_t *)where, (uint16_t)value, __ATOMIC_RELAXED);
}

static void put_in_turn(struct importing *self)
{
    unsigned width = *(const unsigned *)self->argument;
    for (unsigned i = 0; !atomic_load(&shared->stop); i++) {
        uint64_t value = half_of(i, width);
        NEED_OK(self->ops->put_elems(self->conn, WORD_AT, &value, width, 1));
        if (i % 16 == 0)
            NEED_OK(self->ops->complete(self->conn));
    }
}

static void get_in_turn(struct importing *self)
{
    unsigned width = *(const unsigned *)self->argument;
    while (!atomic_load(&shared->stop)) {
        uint64_t value = 0;
        NEED_OK(self->ops->get_elems(self->conn, WORD_AT, &value, width, 1));
        NEED(value == half_of(0, width) || value == half_of(1, width));
    }
}

/* The judge reads, or writes, what the importer writes, or reads. */
static void not_torn(struct stand *s, unsigned width, importer_body body)
{
    void *word = at(s, WORD_AT);
    bool reads = body == put_in_turn, whole = true;
    atomic_store(&shared->stop, false);
    atomic_store(&shared->connected, 0);
    store(word, width, half_of(0, width));
    pid_t pid = honest(s, offered_to(s, READ_WRITE), body, &width);
    reaches(pid, &shared->connected, 1);
    for (uint64_t end = direct_now_ms() + TORN_MS; whole && direct_now_ms() < end;)
        for (unsigned i = 0; whole && i < 20000; i++) {
            if (reads) {
                uint64_t seen = load(word, width);
                whole = seen == half_of(0, width) || seen == half_of(1, width);
            } else {
                store(word, width, half_of(i, width));
            }
        }
    atomic_store(&shared->stop, true);
    about("elements of %u bytes", width);
    HOLDS(whole);
    succeeds(pid);
}

DIRECT(14, "Elements of the widths that the port calls atomic are never torn",
       "the same for accesses that are never torn")
{
    struct stand *s = stand();
    APPLIES_IF((s->facts->atomic_sizes & (2 | 4 | 8)) != 0, "the port calls no width atomic");
    for (unsigned width = 2; width <= 8; width *= 2)
        if ((s->facts->atomic_sizes & width) != 0) {
            not_torn(s, width, put_in_turn);
            not_torn(s, width, get_in_turn);
        }
}

/* ---------------------------------------------------------------- threads */

enum { THREADS = 4, ROUNDS = 300 };

struct worker {
    struct importing *self;
    unsigned number;
};

static void *work(void *argument)
{
    const struct worker *worker = argument;
    struct importing *self = worker->self;
    uint8_t from[700], to[700];
    uint64_t room = self->size / THREADS, first = room * worker->number;
    for (unsigned i = 0; i < ROUNDS; i++) {
        uint64_t offset = first + i * 997 % (room - sizeof from);
        size_t length = 1 + i * 7 % sizeof from;
        make_pattern(from, offset, length, i + worker->number);
        NEED_OK(self->ops->put(self->conn, offset, from, length));
        NEED_OK(self->ops->complete(self->conn));
        memset(to, 0, length);
        NEED_OK(self->ops->get(self->conn, offset, to, length));
        NEED(is_pattern(to, offset, length, i + worker->number));
    }
    return NULL;
}

static void with_threads(struct importing *self)
{
    pthread_t threads[THREADS];
    struct worker workers[THREADS];
    for (unsigned i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){self, i};
        NEED(pthread_create(&threads[i], NULL, work, &workers[i]) == 0);
    }
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    NEED(rsm_conn_failures(self->conn) == 0);
}

DIRECT(15, "Threads that use one connection at the same time get their own data",
       "Every operation is thread-safe unless its comment says otherwise.")
{
    struct stand *s = stand();
    succeeds(honest(s, offered_to(s, READ_WRITE), with_threads, NULL));
    HOLDS(guards_are_whole(s));
}

/* ---------------------------------------------------------------- 64 pieces */

static void put_page_by_page(struct importing *self)
{
    uint64_t page = self->size / PIECES_MAX;
    uint8_t *from = buffer(self->size);
    for (uint64_t i = 0; i < PIECES_MAX; i++)
        memset(from + i * page, (int)i + 1, page);
    NEED_OK(self->ops->put(self->conn, 0, from, self->size));
    NEED_OK(self->ops->complete(self->conn));
}

DIRECT(16, "A segment may have 64 pieces, in any order", "`offer` gets 1 to 64 pieces.")
{
    struct stand *s = stand();
    APPLIES_IF(s->pieces[0].length / s->page >= PIECES_MAX, "pages as large as these");
    struct piece pieces[PIECES_MAX];
    for (unsigned i = 0; i < PIECES_MAX; i++)
        pieces[i] = (struct piece){0, s->page * (1 + (i + 17) * 5 % PIECES_MAX), s->page};
    struct ticket ticket = {.id = 0};
    struct rsm_node_offer made;
    unsigned to = (s->facts->caps & RSM_NODE_REACHES_HOSTS) != 0 ? 2 : 1;
    APPLIES_IF(s->importer == NULL, "an import through its node may have fewer pieces");
    HOLDS(node_offer(s->node, pieces, PIECES_MAX, READ_WRITE, to, &ticket.offer, &ticket.id,
                     &made) == RSM_ST_OK);
    ticket.offer.node = 1;
    struct claim claim = {READ_WRITE, PIECES_MAX * s->page};
    succeeds(importer(s, &ticket, claim, put_page_by_page, NULL));
    for (unsigned i = 0; i < PIECES_MAX; i++)
        for (uint64_t k = 0; k < s->page; k++)
            HOLDS(s->memory[0][pieces[i].offset + k] == i + 1);
}

/* ---------------------------------------------------------------- works */

enum { WORKS = 40 };

static void submit_all(struct importing *self, const struct rsm_completion_ops *ops, bool read,
                       uint8_t (*bytes)[512])
{
    bool ended[WORKS] = {false};
    unsigned submitted = 0, count = 0;
    while (count < WORKS) {
        struct rsm_completion taken[8];
        struct rsm_work work = {.cookie = submitted * 3 + 1,
                                .read = read,
                                .transfer = {bytes[submitted % WORKS], submitted * 512, 512}};
        enum rsm_status status = submitted < WORKS ? ops->submit(self->conn, &work) : RSM_ST_BUSY;
        submitted += status == RSM_ST_OK;
        if (status == RSM_ST_OK)
            continue;
        NEED(status == RSM_ST_BUSY);
        NEED_OK(ops->wait(self->conn, PATIENCE_MS));
        unsigned got = ops->poll(self->conn, taken, 8);
        for (unsigned i = 0; i < got; i++) {
            uint64_t number = taken[i].cookie / 3;
            NEED(taken[i].cookie % 3 == 1 && number < submitted && !ended[number]);
            NEED_OK(taken[i].status);
            ended[number] = true;
        }
        count += got;
    }
    NEED(ops->wait(self->conn, 0) == RSM_ST_NOT_FOUND);
}

static void works(struct importing *self)
{
    static uint8_t from[WORKS][512], to[WORKS][512];
    const struct rsm_completion_ops *ops = rsmcore_conn_completions(self->conn);
    make_pattern(from[0], 0, sizeof from, 3);
    submit_all(self, ops, false, from);
    submit_all(self, ops, true, to);
    NEED(memcmp(from, to, sizeof from) == 0);
}

DIRECT(17, "Each work is completed once, with its cookie, and its data is there then",
       "The status of such a transfer is reported only by its completion, never by `complete`.")
{
    struct stand *s = stand();
    succeeds(honest(s, offered_to(s, READ_WRITE), works, NULL));
    for (uint64_t i = 0; i < WORKS * UINT64_C(512); i++)
        HOLDS(*at(s, i) == pattern(i, 3));
}

/* ---------------------------------------------------------------- mappings */

enum { MAPPED = 1, NOT_MAPPED = 2 };

static sigjmp_buf faulted;

static void on_fault(int number)
{
    siglongjmp(faulted, number);
}

static bool store_faults(volatile uint8_t *where)
{
    bool faults = true;
    signal(SIGSEGV, on_fault);
    signal(SIGBUS, on_fault);
    if (sigsetjmp(faulted, 1) == 0) {
        *where = 0x99;
        faults = false;
    }
    signal(SIGSEGV, SIG_DFL);
    signal(SIGBUS, SIG_DFL);
    return faults;
}

/* The judge says when its node has been killed. */
static void map_it(struct importing *self)
{
    void *address = NULL, *readable = NULL;
    if ((self->conn->caps & RSM_CAP_MAP) == 0) {
        atomic_store(&shared->answer, NOT_MAPPED);
        return;
    }
    NEED_OK(self->ops->map(self->conn, 0, self->size, READ_WRITE, false, &address));
    NEED_OK(self->ops->map(self->conn, 0, self->size, RSM_RIGHT_READ, false, &readable));
    volatile uint8_t *mapped = address;
    NEED(mapped[0] == SEGMENT_BYTE && mapped[self->size - 1] == SEGMENT_BYTE);
    mapped[self->size - 1] = 0x42;
    NEED_OK(self->ops->complete(self->conn));
    NEED(((volatile uint8_t *)readable)[self->size - 1] == 0x42);
    NEED(store_faults(readable));
    atomic_store(&shared->answer, MAPPED);
    while (atomic_load(&shared->phase) == 0)
        sleep_ms(1);
    for (uint64_t i = 0; i < self->size; i += 512)
        mapped[i] = mapped[i] + 1;
    NEED_OK(self->ops->unmap(self->conn, address, self->size));
    NEED_OK(self->ops->unmap(self->conn, readable, self->size));
}

DIRECT(18, "Mappings show the segment with their rights, and raise no signal when the node dies",
       "Loads and stores through a mapping must never raise a signal, whatever happens to the "
       "exporter.")
{
    struct stand *s = stand();
    struct ticket *ticket = offered_to(s, READ_WRITE);
    pid_t pid = honest(s, ticket, map_it, NULL);
    reaches(pid, &shared->answer, MAPPED);
    APPLIES_IF(atomic_load(&shared->answer) != NOT_MAPPED, "the transport maps nothing");
    HOLDS(*at(s, s->size - 1) == 0x42);
    HOLDS(all_are(s, 0, s->size - 1, SEGMENT_BYTE));
    node_kill(s->node);
    atomic_store(&shared->phase, 1);
    succeeds(pid);
}
