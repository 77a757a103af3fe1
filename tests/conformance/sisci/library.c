/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks 11 to 21: the library, nodes, queries. */
#include "sisci.h"

enum { DESCRIPTORS = 10, SOON_MS = 10000, UNKNOWN_NODE = 60000 };

CONFORMANCE(H, 11, "SCIGetErrorString() has a text of its own for every code, and one for others")
{
    static const unsigned last_of[] = {0x925, 0xa06, 0xb05};
    const char *known[512];
    unsigned count = 0;
    const char *unknown = SCIGetErrorString((sci_error_t)0x12345);
    HOLDS(unknown != NULL);
    HOLDS(strcmp(SCIGetErrorString(SCI_ERR_OK), unknown) != 0);
    for (unsigned i = 0; i < 3; i++) {
        for (unsigned code = last_of[i] & 0xf00; code <= last_of[i]; code++) {
            const char *text = SCIGetErrorString((sci_error_t)(SCI_ERR_MASK | code));
            HOLDS(text != NULL);
            if (strcmp(text, unknown) != 0)
                known[count++] = text;
        }
    }
    HOLDS(count == 48);
    for (unsigned i = 0; i < count; i++)
        for (unsigned k = 0; k < i; k++)
            HOLDS(strcmp(known[i], known[k]) != 0);
    HOLDS(strcmp(SCIGetErrorString(SCI_ERR_TIMEOUT), "SCI_ERR_TIMEOUT") == 0);
}

CONFORMANCE(L, 12, "SCIInitialize(), SCITerminate(), SCIInitialize() again; calls are counted")
{
    sci_desc_t opened;
    act_as_exporter();
    SCITerminate(); /* harmless */
    for (int i = 0; i < 2; i++) {
        SUCCEEDS(SCIInitialize, 0);
        SUCCEEDS(SCIInitialize, 0);
        SUCCEEDS(SCIOpen, &opened, 0);
        SCITerminate();
        SUCCEEDS(SCIClose, opened, 0);
        SUCCEEDS(SCIOpen, &opened, 0);
        SCITerminate();
        SUCCEEDS(SCIClose, opened, 0); /* nothing is left to be closed */
        GIVES(SCI_ERR_NOT_INITIALIZED, SCIOpen, &opened, 0);
    }
    GIVES(SCI_ERR_ILLEGAL_FLAG, SCIInitialize, 1);
    GIVES(SCI_ERR_NOT_INITIALIZED, SCIOpen, &opened, 0);
}

CONFORMANCE(L, 13, "before SCIInitialize() SCIOpen() fails")
{
    sci_desc_t opened = (sci_desc_t)8;
    act_as_exporter();
    GIVES(SCI_ERR_NOT_INITIALIZED, SCIOpen, &opened, 0);
    HOLDS(opened == NULL);
    SCIOpen(NULL, 0, NULL);
    GIVES(SCI_ERR_NOT_INITIALIZED, SCIClose, opened, 0); /* the library has never been used */
}

CONFORMANCE(L, 14, "ten descriptors at once; an empty one closes")
{
    sci_desc_t opened[DESCRIPTORS];
    act_as_exporter();
    SUCCEEDS(SCIInitialize, 0);
    for (int i = 0; i < DESCRIPTORS; i++) {
        SUCCEEDS(SCIOpen, &opened[i], i % 2 != 0 ? SCI_FLAG_THREAD_SAFE : 0);
        for (int k = 0; k < i; k++)
            HOLDS(opened[i] != opened[k]);
    }
    for (int i = 0; i < DESCRIPTORS; i++) {
        SUCCEEDS(SCIClose, opened[i], 0);
        GIVES(SCI_ERR_ILLEGAL_PARAMETER, SCIClose, opened[i], 0);
    }
    SCITerminate();
}

static sci_error_t ask_adapter(unsigned adapter, unsigned subcommand, unsigned *answer)
{
    sci_query_adapter_t query = {
        .localAdapterNo = adapter, .subcommand = subcommand, .data = answer};
    return ERROR_OF(SCIQuery, SCI_Q_ADAPTER, &query, 0);
}

