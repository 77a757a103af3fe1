/* SPDX-License-Identifier: BSD-3-Clause */
/* An offer of shared memory from a lying exporter's node: it is refused, or every byte of the
 * segment that it claims can be read. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"
#include "transport/instance.h"
#include "transport/registry.h"

enum { OBJECTS = 4, PAGE = 4096 };

/* Sealed memory of one to four pages, as an honest node makes it, but for the last, which could
 * shrink. */
static void make_objects(int fds[OBJECTS])
{
    for (int i = 0; i < OBJECTS; i++) {
        fds[i] = memfd_create("fuzz", MFD_CLOEXEC | MFD_ALLOW_SEALING);
        if (fds[i] < 0 || ftruncate(fds[i], PAGE * (i + 1)) < 0)
            abort();
        if (i < OBJECTS - 1 && fcntl(fds[i], F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) < 0)
            abort();
    }
}

static void read_all(struct rsm_conn *conn, uint64_t size)
{
    char byte;
    for (uint64_t at = 0; at < size; at += PAGE)
        if (conn->ops->get(conn, at, &byte, 1) != RSM_ST_OK)
            abort();
    if (conn->ops->get(conn, size - 1, &byte, 1) != RSM_ST_OK)
        abort();
}

void fuzz_input(const uint8_t *data, size_t size)
{
    static int objects[OBJECTS];
    static struct rsm_port *port;
    static struct rsm_offer offer;
    const struct rsm_import_ops *ops = rsmcore_transport_import("shm");
    struct rsm_controller_info info = {.name = "sci0", .device = "", .options = ""};
    struct rsm_conn *conn;
    uint16_t segment_pages;
    if (port == NULL) {
        make_objects(objects);
        if (ops == NULL || rsmcore_port_open(ops, &info, &port) != RSM_ST_OK)
            abort();
    }
    if (size < 4)
        return;
    memcpy(&segment_pages, data, sizeof segment_pages);
    uint64_t segment = (uint64_t)(segment_pages & 0x1f) * PAGE + (segment_pages >> 15);
    offer.fd_count = data[2] % 8;
    for (uint32_t i = 0; i < offer.fd_count; i++)
        offer.fds[i] = objects[(data[3] >> (2 * (i % 4))) % OBJECTS];
    offer.blob_len = (uint32_t)(size - 4 < RSM_OFFER_MAX_BLOB ? size - 4 : RSM_OFFER_MAX_BLOB);
    memcpy(offer.blob, data + 4, offer.blob_len);
    if (rsmcore_conn_open(port, &offer, segment, RSM_RIGHT_READ, &conn) != RSM_ST_OK)
        return;
    if (segment > 0)
        read_all(conn, segment);
    rsmcore_conn_close(conn);
}
