/* SPDX-License-Identifier: BSD-3-Clause */
/* Beyond the list of checks: functions that librsm does not have, and hostile arguments of functions that take no
 * handle, or that move blocks. */
#include "segments_peer.h"

enum { UNTOUCHED = 77 };

/* ---------------------------------------------------------------- absent functions */

/* Each of them, with a pointer that may be any handle. */
static void all_report(sci_error_t wanted, void *any)
{
    unsigned number = UNTOUCHED;
    sci_ioaddr_t address = UNTOUCHED;
    HOLDS(SCIGetCSRRegister(any, ADAPTER, 1, 0, 0, NULL) == 0);
    GIVES(wanted, SCIGetCSRRegister, any, ADAPTER, 1, 0, 0);
    GIVES(wanted, SCISetCSRRegister, any, ADAPTER, UINT32_MAX, UINT32_MAX, 0, 0);
    HOLDS(SCIGetLocalCSR(any, ADAPTER, 0, 0, NULL) == 0);
    GIVES(wanted, SCIGetLocalCSR, any, UINT32_MAX, UINT32_MAX, 0);
    GIVES(wanted, SCISetLocalCSR, any, ADAPTER, 0, 0, UINT32_MAX);
    GIVES(wanted, SCIRequestDMAChannel, any, NULL, ADAPTER, 0, UINT32_MAX, 0);
    GIVES(wanted, SCIReturnDMAChannel, any);
    GIVES(wanted, SCIAssignDMAChannel, any, any, UINT32_MAX);
    GIVES(wanted, SCIBorrowDevice, any, NULL, UINT64_MAX, 0);
    GIVES(wanted, SCIReturnDevice, any, 0);
    HOLDS(SCIGetFabricDeviceId(any) == 0);
    HOLDS(SCIGetDeviceList(any, NULL, SIZE_MAX, any, 0, NULL) == 0);
    GIVES(wanted, SCIGetDeviceList, any, &number, 1, NULL, 0);
    GIVES(wanted, SCIRegisterPCIeRequester, any, ADAPTER, UINT32_MAX, UINT32_MAX, 0);
    GIVES(wanted, SCIUnregisterPCIeRequester, any, UINT32_MAX, 0, 0, 0);
    GIVES(wanted, SCIMapLocalSegmentForDevice, any, ADAPTER, any, NULL, SIZE_MAX, SIZE_MAX, 0);
    GIVES(wanted, SCIMapLocalSegmentForDevice, any, ADAPTER, any, &address, 0, 1, 0);
    GIVES(wanted, SCIUnmapLocalSegmentForDevice, any, ADAPTER, any, 0);
    GIVES(wanted, SCIMapRemoteSegmentForDevice, any, any, NULL, SIZE_MAX, SIZE_MAX, 0);
    GIVES(wanted, SCIMapRemoteSegmentForDevice, any, any, &address, 0, 1, 0);
    GIVES(wanted, SCIUnmapRemoteSegmentForDevice, any, any, UINT32_MAX);
    GIVES(wanted, SCICreateDeviceSegment, any, 1, SIZE_MAX, UINT32_MAX, UINT32_MAX, 0);
    GIVES(wanted, SCIConnectDeviceSegment, any, NULL, 1, 0, NULL, NULL, SCI_FLAG_USE_CALLBACK);
    HOLDS(number == UNTOUCHED && address == UNTOUCHED);
}

CONFORMANCE(X, 20, "whatever librsm does not have says so, for any argument, and changes nothing")
{
    const sci_error_t absent = SCI_ERR_NOT_IMPLEMENTED;
    sci_dma_channel_t channel = (sci_dma_channel_t)8;
    sci_device_t device = (sci_device_t)8;
    sci_remote_segment_t segment = (sci_remote_segment_t)8;
    begin_as_a();
    struct offered own = offer(SEGMENT, SIZE);
    for (unsigned i = 0; i < NO_HANDLES; i++)
        all_report(absent, no_handle(i));
    all_report(absent, own.segment);
    all_report(absent, desc());
    /* Where a handle was to be stored there is none. */
    GIVES(absent, SCIRequestDMAChannel, desc(), &channel, ADAPTER, 0, 0, 0);
    GIVES(absent, SCIBorrowDevice, desc(), &device, 1, 0);
    GIVES(absent, SCIConnectDeviceSegment, NULL, &segment, 1, 0, NULL, NULL, 0);
    HOLDS(channel == NULL && device == NULL && segment == NULL);
    SUCCEEDS(SCIUnmapSegment, own.map, 0);
    SUCCEEDS(SCIRemoveSegment, own.segment, 0);
    SCITerminate();
    all_report(SCI_ERR_NOT_INITIALIZED, NULL);
}