CONFORMANCE(L, 15, "SCIGetLocalNodeId() and the query NODEID give the configured node")
{
    unsigned short_form = 0, long_form = 0;
    begin_as_a();
    SUCCEEDS(SCIGetLocalNodeId, ADAPTER, &short_form, 0);
    EXPECT(SCI_ERR_OK, ask_adapter(ADAPTER, SCI_Q_ADAPTER_NODEID, &long_form));
    EXPECT((int)node_a(), (int)short_form);
    EXPECT((int)node_a(), (int)long_form);
    GIVES(SCI_ERR_ILLEGAL_PARAMETER, SCIGetLocalNodeId, ADAPTER, NULL, 0);
    GIVES(SCI_ERR_ILLEGAL_FLAG, SCIGetLocalNodeId, ADAPTER, &short_form, 1);
    SCITerminate();
}

CONFORMANCE(L, 16, "an adapter that does not exist")
{
    unsigned node = 77;
    begin_as_a();
    EXPECT(SCI_ERR_NO_SUCH_ADAPTERNO, ask_adapter(63, SCI_Q_ADAPTER_NODEID, &node));
    EXPECT(SCI_ERR_ILLEGAL_ADAPTERNO, ask_adapter(64, SCI_Q_ADAPTER_NODEID, &node));
    EXPECT(SCI_ERR_ILLEGAL_ADAPTERNO, ask_adapter(UINT32_MAX, SCI_Q_ADAPTER_NODEID, &node));
    GIVES(SCI_ERR_NO_SUCH_ADAPTERNO, SCIGetLocalNodeId, 63, &node, 0);
    EXPECT(77, (int)node);
    SCITerminate();
}

CONFORMANCE(L, 17,
            "queries of an adapter take no notice of a port that programs leave uninitialised")
{
    static const unsigned ports[] = {0, 1, 77, 0xdeadbeef, UINT32_MAX};
    begin_as_a();
    for (unsigned i = 0; i < sizeof ports / sizeof ports[0]; i++) {
        unsigned answer = 0;
        sci_query_adapter_t query = {.localAdapterNo = ADAPTER,
                                     .portNo = ports[i],
                                     .subcommand = SCI_Q_ADAPTER_NODEID,
                                     .data = &answer};
        about("port 0x%x", ports[i]);
        SUCCEEDS(SCIQuery, SCI_Q_ADAPTER, &query, 0);
        EXPECT((int)node_a(), (int)answer);
        EXPECT((int)ports[i], (int)query.portNo);
        /* Also where a link is asked about. */
        query.subcommand = SCI_Q_ADAPTER_LINK_OPERATIONAL;
        answer = 77;
        SUCCEEDS(SCIQuery, SCI_Q_ADAPTER, &query, 0);
        HOLDS(answer <= 1);
    }
    SCITerminate();
}

CONFORMANCE(L, 18, "strings end with a NUL and never exceed their length")
{
    static const unsigned commands[] = {SCI_Q_API, SCI_Q_VENDORID, SCI_Q_SISCI_DRIVER_VERSION};
    begin_as_a();
    for (int i = 0; i < 3; i++) {
        for (unsigned length = 1; length <= 80; length += length < 8 ? 1 : 72) {
            char text[82];
            sci_query_string_t query = {text, length};
            memset(text, 'x', sizeof text);
            SUCCEEDS(SCIQuery, commands[i], &query, 0);
            size_t got = strnlen(text, length);
            HOLDS(got < length && got == (length < 4 ? length - 1 : got));
            for (size_t after = length; after < sizeof text; after++)
                HOLDS(text[after] == 'x');
        }
        sci_query_string_t none = {NULL, 80}, empty = {(char[1]){'x'}, 0};
        GIVES(SCI_ERR_ILLEGAL_PARAMETER, SCIQuery, commands[i], &none, 0);
        GIVES(SCI_ERR_ILLEGAL_PARAMETER, SCIQuery, commands[i], &empty, 0);
        HOLDS(empty.str[0] == 'x');
    }
    SCITerminate();
}

