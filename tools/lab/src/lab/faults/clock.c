/* A clock that is wrong by as many seconds as a file says: for one process, through LD_PRELOAD.
   The file holds two 64-bit integers: the seconds to add, and how often a wrong time was told. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

/* A deadline later than this is a date; one on the monotonic clock is never as large. */
#define FIRST_DATE 1000000000

static int64_t *shared;

__attribute__((constructor)) static void open_clock(void) {
    const char *name = getenv("FAULT_CLOCK");
    int file = name ? open(name, O_RDWR) : -1;
    if (file < 0)
        return;
    void *found = mmap(NULL, 16, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (found != MAP_FAILED)
        shared = found;
}

static int64_t error_seconds(void) {
    int64_t seconds = shared ? __atomic_load_n(&shared[0], __ATOMIC_RELAXED) : 0;
    if (seconds)
        __atomic_add_fetch(&shared[1], 1, __ATOMIC_RELAXED);
    return seconds;
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    int failed = (int)syscall(SYS_clock_gettime, clock, now);
    if (!failed && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
        now->tv_sec += error_seconds();
    return failed;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    struct timespec found;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &found);
    now->tv_sec = found.tv_sec;
    now->tv_usec = found.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *result) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (result)
        *result = now.tv_sec;
    return now.tv_sec;
}

/* Who waits until a date has taken it from the wrong clock; the kernel knows only the right one. */
int pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *mutex,
                           const struct timespec *until) {
    static int (*real)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);
    struct timespec right = *until;
    if (!real)
        real = (int (*)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *))dlsym(
            RTLD_NEXT, "pthread_cond_timedwait");
    if (right.tv_sec > FIRST_DATE)
        right.tv_sec -= error_seconds();
    return real(condition, mutex, &right);
}