/* ---------------------------------------------------------------- blocks */

static void refuse_maps(sci_map_t from, sci_map_t to)
{
    const sci_error_t refused = SCI_ERR_ILLEGAL_PARAMETER;
    sci_block_transfer_t block = (sci_block_transfer_t)8;
    GIVES(refused, SCITransferBlock, from, 0, to, 0, 1, 0);
    GIVES(refused, SCITransferBlock, from, UINT32_MAX, to, UINT32_MAX, UINT32_MAX,
          SCI_FLAG_ERROR_CHECK);
    GIVES(refused, SCITransferBlockAsync, from, 0, to, 0, 1, &block, NULL, NULL, 0);
    HOLDS(block == NULL);
}

/* Places and sizes that wrap around 32 bits, or go past the end. */
static void refuse_ranges(sci_map_t from, sci_map_t to)
{
    static const unsigned ranges[][3] = {
        {0, 0, SIZE + 1},       {SIZE, 0, 1},           {0, SIZE, 1},
        {UINT32_MAX, 0, 1},     {0, UINT32_MAX, 1},     {0, 0, UINT32_MAX},
        {8, 0, UINT32_MAX - 7}, {0, 8, UINT32_MAX - 7}, {UINT32_MAX, UINT32_MAX, UINT32_MAX},
        {SIZE + 1, 0, 0},       {0, SIZE + 1, 0},
    };
    sci_block_transfer_t block = NULL;
    for (unsigned i = 0; i < sizeof ranges / sizeof ranges[0]; i++) {
        const unsigned *range = ranges[i];
        about("range %u", i);
        GIVES(SCI_ERR_OUT_OF_RANGE, SCITransferBlock, from, range[0], to, range[1], range[2], 0);
        GIVES(SCI_ERR_OUT_OF_RANGE, SCITransferBlockAsync, from, range[0], to, range[1], range[2],
              &block, NULL, NULL, 0);
        HOLDS(block == NULL);
    }
}

CONFORMANCE(X, 21, "blocks are moved between maps alone, and inside them alone")
{
    sci_map_t stale;
    sci_error_t error;
    begin_as_a();
    struct offered from = offer(SEGMENT, SIZE), to = offer(SEGMENT + 1, SIZE);
    memset((void *)from.bytes, 1, SIZE);
    (void)SCIMapLocalSegment(to.segment, &stale, 0, SIZE, NULL, 0, &error);
    SUCCEEDS(SCIUnmapSegment, stale, 0);
    for (unsigned i = 0; i < NO_HANDLES; i++) {
        refuse_maps(no_handle(i), to.map);
        refuse_maps(from.map, no_handle(i));
        refuse_maps(no_handle(i), no_handle(i));
    }
    refuse_maps(stale, to.map);
    refuse_maps(from.map, stale);
    refuse_maps((sci_map_t)(void *)from.segment, to.map);
    refuse_maps(from.map, (sci_map_t)(void *)desc());
    refuse_ranges(from.map, to.map);
    GIVES(SCI_ERR_ILLEGAL_FLAG, SCITransferBlock, from.map, 0, to.map, 0, 1, 0x40000000);
    GIVES(SCI_ERR_ILLEGAL_PARAMETER, SCIWaitForBlockTransfer, (sci_block_transfer_t)(void *)to.map,
          0, 0);
    GIVES(SCI_ERR_ILLEGAL_PARAMETER, SCIAbortBlockTransfer, (sci_block_transfer_t)(void *)desc(),
          0);
    GIVES(SCI_ERR_ILLEGAL_FLAG, SCIWaitForBlockTransfer, NULL, 0, 1);
    GIVES(SCI_ERR_ILLEGAL_FLAG, SCIAbortBlockTransfer, NULL, UINT32_MAX);
    SCITransferBlock(NULL, 0, NULL, 0, 1, 0, NULL);
    SCITransferBlockAsync(NULL, 0, NULL, 0, 1, NULL, NULL, NULL, 0, NULL);
    SCIWaitForBlockTransfer(NULL, 0, 0, NULL);
    SCIAbortBlockTransfer(NULL, 0, NULL);
    for (unsigned i = 0; i < SIZE; i++)
        HOLDS(to.bytes[i] == 0);
    SUCCEEDS(SCITransferBlock, from.map, 0, to.map, 0, SIZE, 0);
    HOLDS(to.bytes[SIZE - 1] == 1);
}

