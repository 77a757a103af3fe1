/* SPDX-License-Identifier: BSD-3-Clause */
/* The functions of <rsm/group.h> have exactly these types, in C and C++, and the structures these
 * sizes. Linking this shows that the library has them. */
#include <rsm/group.h>

#ifdef __cplusplus
extern "C" {
#endif

int rsm_group_connect(rsmapi_controller_handle_t, rsm_memseg_id_t, rsm_group_handle_t *);
int rsm_group_disconnect(rsm_group_handle_t);
int rsm_group_put(rsm_group_handle_t, off_t, const void *, size_t);
int rsm_group_order_barrier(rsm_group_handle_t);
int rsm_group_close_barrier(rsm_group_handle_t, uint_t *);
int rsm_group_signal_post(rsm_group_handle_t, uint_t);
int rsm_group_get_members(rsm_group_handle_t, rsm_group_member_t *, uint_t *);
int rsm_group_event_wait(rsm_group_handle_t, int, rsm_group_event_t *);

#ifdef __cplusplus
}
#endif

/* They cannot grow: programs have arrays of them. */
typedef char member_size[sizeof(rsm_group_member_t) == 16 ? 1 : -1];
typedef char event_size[sizeof(rsm_group_event_t) == 12 ? 1 : -1];

int main(void)
{
    member_size member = {0};
    event_size event = {0};
    return rsm_group_disconnect(NULL) == RSMERR_BAD_SEG_HNDL &&
                   rsm_group_order_barrier(NULL) == RSMERR_BAD_SEG_HNDL &&
                   rsm_group_connect(NULL, 0, NULL) == RSMERR_BAD_CTLR_HNDL &&
                   rsm_group_put(NULL, 0, NULL, 0) == RSMERR_BAD_SEG_HNDL &&
                   rsm_group_close_barrier(NULL, NULL) == RSMERR_BAD_SEG_HNDL &&
                   rsm_group_signal_post(NULL, 0) == RSMERR_BAD_SEG_HNDL &&
                   rsm_group_get_members(NULL, NULL, NULL) == RSMERR_BAD_SEG_HNDL &&
                   rsm_group_event_wait(NULL, 0, NULL) == RSMERR_BAD_SEG_HNDL && member[0] == 0 &&
                   event[0] == 0
               ? 0
               : 1;
}
