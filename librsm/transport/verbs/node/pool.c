/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/thread.h"
#include "transport/verbs/node/pool.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <utlist.h>

#include "base/descriptor.h"
#include "base/log.h"
#include "base/status.h"
#include "base/extent_memfd.h"

struct verbs_pool {
    const struct verbs_device *device;
    struct ibv_pd *pd;
    unsigned access;
    uint64_t page; /* bytes */
    pthread_t thread;
    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t work;
    pthread_cond_t idle;
    bool stop;
    bool busy;
    struct verbs_pool_classes classes;
    struct verbs_pool_counts counts;
    struct verbs_extent *ready[VERBS_CLASSES];
    struct verbs_extent *leaving;
};

static void unmake(struct verbs_extent *extent)
{
    if (extent->mr != NULL) {
        errno = ibv_dereg_mr(extent->mr);
        if (errno != 0)
            rsm_log_error("verbs: cannot end the registration of an extent: %m");
    }
    if (extent->bytes != MAP_FAILED)
        munmap(extent->bytes, extent->length);
    if ((extent->base.flags & RSM_EXTENT_ADOPTED) == 0)
        close(extent->base.fd);
    free(extent);
}

/* Takes the descriptor, unless the flags have RSM_EXTENT_ADOPTED. */
static enum rsm_status make_of(const struct verbs_pool *pool, int fd, uint64_t length,
                               uint32_t flags, struct verbs_extent **extent)
{
    struct verbs_extent *made = calloc(1, sizeof *made);
    if (made == NULL) {
        if ((flags & RSM_EXTENT_ADOPTED) == 0)
            close(fd);
        return RSM_ST_NO_MEMORY;
    }
    *made = (struct verbs_extent){
        .base = {.kind = RSM_EXTENT_MEMFD, .fd = fd, .length = length, .flags = flags},
        .length = length};
    made->bytes = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (made->bytes == MAP_FAILED) {
        enum rsm_status status = rsmcore_status_from_errno(errno);
        unmake(made);
        return status;
    }
    made->mr = ibv_reg_mr(pool->pd, made->bytes, length, pool->access);
    if (made->mr == NULL) {
        verbs_explain(pool->device, "cannot register memory of an extent", errno);
        unmake(made);
        return RSM_ST_NO_RESOURCES;
    }
    *extent = made;
    return RSM_ST_OK;
}

static enum rsm_status make(const struct verbs_pool *pool, uint64_t length,
                            struct verbs_extent **extent)
{
    int fd = rsmcore_extent_memfd(length);
    return fd < 0 ? rsmcore_status_from_errno(errno) : make_of(pool, fd, length, 0, extent);
}

static struct verbs_extent *pop(struct verbs_extent **list)
{
    struct verbs_extent *extent = *list;
    if (extent != NULL)
        *list = extent->next;
    return extent;
}

/* The lock is held, and let go of for the slow part. */
static void make_one(struct verbs_pool *pool, int size_class)
{
    struct verbs_extent *extent = NULL;
    pthread_mutex_unlock(&pool->lock);
    enum rsm_status status = make(pool, verbs_class_pages(size_class) * pool->page, &extent);
    pthread_mutex_lock(&pool->lock);
    if (status == RSM_ST_OK && extent != NULL) {
        LL_PREPEND(pool->ready[size_class], extent);
        verbs_pool_classes_made(&pool->classes, size_class);
        return;
    }
    verbs_pool_classes_failed(&pool->classes);
    rsm_log_warning("verbs: the pool of registered memory stays at %llu KiB: %s",
                    (unsigned long long)(pool->classes.budget * pool->page) >> 10,
                    rsmcore_status_text(status));
}

static void drop_one(struct verbs_pool *pool, struct verbs_extent *extent)
{
    pthread_mutex_unlock(&pool->lock);
    unmake(extent);
    pthread_mutex_lock(&pool->lock);
}

/* Do one thing; false if there is nothing. */
static bool work(struct verbs_pool *pool)
{
    int size_class;
    struct verbs_extent *extent = pop(&pool->leaving);
    if (extent != NULL) {
        drop_one(pool, extent);
        return true;
    }
    if (pool->stop)
        return false;
    switch (verbs_pool_classes_next(&pool->classes, &size_class)) {
    case VERBS_POOL_MAKE:
        make_one(pool, size_class);
        return true;
    case VERBS_POOL_DROP:
        drop_one(pool, pop(&pool->ready[size_class]));
        return true;
    default:
        return false;
    }
}

static void *run(void *argument)
{
    struct verbs_pool *pool = argument;
    pthread_mutex_lock(&pool->lock);
    while (!pool->stop) {
        pool->busy = true;
        while (work(pool))
            continue;
        pool->busy = false;
        pthread_cond_broadcast(&pool->idle);
        if (!pool->stop)
            pthread_cond_wait(&pool->work, &pool->lock);
    }
    pthread_mutex_unlock(&pool->lock);
    return NULL;
}

