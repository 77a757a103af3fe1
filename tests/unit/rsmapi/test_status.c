/* SPDX-License-Identifier: BSD-3-Clause */
/* Every status in every family of functions: the whole table, written out. */
#include "unit/rsmapi/rsmapi_test.h"

#include "rsmapi/status.h"

/* Short names for a table that fits the page. */
enum {
    INTERN = RSMERR_INTERNAL_ERROR,
    OFFSET = RSMERR_BAD_OFFSET,
    LENGTH = RSMERR_BAD_LENGTH,
    ALIGN = RSMERR_BAD_MEM_ALIGNMENT,
    ADDR = RSMERR_BAD_ADDR,
    DENIED = RSMERR_PERM_DENIED,
    PERMS = RSMERR_BAD_PERMS,
    MEM = RSMERR_INSUFFICIENT_MEM,
    RESRC = RSMERR_INSUFFICIENT_RESOURCES,
    TIMEO = RSMERR_TIMEOUT,
    INTR = RSMERR_INTERRUPTED,
    NOPUB = RSMERR_SEG_NOT_PUBLISHED,
    NONODE = RSMERR_SEG_NOT_PUBLISHED_TO_NODE,
    INUSE = RSMERR_SEGID_IN_USE,
    NOCREA = RSMERR_NOT_CREATOR,
    ACL = RSMERR_BAD_ACL,
    ALRPUB = RSMERR_SEG_ALREADY_PUBLISHED,
    MAPF = RSMERR_MAP_FAILED,
    ABORT = RSMERR_CONN_ABORTED,
    HNDL = RSMERR_BAD_SEG_HNDL,
    CTLR = RSMERR_CTLR_NOT_PRESENT,
    UNREACH = RSMERR_REMOTE_NODE_UNREACHABLE,
    DRVVER = RSMERR_BAD_DRIVER_VERSION,
    LIBVER = RSMERR_BAD_LIBRARY_VERSION,
    BARR = RSMERR_BARRIER_FAILURE,
    ARGS = RSMERR_BAD_ARGS_ERRORS,
};