CONFORMANCE(L, 19, "alignments, the largest transfer and the cache line are not 0")
{
    static const unsigned subcommands[] = {
        SCI_Q_ADAPTER_DMA_SIZE_ALIGNMENT, SCI_Q_ADAPTER_DMA_OFFSET_ALIGNMENT, SCI_Q_ADAPTER_DMA_MTU,
        SCI_Q_ADAPTER_CONFIGURED, SCI_Q_ADAPTER_CARD_TYPE};
    unsigned answer;
    begin_as_a();
    for (unsigned i = 0; i < sizeof subcommands / sizeof subcommands[0]; i++) {
        answer = 0;
        EXPECT(SCI_ERR_OK, ask_adapter(ADAPTER, subcommands[i], &answer));
        HOLDS(answer != 0);
    }
    HOLDS(SCIGetAdapterTypeString(answer) != NULL);
    HOLDS(strcmp(SCIGetAdapterTypeString(answer), SCIGetAdapterTypeString(answer + 1)) != 0);
    HOLDS(SCIGetAdapterFamilyString(answer + 1) != NULL);
    sci_query_system_t query = {SCI_Q_SYSTEM_CPU_CACHE_LINE_SIZE, &answer};
    SUCCEEDS(SCIQuery, SCI_Q_SYSTEM, &query, 0);
    HOLDS(answer >= 16);
    EXPECT(SCI_ERR_OK, ask_adapter(ADAPTER, SCI_Q_ADAPTER_LINK_OPERATIONAL, &answer));
    EXPECT(SCI_ERR_OK, ask_adapter(ADAPTER, SCI_Q_ADAPTER_SERIAL_NUMBER, &answer));
    SCITerminate();
}

CONFORMANCE(L, 20, "unknown commands and subcommands, and handles of another kind")
{
    unsigned answer = 77;
    sci_query_adapter_t adapter = {ADAPTER, 0, 0, &answer};
    sci_query_system_t system = {0, &answer};
    sci_query_map_t map = {(sci_map_t)desc(), SCI_Q_REMOTE_SEGMENT_IOADDR, 0};
    begin_as_a();
    for (unsigned command = 0; command < 64; command++)
        if (command < SCI_Q_API || command > SCI_Q_MAP)
            GIVES(SCI_ERR_ILLEGAL_QUERY, SCIQuery, command, &adapter, 0);
    for (unsigned subcommand = 0; subcommand < SCI_Q_ADAPTER_NODEID; subcommand++) {
        adapter.subcommand = system.subcommand = subcommand;
        GIVES(SCI_ERR_ILLEGAL_QUERY, SCIQuery, SCI_Q_ADAPTER, &adapter, 0);
        GIVES(SCI_ERR_ILLEGAL_QUERY, SCIQuery, SCI_Q_SYSTEM, &system, 0);
    }
    map.map = (sci_map_t)desc();
    GIVES(SCI_ERR_ILLEGAL_QUERY, SCIQuery, SCI_Q_REMOTE_SEGMENT, &map, 0);
    GIVES(SCI_ERR_ILLEGAL_QUERY, SCIQuery, SCI_Q_MAP, &map, 0);
    GIVES(SCI_ERR_ILLEGAL_PARAMETER, SCIQuery, SCI_Q_ADAPTER, NULL, 0);
    GIVES(SCI_ERR_ILLEGAL_FLAG, SCIQuery, SCI_Q_ADAPTER, &adapter, SCI_FLAG_DMA_ADAPTER);
    adapter.data = NULL;
    GIVES(SCI_ERR_ILLEGAL_PARAMETER, SCIQuery, SCI_Q_ADAPTER, &adapter, 0);
    EXPECT(77, (int)answer);
    SCITerminate();
}

CONFORMANCE(X, 12, "adapters have the numbers that rsm.conf gives to controllers")
{
    unsigned node = 0;
    APPLIES_IF(!two_hosts(), "the daemons of two hosts have their configuration");
    serve_configured(node_a(), "[controller a0]\ntransport = shm\nadapter = 5\n"
                               "[controller b0]\ntransport = shm\n"
                               "[controller c0]\ntransport = shm\nadapter = 0\n");
    begin_as_a();
    for (unsigned adapter = 0; adapter < 8; adapter++)
        GIVES(adapter == 0 || adapter == 5 ? SCI_ERR_OK : SCI_ERR_NO_SUCH_ADAPTERNO,
              SCIGetLocalNodeId, adapter, &node, 0);
    EXPECT((int)node_a(), (int)node);
    SCITerminate();
}