static bool start(struct verbs_pool *pool)
{
    return rsm_thread_start(&pool->thread, "rsm-verbs-pool", 0, run, pool) == 0;
}

struct verbs_pool *verbs_pool_open(const struct verbs_device *device, struct ibv_pd *pd,
                                   unsigned access, uint64_t budget)
{
    struct verbs_pool *pool = calloc(1, sizeof *pool);
    if (pool == NULL)
        return NULL;
    pool->device = device;
    pool->pd = pd;
    pool->access = access;
    pool->page = (uint64_t)sysconf(_SC_PAGESIZE);
    pool->busy = true; /* until the first look around has ended */
    verbs_pool_classes_init(&pool->classes, budget / pool->page);
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->work, NULL);
    pthread_cond_init(&pool->idle, NULL);
    if (start(pool))
        return pool;
    pthread_cond_destroy(&pool->idle);
    pthread_cond_destroy(&pool->work);
    pthread_mutex_destroy(&pool->lock);
    free(pool);
    return NULL;
}

static void unmake_all(struct verbs_extent **list)
{
    struct verbs_extent *extent;
    while ((extent = pop(list)) != NULL)
        unmake(extent);
}

void verbs_pool_close(struct verbs_pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    pool->stop = true;
    pthread_cond_signal(&pool->work);
    pthread_mutex_unlock(&pool->lock);
    pthread_join(pool->thread, NULL);
    for (int size_class = 0; size_class < VERBS_CLASSES; size_class++)
        unmake_all(&pool->ready[size_class]);
    unmake_all(&pool->leaving);
    pthread_cond_destroy(&pool->idle);
    pthread_cond_destroy(&pool->work);
    pthread_mutex_destroy(&pool->lock);
    free(pool);
}

/* An extent that is ready, or NULL; @p only_ready: then the demand is not noted, because the same
 * request will be made again. */
static struct verbs_extent *take(struct verbs_pool *pool, uint64_t length, bool only_ready)
{
    struct verbs_extent *extent = NULL;
    uint64_t pages = (length + pool->page - 1) / pool->page;
    pthread_mutex_lock(&pool->lock);
    if (only_ready && !verbs_pool_classes_has(&pool->classes, pages)) {
        pthread_mutex_unlock(&pool->lock);
        return NULL;
    }
    int size_class = verbs_pool_classes_take(&pool->classes, pages);
    if (size_class != VERBS_CLASS_NONE)
        extent = pop(&pool->ready[size_class]);
    *(extent != NULL ? &pool->counts.served : &pool->counts.missed) += 1;
    pool->busy = true;
    pthread_cond_signal(&pool->work);
    pthread_mutex_unlock(&pool->lock);
    return extent;
}

enum rsm_status verbs_pool_get_ready(struct verbs_pool *pool, uint64_t length,
                                     struct verbs_extent **extent)
{
    *extent = take(pool, length, true);
    if (*extent == NULL)
        return RSM_ST_BUSY;
    (*extent)->base.length = length;
    return RSM_ST_OK;
}

enum rsm_status verbs_pool_get(struct verbs_pool *pool, uint64_t length,
                               struct verbs_extent **extent)
{
    *extent = take(pool, length, false);
    if (*extent != NULL) {
        (*extent)->base.length = length;
        return RSM_ST_OK;
    }
    rsm_log_debug("verbs: no extent of %llu KiB was ready, registering one now",
                  (unsigned long long)length >> 10);
    return make(pool, length, extent);
}

enum rsm_status verbs_pool_adopt(struct verbs_pool *pool, int fd, uint64_t length,
                                 struct verbs_extent **extent)
{
    if (!rsmcore_extent_is_shareable(fd, length))
        return RSM_ST_INVALID;
    pthread_mutex_lock(&pool->lock);
    pool->counts.adopted++;
    pthread_mutex_unlock(&pool->lock);
    return make_of(pool, fd, length, RSM_EXTENT_ADOPTED, extent);
}

void verbs_pool_put(struct verbs_pool *pool, struct verbs_extent *extent)
{
    if (extent->base.length > RSM_EXTENT_SMALL) {
        unmake(extent);
        return;
    }
    pthread_mutex_lock(&pool->lock);
    LL_PREPEND(pool->leaving, extent);
    pool->busy = true;
    pthread_cond_signal(&pool->work);
    pthread_mutex_unlock(&pool->lock);
}

void verbs_pool_count(struct verbs_pool *pool, struct verbs_pool_counts *counts)
{
    pthread_mutex_lock(&pool->lock);
    *counts = pool->counts;
    counts->pages = pool->classes.pages;
    pthread_mutex_unlock(&pool->lock);
}

void verbs_pool_settle(struct verbs_pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    while (pool->busy)
        pthread_cond_wait(&pool->idle, &pool->lock);
    pthread_mutex_unlock(&pool->lock);
}