/* clang-format off */
static const struct {
    enum rsm_status status;
    int errors[11]; /* in the order of enum rsmapi_family */
} rows[] = {
    /*                        CTLR    TOPO    CREATE  PUBL    CONN     MAP    ACCESS  CLOSE  ORDER POST     WAIT */
    {RSM_ST_OK,              {0,      0,      0,      0,      0,       0,     0,      0,     0,    0,       0}},
    {RSM_ST_INVALID,         {INTERN, INTERN, INTERN, INTERN, INTERN,  MAPF,  INTERN, BARR,  BARR, INTERN,  ARGS}},
    {RSM_ST_RANGE,           {OFFSET, INTERN, LENGTH, LENGTH, OFFSET,  LENGTH,OFFSET, BARR,  BARR, OFFSET,  OFFSET}},
    {RSM_ST_ALIGNMENT,       {ALIGN,  INTERN, ALIGN,  ALIGN,  ALIGN,   ALIGN, ALIGN,  BARR,  BARR, ALIGN,   ALIGN}},
    {RSM_ST_FAULT,           {ADDR,   INTERN, ADDR,   ADDR,   ADDR,    MAPF,  ADDR,   BARR,  BARR, ADDR,    ADDR}},
    {RSM_ST_DENIED,          {DENIED, INTERN, DENIED, DENIED, DENIED,  PERMS, DENIED, BARR,  BARR, DENIED,  DENIED}},
    {RSM_ST_NO_MEMORY,       {MEM,    MEM,    MEM,    MEM,    MEM,     LENGTH,MEM,    BARR,  BARR, MEM,     MEM}},
    {RSM_ST_NO_RESOURCES,    {RESRC,  RESRC,  RESRC,  RESRC,  RESRC,   RESRC, RESRC,  BARR,  BARR, RESRC,   RESRC}},
    {RSM_ST_UNSUPPORTED,     {INTERN, INTERN, INTERN, INTERN, INTERN,  MAPF,  INTERN, BARR,  BARR, INTERN,  INTERN}},
    {RSM_ST_TIMEOUT,         {CTLR,   INTERN, CTLR,   TIMEO,  UNREACH, MAPF,  BARR,   BARR,  BARR, UNREACH, TIMEO}},
    {RSM_ST_INTERRUPTED,     {INTR,   INTERN, INTR,   INTR,   INTR,    ABORT, INTR,   BARR,  BARR, INTR,    INTR}},
    {RSM_ST_BUSY,            {RESRC,  INTERN, RESRC,  RESRC,  RESRC,   MAPF,  RESRC,  BARR,  BARR, RESRC,   RESRC}},
    {RSM_ST_NOT_FOUND,       {NOPUB,  INTERN, NOPUB,  NOPUB,  NOPUB,   MAPF,  NOPUB,  BARR,  BARR, 0,       NOPUB}},
    {RSM_ST_NOT_TO_NODE,     {NONODE, INTERN, NONODE, NONODE, NONODE,  MAPF,  NONODE, BARR,  BARR, NONODE,  NONODE}},
    {RSM_ST_ID_IN_USE,       {INUSE,  INTERN, INUSE,  INUSE,  INUSE,   MAPF,  INUSE,  BARR,  BARR, INUSE,   INUSE}},
    {RSM_ST_NOT_CREATOR,     {NOCREA, INTERN, NOCREA, NOCREA, NOCREA,  MAPF,  NOCREA, BARR,  BARR, NOCREA,  NOCREA}},
    {RSM_ST_BAD_RIGHTS,         {ACL,    INTERN, ACL,    ACL,    ACL,     MAPF,  ACL,    BARR,  BARR, ACL,     ACL}},
    {RSM_ST_NOT_PUBLISHED,   {NOPUB,  INTERN, NOPUB,  NOPUB,  NOPUB,   MAPF,  NOPUB,  BARR,  BARR, 0,       NOPUB}},
    {RSM_ST_ALREADY_PUBLISHED,{ALRPUB,INTERN, ALRPUB, ALRPUB, ALRPUB,  MAPF,  ALRPUB, BARR,  BARR, ALRPUB,  ALRPUB}},
    {RSM_ST_MAP_FAILED,      {MAPF,   INTERN, MAPF,   MAPF,   MAPF,    MAPF,  MAPF,   BARR,  BARR, MAPF,    MAPF}},
    {RSM_ST_ABORTED,         {ABORT,  INTERN, ABORT,  ABORT,  ABORT,   ABORT, ABORT,  ABORT, BARR, ABORT,   ABORT}},
    {RSM_ST_STALE,           {CTLR,   INTERN, CTLR,   HNDL,   UNREACH, MAPF,  ABORT,  BARR,  BARR, UNREACH, HNDL}},
    {RSM_ST_NO_CONTROLLER,   {CTLR,   INTERN, CTLR,   CTLR,   CTLR,    MAPF,  CTLR,   BARR,  BARR, CTLR,    CTLR}},
    {RSM_ST_UNREACHABLE,     {CTLR,   INTERN, CTLR,   UNREACH,UNREACH, MAPF,  ABORT,  BARR,  BARR, UNREACH, UNREACH}},
    {RSM_ST_NO_ROUTE,        {INTERN, INTERN, INTERN, INTERN, UNREACH, MAPF,  INTERN, BARR,  BARR, UNREACH, INTERN}},
    {RSM_ST_VERSION,         {LIBVER, INTERN, DRVVER, DRVVER, DRVVER,  MAPF,  DRVVER, BARR,  BARR, DRVVER,  DRVVER}},
    {RSM_ST_PROTOCOL,        {INTERN, INTERN, INTERN, INTERN, INTERN,  MAPF,  INTERN, BARR,  BARR, INTERN,  INTERN}},
    {RSM_ST_TRANSFER,        {BARR,   INTERN, BARR,   BARR,   ABORT,   MAPF,  BARR,   BARR,  BARR, ABORT,   BARR}},
};
/* clang-format on */

TEST(every_status_has_its_code_in_every_family)
{
    for (size_t i = 0; i < COUNT(rows); i++)
        for (int family = RSMAPI_CONTROLLER; family <= RSMAPI_WAIT; family++) {
            int error = rsmapi_error((enum rsmapi_family)family, rows[i].status);
            if (error != rows[i].errors[family])
                fail_msg("status %d in family %d: %d, expected %d", (int)rows[i].status, family,
                         error, rows[i].errors[family]);
        }
}

TEST(the_table_is_complete)
{
    static const enum rsm_status all[] = {
#define RSM_STATUS_NAME(name, value, text) RSM_ST_##name,
        RSM_STATUS_LIST(RSM_STATUS_NAME)
#undef RSM_STATUS_NAME
    };
    assert_int_equal(COUNT(all), COUNT(rows));
    for (size_t i = 0; i < COUNT(all); i++)
        assert_int_equal(all[i], rows[i].status);
    /* A number that this version does not know is nobody's fault here. */
    assert_int_equal(rsmapi_error(RSMAPI_PUBLISH, (enum rsm_status)99), RSMERR_INTERNAL_ERROR);
}