CONFORMANCE(X, 13, "nodes are found by the names of hosts and adapters")
{
    char first[] = "Alpha", second[] = "alpha-1", host[] = "localhost", unknown[] = "alph",
         configuration[512];
    dis_nodeId_list_t list;
    dis_virt_adapter_t type = 0;
    unsigned adapters[DIS_MAX_NSCIS];
    APPLIES_IF(!two_hosts(), "the daemons of two hosts have their configuration");
    snprintf(configuration, sizeof configuration,
             "[node %u]\nhost = localhost\nnames = alpha  alpha-1\n"
             "[node 40]\nhost = elsewhere\nnames = beta alpha\n"
             "[controller sci0]\ntransport = shm\n",
             node_a());
    serve_configured(node_a(), configuration);
    begin_as_a();
    SUCCEEDS(SCIGetNodeIdByAdapterName, first, &list, &type, 0);
    HOLDS(list[0] == node_a() && list[1] == 40 && list[2] == 0);
    HOLDS(strcmp(SCIGetAdapterTypeString(type), SCIGetAdapterTypeString(0)) != 0);
    SUCCEEDS(SCIGetNodeInfoByAdapterName, first, adapters, &list, &type, 0);
    HOLDS(adapters[0] == 0 && adapters[1] == 1);
    SUCCEEDS(SCIGetNodeInfoByAdapterName, second, adapters, &list, NULL, 0);
    HOLDS(list[0] == node_a() && list[1] == 0 && adapters[0] == 1);
    SUCCEEDS(SCIGetNodeIdByAdapterName, host, &list, NULL, 0);
    HOLDS(list[0] == node_a() && list[1] == 0);
    GIVES(SCI_ERR_NO_SUCH_NODEID, SCIGetNodeIdByAdapterName, unknown, &list, &type, 0);
    HOLDS(list[0] == 0);
    GIVES(SCI_ERR_ILLEGAL_PARAMETER, SCIGetNodeIdByAdapterName, NULL, &list, &type, 0);
    GIVES(SCI_ERR_ILLEGAL_PARAMETER, SCIGetNodeIdByAdapterName, first, NULL, &type, 0);
    GIVES(SCI_ERR_ILLEGAL_PARAMETER, SCIGetNodeInfoByAdapterName, first, NULL, &list, &type, 0);
    memset(configuration, 'x', sizeof configuration - 1);
    GIVES(SCI_ERR_NO_SUCH_NODEID, SCIGetNodeIdByAdapterName, configuration, &list, &type, 0);
    SCITerminate();
}

static int open_only(void *bytes)
{
    NEED(desc() != NULL);
    return 0;
}

static int probe(unsigned node, sci_error_t *error)
{
    int64_t begin = now_ms();
    int answers = SCIProbeNode(desc(), ADAPTER, node, 0, error);
    HOLDS(now_ms() - begin < SOON_MS);
    return answers;
}

CONFORMANCE(L, 21, "SCIProbeNode() finds the own node and a running one, and fails soon for others")
{
    struct actor *b = b_start();
    sci_error_t error = SCI_ERR_OK;
    char nothing = 0;
    EXPECT(0, actor_run(b, open_only, &nothing, sizeof nothing));
    begin_as_a();
    HOLDS(probe(node_a(), &error) != 0);
    EXPECT(SCI_ERR_OK, error);
    HOLDS(probe(node_b(), &error) != 0);
    EXPECT(SCI_ERR_OK, error);
    HOLDS(probe(SCI_LOCAL_HOST, &error) != 0);
    EXPECT(0, probe(UNKNOWN_NODE, &error));
    EXPECT_EITHER(SCI_ERR_NO_SUCH_NODEID, SCI_ERR_NO_REMOTE_LINK_ACCESS, error);
    EXPECT(0, probe(0x10000, &error));
    EXPECT(SCI_ERR_ILLEGAL_NODEID, error);
    EXPECT(0, SCIProbeNode(NULL, ADAPTER, node_a(), 0, &error));
    EXPECT(SCI_ERR_ILLEGAL_PARAMETER, error);
    EXPECT(0, SCIProbeNode(desc(), 63, node_a(), 0, &error));
    EXPECT(SCI_ERR_NO_SUCH_ADAPTERNO, error);
    SCITerminate();
    actor_stop(b);
}
