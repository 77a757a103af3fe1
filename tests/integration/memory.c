/* SPDX-License-Identifier: BSD-3-Clause */
#include "memory.h"

#include <alloca.h>
#include <malloc.h>
#include <semaphore.h>
#include <sys/ipc.h>
#include <sys/shm.h>

enum { PAGE = 4096, STATIC_BYTES = MEMORY_STATIC_PAGES * PAGE };

/* Neighbours that share no page with them, but lie right beside. */
static uint8_t data_pages[STATIC_BYTES] __attribute__((aligned(PAGE))) = {1};
static uint8_t bss_pages[STATIC_BYTES] __attribute__((aligned(PAGE)));

/* A block that is larger than what it is wanted for. */
static struct {
    void *block;
    uint8_t *pages;
} heap_block, malloc_block;

static struct {
    pthread_t thread;
    sem_t ready;
    sem_t leave;
    void *pages;
} sleeper;

const char *memory_name(enum memory_kind kind)
{
    static const char *const names[MEMORY_KINDS] = {
        [MEMORY_PRIVATE] = "private anonymous",
        [MEMORY_SHARED] = "shared anonymous",
        [MEMORY_VALLOC] = "valloc",
        [MEMORY_MALLOC] = "malloc",
        [MEMORY_HEAP] = "heap",
        [MEMORY_SYSV] = "System V",
        [MEMORY_FILE] = "private file",
        [MEMORY_DATA] = "static data",
        [MEMORY_BSS] = "bss",
        [MEMORY_STACK] = "thread stack",
    };
    return names[kind];
}

static void *map_anonymous(size_t length, int flags)
{
    void *memory = mmap(NULL, length, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

static void *map_file(size_t length)
{
    char path[] = "/var/tmp/rsmt-file-XXXXXX";
    int fd = mkstemp(path);
    if (fd < 0)
        return NULL;
    unlink(path);
    void *memory = MAP_FAILED;
    if (ftruncate(fd, (off_t)length) == 0)
        memory = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
    close(fd);
    return memory == MAP_FAILED ? NULL : memory;
}

static void *attach_sysv(size_t length)
{
    int id = shmget(IPC_PRIVATE, length, IPC_CREAT | 0600);
    if (id < 0)
        return NULL;
    void *memory = shmat(id, NULL, 0);
    shmctl(id, IPC_RMID, NULL); /* goes with the last process that has it */
    return memory == (void *)-1 ? NULL : memory;
}

static uint8_t *first_page_inside(void *block)
{
    return (uint8_t *)(((uintptr_t)block + PAGE - 1) & ~(uintptr_t)(PAGE - 1));
}

/* Large blocks are otherwise mapped one by one. */
static void *carve_heap(size_t length)
{
    mallopt(M_MMAP_THRESHOLD, 1 << 30);
    heap_block.block = malloc(length + 2 * PAGE);
    if (heap_block.block == NULL)
        return NULL;
    heap_block.pages = first_page_inside(heap_block.block);
    return heap_block.pages;
}

static void *carve_malloc(size_t length)
{
    malloc_block.block = malloc(length + (8 << 20));
    if (malloc_block.block == NULL)
        return NULL;
    malloc_block.pages = first_page_inside((uint8_t *)malloc_block.block + (4 << 20));
    return malloc_block.pages;
}

static void *sleep_on_stack(void *length)
{
    uint8_t *stack = alloca((uintptr_t)length + PAGE);
    sleeper.pages = first_page_inside(stack);
    sem_post(&sleeper.ready);
    while (sem_wait(&sleeper.leave) < 0)
        continue;
    return NULL;
}

static void *borrow_stack(size_t length)
{
    sem_init(&sleeper.ready, 0, 0);
    sem_init(&sleeper.leave, 0, 0);
    if (pthread_create(&sleeper.thread, NULL, sleep_on_stack, (void *)length) != 0)
        return NULL;
    while (sem_wait(&sleeper.ready) < 0)
        continue;
    return sleeper.pages;
}

static int return_stack(void)
{
    sem_post(&sleeper.leave);
    return pthread_join(sleeper.thread, NULL) == 0 ? 0 : -1;
}

void *memory_get(enum memory_kind kind, size_t length)
{
    switch (kind) {
    case MEMORY_PRIVATE:
        return map_anonymous(length, MAP_PRIVATE);
    case MEMORY_SHARED:
        return map_anonymous(length, MAP_SHARED);
    case MEMORY_VALLOC:
        return valloc(length);
    case MEMORY_MALLOC:
        return carve_malloc(length);
    case MEMORY_HEAP:
        return carve_heap(length);
    case MEMORY_SYSV:
        return attach_sysv(length);
    case MEMORY_FILE:
        return map_file(length);
    case MEMORY_DATA:
        return length <= sizeof data_pages ? data_pages : NULL;
    case MEMORY_BSS:
        return length <= sizeof bss_pages ? bss_pages : NULL;
    case MEMORY_STACK:
        return borrow_stack(length);
    default:
        return NULL;
    }
}

int memory_put(enum memory_kind kind, void *memory, size_t length)
{
    switch (kind) {
    case MEMORY_VALLOC:
        free(memory);
        return 0;
    case MEMORY_MALLOC:
        free(malloc_block.block);
        return 0;
    case MEMORY_HEAP:
        free(heap_block.block);
        return 0;
    case MEMORY_SYSV:
        return shmdt(memory);
    case MEMORY_DATA:
    case MEMORY_BSS:
        return 0;
    case MEMORY_STACK:
        return return_stack();
    default:
        return munmap(memory, length);
    }
}
