/* SPDX-License-Identifier: BSD-3-Clause */
/* The counters that the other host of a bridge writes into this one's pool, all 2048 of them, while
 * connections come and go: any words, also between two looks and while they are reported. Each connection
 * gets what its own counter has gone on by, none gets more signals than there may be, and one that was
 * revoked gets nothing. An honest post makes one signal, whatever was in the word. */
#include "base/log.h"
#include "check.h"
#include "fuzz.h"
#include "input.h"
#include "transport/ntb/node/window.h"
#include "words.h"

enum { STEPS_MAX = 200 };

static struct {
    struct ntb_window window;
    struct ntb_port port;
    struct ntb_offer offers[NTB_CONNECTIONS];
    bool claimed[NTB_CONNECTIONS];
    uint64_t words[NTB_CONNECTIONS];
    struct input *in;
    bool ends; /* the port cannot be read any more */
    uint64_t before[NTB_CONNECTIONS];
} world;

static bool read_posts(struct ntb_port *port, uint32_t first, uint32_t count, uint64_t *words)
{
    CHECK(count <= NTB_CONNECTIONS && first <= NTB_CONNECTIONS - count);
    if (world.ends)
        return false;
    memcpy(words, world.words + first, count * sizeof *words);
    return true;
}

static const struct ntb_port_ops port_ops = {.posts = read_posts};

static void drop(struct ntb_offer *offer)
{
    ntb_posts_drop(&world.window, offer);
    offer->revoked = true;
    world.claimed[offer - world.offers] = false;
}

/* What rsmd does then may end any connection. */
static void on_signals(void *context, struct rsm_node_offer *made, uint32_t signals, bool coalesced)
{
    struct ntb_offer *offer = RSM_CONTAINER_OF(made, struct ntb_offer, base);
    CHECK(!offer->revoked && world.claimed[offer - world.offers]);
    CHECK(signals > 0 && signals <= RSM_SIGNALS_MAX && (!coalesced || signals == 1));
    CHECK(coalesced ||
          signals == (uint32_t)offer->counted - (uint32_t)world.before[offer - world.offers]);
    if (input_below(world.in, 8) == 7)
        drop(&world.offers[input_u8(world.in) % NTB_CONNECTIONS]);
}

static const struct rsm_node_upcalls upcalls = {.size = sizeof upcalls, .signalled = on_signals};

static void claim(struct ntb_offer *offer)
{
    const struct ntb_port_info info = {.posts = true, .peer_posts = true};
    if (world.claimed[offer - world.offers])
        return;
    *offer = (struct ntb_offer){.node = 2};
    ntb_posts_claim(&world.window, offer, &info);
    world.claimed[offer - world.offers] = true;
    CHECK(offer->connection == NTB_NO_CONNECTION ||
          (offer->connection < NTB_CONNECTIONS &&
           world.window.connections[offer->connection] == offer));
    CHECK(offer->connection == NTB_NO_CONNECTION ||
          offer->counted == world.words[offer->connection]);
}

static void report(void)
{
    for (unsigned i = 0; i < NTB_CONNECTIONS; i++)
        world.before[i] = world.offers[i].counted;
    int64_t begin = fuzz_step_begin();
    ntb_posts_report(&world.window, &upcalls, NULL);
    fuzz_step_end(begin, "a look at the counters");
}

static void collect(struct ntb_offer *offer)
{
    struct rsm_signals posted;
    if (!world.claimed[offer - world.offers])
        return;
    ntb_node_signal_ops.collect(&world.window.base, &offer->base, &posted);
    CHECK(posted.count <= RSM_SIGNALS_MAX);
}

/* One post of an honest host, by a counter that need not be. */
static void post(uint64_t *word, bool coalesce)
{
    struct rsm_signals posted;
    uint64_t next = ntb_posts_next(*word, coalesce);
    CHECK(ntb_posts_between(*word, next, &posted));
    CHECK(coalesce ? posted.count == 0 && posted.coalesced : posted.count == 1);
    *word = next;
}

static void step(struct input *in)
{
    unsigned what = input_below(in, 8);
    unsigned which =
        input_below(in, 4) != 3 ? input_below(in, 4) : (input_u8(in) * 8u + 7) % NTB_CONNECTIONS;
    switch (what) {
    case 0:
        claim(&world.offers[which]);
        break;
    case 1:
        drop(&world.offers[which]);
        break;
    case 2:
        post(&world.words[which], input_u8(in) & 1);
        break;
    case 3:
        world.words[which] = input_u64(in);
        break;
    case 4:
        world.words[which] += input_number(in) << 8 * input_below(in, 8);
        break;
    case 5:
        collect(&world.offers[which]);
        break;
    case 6:
        for (unsigned i = 0; i < NTB_CONNECTIONS; i++) /* all that there can be */
            claim(&world.offers[i]);
        break;
    default:
        world.ends = input_below(in, 16) == 15;
        report();
    }
}

static void on_log(enum rsmcore_log_level level, const char *text)
{
    (void)level, (void)text;
}

void fuzz_input(const uint8_t *data, size_t size)
{
    struct input in = {.at = data, .left = size};
    rsmcore_log_to(on_log, RSMCORE_LOG_ERROR);
    memset(&world, 0, sizeof world);
    world.port.ops = &port_ops;
    world.window.port = &world.port;
    world.in = &in;
    for (unsigned i = 0; i < NTB_CONNECTIONS; i++)
        world.offers[i] = (struct ntb_offer){.connection = NTB_NO_CONNECTION, .revoked = true};
    for (unsigned steps = 0; !input_ends(&in) && steps < STEPS_MAX; steps++)
        step(&in);
    for (unsigned i = 0; i < NTB_CONNECTIONS; i++)
        drop(&world.offers[i]);
    CHECK(world.window.connections_end == 0);
}
