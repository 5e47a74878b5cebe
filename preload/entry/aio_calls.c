/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Asynchronous accesses. The C library's threads call the kernel from inside of it. So those on files on servers are
 * done when they are begun, and their results kept where aio_error, aio_return, aio_suspend and aio_cancel of the C
 * library look.
 */
#undef _FORTIFY_SOURCE
#define _GNU_SOURCE
#include <aio.h>
#include <signal.h>
#include <stdlib.h>
#include "preload/entry/entry.h"
#include "preload/kernel.h"

/* --- telling the program -------------------------------------------------------------------------------------------
 */

typedef struct notice {
    void (*function)(union sigval);
    union sigval value;
} notice_t;

static void *notice_main(void *arg)
{
    const notice_t notice = *(notice_t *)arg;

    free(arg);
    notice.function(notice.value);
    return NULL;
}

static void notify_thread(const struct sigevent *event)
{
    notice_t *notice = malloc(sizeof *notice);
    pthread_attr_t attributes;
    pthread_t thread;

    if (!notice)
        return;
    *notice = (notice_t){event->sigev_notify_function, event->sigev_value};
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    const pthread_attr_t *wanted = event->sigev_notify_attributes;
    if (pthread_create(&thread, wanted ? wanted : &attributes, notice_main, notice) != 0)
        free(notice);
    pthread_attr_destroy(&attributes);
}

static void notify(const struct sigevent *event)
{
    const int error = errno;
    siginfo_t signal = {.si_signo = event->sigev_signo, .si_code = SI_ASYNCIO};

    if (event->sigev_notify == SIGEV_THREAD) {
        notify_thread(event);
    } else if (event->sigev_notify == SIGEV_SIGNAL) {
        signal.si_pid = getpid();
        signal.si_uid = getuid();
        signal.si_value = event->sigev_value;
        themis_preload_kernel(SYS_rt_sigqueueinfo, signal.si_pid, signal.si_signo, &signal);
    }
    errno = error;
}

/* --- one access ----------------------------------------------------------------------------------------------------
 */

enum { SYNC = -1 /* beside LIO_READ and LIO_WRITE */ };

static ssize_t access_do(const struct aiocb *control, int operation)
{
    switch (operation) {
    case LIO_READ:
        return pread(control->aio_fildes, (void *)(uintptr_t)control->aio_buf, control->aio_nbytes,
                     control->aio_offset);
    case LIO_WRITE:
        return pwrite(control->aio_fildes, (const void *)(uintptr_t)control->aio_buf, control->aio_nbytes,
                      control->aio_offset);
    case SYNC:
        return fsync(control->aio_fildes);
    default:
        errno = EINVAL;
        return -1;
    }
}

static void perform(struct aiocb *control, int operation)
{
    const int before = errno;
    const ssize_t result = access_do(control, operation);

    control->__return_value = result;
    __atomic_store_n(&control->__error_code, result < 0 ? errno : 0, __ATOMIC_RELEASE);
    errno = before;
    notify(&control->aio_sigevent);
}

/* As the C library begins one. */
static int begin(struct aiocb *control, int operation)
{
    if (control->aio_reqprio < 0) {
        control->__return_value = -1;
        control->__error_code = errno = EINVAL;
        return -1;
    }
    perform(control, operation);
    return 0;
}

EXPORTED int aio_read(struct aiocb *control)
{
    if (!themis_preload_is_ours(control->aio_fildes))
        return REAL(aio_read)(control);
    return begin(control, LIO_READ);
}

EXPORTED int aio_write(struct aiocb *control)
{
    if (!themis_preload_is_ours(control->aio_fildes))
        return REAL(aio_write)(control);
    return begin(control, LIO_WRITE);
}

EXPORTED int aio_fsync(int operation, struct aiocb *control)
{
    if (!themis_preload_is_ours(control->aio_fildes))
        return REAL(aio_fsync)(operation, control);
    if (operation != O_SYNC && operation != O_DSYNC) {
        errno = EINVAL;
        return -1;
    }
    return begin(control, SYNC);
}

/* --- lists ---------------------------------------------------------------------------------------------------------
 */

static int is_ours(const struct aiocb *control)
{
    return control && control->aio_lio_opcode != LIO_NOP && themis_preload_is_ours(control->aio_fildes);
}

/* Performs those of ours, of which the others do not have to know. Returns how many have failed. */
static int list_perform(struct aiocb *const list[], struct aiocb **others, int count)
{
    int failures = 0;

    for (int i = 0; i < count; i++) {
        others[i] = is_ours(list[i]) ? NULL : list[i];
        if (!others[i] && list[i])
            failures += begin(list[i], list[i]->aio_lio_opcode) != 0 || list[i]->__error_code != 0;
    }
    return failures;
}

EXPORTED int lio_listio(int mode, struct aiocb *const list[], int count, struct sigevent *event)
{
    int any = 0;

    for (int i = 0; i < count && !any; i++)
        any = is_ours(list[i]);
    if (!any || (mode != LIO_WAIT && mode != LIO_NOWAIT))
        return REAL(lio_listio)(mode, list, count, event);
    struct aiocb **others = calloc((size_t)count, sizeof *others);
    if (!others) {
        errno = EAGAIN;
        return -1;
    }
    const int failures = list_perform(list, others, count);
    int result = REAL(lio_listio)(mode, others, count, event);
    if (result == 0 && failures > 0 && mode == LIO_WAIT) {
        errno = EIO;
        result = -1;
    }
    free(others);
    return result;
}

_Static_assert(sizeof(struct aiocb) == sizeof(struct aiocb64), "one structure serves both");
EXPORTED int aio_read64(struct aiocb64 *control)
{
    return aio_read((struct aiocb *)control);
}

EXPORTED int aio_write64(struct aiocb64 *control)
{
    return aio_write((struct aiocb *)control);
}

EXPORTED int aio_fsync64(int operation, struct aiocb64 *control)
{
    return aio_fsync(operation, (struct aiocb *)control);
}

EXPORTED int lio_listio64(int mode, struct aiocb64 *const list[], int count, struct sigevent *event)
{
    return lio_listio(mode, (struct aiocb *const *)list, count, event);
}
