/* An exchange as a shared library, for the tests of its door: senders put rows into the queue of the
   one receiver, in this process. A key's name in the request says what it does wrong: `lose` drops
   the first batch, `deaf` takes a sender that gave up for one that has ended. */
#include "arrow_c.h"

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct batch {
    struct ArrowArray rows;
    struct ArrowSchema schema;
    struct batch *next;
};

struct receiver {
    char address[512];
    struct batch *first, **last;
    int64_t senders, batches;
    char reason[256];
    struct receiver *next;
};

struct side {
    struct receiver *receiver;
    int is_sender, has_ended, wrong;
};

enum { LOSE = 1, DEAF };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct receiver *receivers;

static int64_t number_of(const char *request, const char *name) {
    const char *at = strstr(request, name);
    return at ? strtoll(at + strlen(name), NULL, 10) : 0;
}

static struct side *side_of(const char *request, struct receiver *receiver, int is_sender) {
    struct side *side = calloc(1, sizeof(*side));
    side->receiver = receiver;
    side->is_sender = is_sender;
    side->wrong = strstr(request, "\"lose\"") ? LOSE : strstr(request, "\"deaf\"") ? DEAF : 0;
    return side;
}

static void fail(struct receiver *receiver, const char *reason) {
    if (!receiver->reason[0])
        snprintf(receiver->reason, sizeof(receiver->reason), "%s", reason);
    pthread_cond_broadcast(&changed);
}

int seambench_exchange_listen(const char *request, void **out, char *address, size_t address_size,
                              char *error, size_t size) {
    if (!strstr(request, "\"partition\": \"single\"")) {
        snprintf(error, size, "one receiver is all there is");
        return 2;
    }
    struct receiver *receiver = calloc(1, sizeof(*receiver));
    const char *begin = strstr(request, "unix:"), *end = strchr(begin, '"');
    snprintf(receiver->address, sizeof(receiver->address), "%.*s", (int)(end - begin), begin);
    snprintf(address, address_size, "%s", receiver->address);
    receiver->last = &receiver->first;
    receiver->senders = number_of(request, "\"senders\": ");
    pthread_mutex_lock(&lock);
    receiver->next = receivers;
    receivers = receiver;
    pthread_mutex_unlock(&lock);
    *out = side_of(request, receiver, 0);
    return 0;
}

int seambench_exchange_connect(const char *request, void **out, char *error, size_t size) {
    pthread_mutex_lock(&lock);
    struct receiver *found = receivers;
    while (found && !strstr(request, found->address))
        found = found->next;
    pthread_mutex_unlock(&lock);
    if (!found) {
        snprintf(error, size, "nobody listens there");
        return 2;
    }
    *out = side_of(request, found, 1);
    return 0;
}

int seambench_exchange_write(void *sender, int64_t driver, struct ArrowArray *rows,
                             struct ArrowSchema *schema, char *error, size_t size) {
    struct side *side = sender;
    struct receiver *receiver = side->receiver;
    (void)driver;
    pthread_mutex_lock(&lock);
    const int lost = ++receiver->batches == 1 && side->wrong == LOSE;
    const int failed = receiver->reason[0] != 0;
    if (failed)
        snprintf(error, size, "%s", receiver->reason);
    if (failed || lost) {
        rows->release(rows);
        schema->release(schema);
    } else {
        struct batch *batch = calloc(1, sizeof(*batch));
        batch->rows = *rows;
        batch->schema = *schema;
        *receiver->last = batch;
        receiver->last = &batch->next;
        pthread_cond_broadcast(&changed);
    }
    pthread_mutex_unlock(&lock);
    return failed ? 2 : 0;
}

int seambench_exchange_finish(void *sender, int64_t driver, char *error, size_t size) {
    struct side *side = sender;
    (void)driver;
    pthread_mutex_lock(&lock);
    const int failed = side->receiver->reason[0] != 0;
    if (failed)
        snprintf(error, size, "%s", side->receiver->reason);
    side->has_ended = 1;
    side->receiver->senders--;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    return failed ? 2 : 0;
}

int seambench_exchange_read(void *side, int64_t driver, int64_t timeout_ms, struct ArrowArray *rows,
                            struct ArrowSchema *schema, char *error, size_t size) {
    struct receiver *receiver = ((struct side *)side)->receiver;
    struct timespec until;
    int code = 0;
    (void)driver;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += timeout_ms < 0 ? 3600 : timeout_ms / 1000;
    pthread_mutex_lock(&lock);
    while (!receiver->first && receiver->senders && !receiver->reason[0] && code != ETIMEDOUT)
        code = pthread_cond_timedwait(&changed, &lock, &until);
    struct batch *batch = receiver->first;
    const int failed = receiver->reason[0] != 0 || (!batch && receiver->senders);
    if (failed) {
        snprintf(error, size, "%s", receiver->reason[0] ? receiver->reason : "nothing came");
    } else if (batch) {
        receiver->first = batch->next;
        if (!batch->next)
            receiver->last = &receiver->first;
        *rows = batch->rows;
        *schema = batch->schema;
        free(batch);
    }
    pthread_mutex_unlock(&lock);
    return failed ? 2 : 0;
}

void seambench_exchange_cancel(void *out, const char *reason) {
    struct side *side = out;
    pthread_mutex_lock(&lock);
    if (side->wrong == DEAF) {
        side->has_ended = 1;
        side->receiver->senders--;
        pthread_cond_broadcast(&changed);
    } else {
        fail(side->receiver, reason);
    }
    pthread_mutex_unlock(&lock);
}

/* Receivers stay until the process ends: senders may still look at them. */
void seambench_exchange_close(void *out) {
    struct side *side = out;
    pthread_mutex_lock(&lock);
    if (side->is_sender && !side->has_ended)
        fail(side->receiver, "a sender is lost before its end");
    pthread_mutex_unlock(&lock);
    free(side);
}