/* ---------------------------------------------------------------- physical memory */

CONFORMANCE(X, 22, "physical memory is refused, whatever the arguments are")
{
    const sci_error_t refused = SCI_ERR_NOT_SUPPORTED;
    const unsigned known = SCI_FLAG_CUDA_BUFFER | SCI_FLAG_SCIF_BUFFER;
    begin_as_a();
    struct offered own = offer(SEGMENT, SIZE);
    for (unsigned i = 0; i < NO_HANDLES; i++)
        GIVES(refused, SCIAttachPhysicalMemory, UINT64_MAX, no_handle(i), UINT32_MAX, SIZE_MAX,
              no_handle(i), i % 2 != 0 ? known : 0);
    GIVES(refused, SCIAttachPhysicalMemory, 0, (void *)own.bytes, 0, SIZE, own.segment, 0);
    GIVES(refused, SCIAttachPhysicalMemory, 0, NULL, 0, 0, (sci_local_segment_t)(void *)own.map, 0);
    GIVES(SCI_ERR_ILLEGAL_FLAG, SCIAttachPhysicalMemory, 0, NULL, 0, 0, own.segment, ~known);
    SCIAttachPhysicalMemory(0, NULL, 0, 0, NULL, 0, NULL);
    own.bytes[0] = 1; /* the segment is as it was */
    (void)connected(node_a(), SEGMENT);
    SUCCEEDS(SCIUnmapSegment, own.map, 0);
    SUCCEEDS(SCIRemoveSegment, own.segment, 0);
    SCITerminate();
    GIVES(SCI_ERR_NOT_INITIALIZED, SCIAttachPhysicalMemory, 0, NULL, 0, SIZE, NULL, 0);
}

/* ---------------------------------------------------------------- strings and names */

/* A string that is short, printable and always the same. */
static void expect_text(const char *text, const char *again)
{
    HOLDS(text != NULL && text == again);
    size_t length = strnlen(text, 64);
    HOLDS(length > 0 && length < 64);
    for (size_t i = 0; i < length; i++)
        HOLDS(text[i] >= ' ' && text[i] < 127);
}

CONFORMANCE(X, 23, "every number has a string, as an error, a type of adapter or a family")
{
    act_as_exporter(); /* the library need not be initialised */
    for (unsigned bit = 0; bit < 33; bit++) {
        unsigned number = bit < 32 ? 1U << bit : UINT32_MAX;
        for (unsigned near = number - 1; near != number + 2; near++) {
            expect_text(SCIGetErrorString((sci_error_t)near), SCIGetErrorString((sci_error_t)near));
            expect_text(SCIGetAdapterTypeString(near), SCIGetAdapterTypeString(near));
            expect_text(SCIGetAdapterFamilyString(near), SCIGetAdapterFamilyString(near));
        }
    }
    for (unsigned code = SCI_ERR_MASK; code < SCI_ERR_MASK + 0x1000; code++)
        expect_text(SCIGetErrorString((sci_error_t)code), SCIGetErrorString((sci_error_t)code));
}

/* A name that no node has; what was to be stored is empty or as it was. */
static void refuse_name(char *name, sci_error_t wanted)
{
    dis_nodeId_list_t list;
    dis_virt_adapter_t type = UNTOUCHED;
    unsigned adapters[DIS_MAX_NSCIS] = {UNTOUCHED};
    memset(list, 0xff, sizeof list);
    GIVES(wanted, SCIGetNodeIdByAdapterName, name, &list, &type, 0);
    HOLDS(list[0] == 0 && type == UNTOUCHED);
    memset(list, 0xff, sizeof list);
    GIVES(wanted, SCIGetNodeInfoByAdapterName, name, adapters, &list, &type, 0);
    HOLDS(list[0] == 0 && type == UNTOUCHED && adapters[0] == UNTOUCHED);
    SCIGetNodeIdByAdapterName(name, &list, NULL, 0, NULL);
    SCIGetNodeInfoByAdapterName(name, NULL, NULL, NULL, 0, NULL);
}

CONFORMANCE(X, 24, "names that are none, odd or of any length are looked up without harm")
{
    enum { LONGEST = 1 << 20 };
    static char odd[][8] = {"", " ", "\n", "\xff\xfe", "%s%n", "../..", "[node]", "a b"};
    dis_nodeId_list_t list;
    begin_as_a();
    refuse_name(NULL, SCI_ERR_ILLEGAL_PARAMETER);
    for (unsigned i = 0; i < sizeof odd / sizeof odd[0]; i++) {
        about("name %u", i);
        refuse_name(odd[i], SCI_ERR_NO_SUCH_NODEID);
    }
    char *name = malloc(LONGEST + 1);
    HOLDS(name != NULL);
    memset(name, 'x', LONGEST);
    for (size_t length = 1; length <= LONGEST; length *= 2)
        for (size_t shorter = 0; shorter < 2 && shorter < length; shorter++) {
            about("%zu letters", length - shorter);
            name[length - shorter] = '\0';
            refuse_name(name, SCI_ERR_NO_SUCH_NODEID);
            name[length - shorter] = 'x';
        }
    free(name);
    GIVES(SCI_ERR_ILLEGAL_FLAG, SCIGetNodeIdByAdapterName, odd[0], &list, NULL, 1);
    SCITerminate();
    refuse_name(odd[7], SCI_ERR_NOT_INITIALIZED);
}

/* ---------------------------------------------------------------- the library */

CONFORMANCE(X, 25,
            "SCIInitialize() refuses every flag, takes no error, and counts only what succeeded")
{
    sci_desc_t opened = (sci_desc_t)8;
    act_as_exporter();
    for (unsigned bit = 0; bit < 32; bit++)
        GIVES(SCI_ERR_ILLEGAL_FLAG, SCIInitialize, 1U << bit);
    GIVES(SCI_ERR_ILLEGAL_FLAG, SCIInitialize, UINT32_MAX);
    SCIInitialize(1, NULL);
    GIVES(SCI_ERR_NOT_INITIALIZED, SCIOpen, &opened, 0);
    HOLDS(opened == NULL);
    SCIInitialize(0, NULL);
    GIVES(SCI_ERR_ILLEGAL_FLAG, SCIInitialize, 1);
    SUCCEEDS(SCIOpen, &opened, 0);
    for (unsigned bit = 0; bit < 32; bit++)
        if (1U << bit != SCI_FLAG_THREAD_SAFE)
            GIVES(SCI_ERR_ILLEGAL_FLAG, SCIOpen, &opened, 1U << bit);
    HOLDS(opened == NULL);
    SCITerminate();
    GIVES(SCI_ERR_NOT_INITIALIZED, SCIOpen, &opened, 0);
    for (int i = 0; i < 3; i++)
        SCITerminate(); /* more often than it began */
    SUCCEEDS(SCIInitialize, 0);
    SUCCEEDS(SCIOpen, &opened, 0);
    SCITerminate();
    SUCCEEDS(SCIClose, opened, 0); /* SCITerminate() has closed it */
    GIVES(SCI_ERR_NOT_INITIALIZED, SCIOpen, &opened, 0);
}
