#include "base/keeper.h"

#include <pthread.h>
#include <stdlib.h>

struct seam_keeper {
    pthread_mutex_t lock;
    struct block_header *kept; /* the block freed last comes first */
    bool closed;
};

struct seam_keeper *seam_keeper_new(void) {
    struct seam_keeper *keeper = calloc(1, sizeof *keeper);
    if (keeper != NULL) {
        pthread_mutex_init(&keeper->lock, NULL);
    }
    return keeper;
}

void seam_keeper_free(struct seam_keeper *keeper) {
    if (keeper != NULL) {
        pthread_mutex_destroy(&keeper->lock);
        free(keeper);
    }
}

size_t seam_keeper_size(size_t size) {
    size_t step = SEAM_ALIGNMENT;
    while (size > 16 * step) {
        step *= 2;
    }
    return (size + step - 1) / step * step;
}

struct block_header *seam_keeper_take(struct seam_keeper *keeper, size_t size) {
    pthread_mutex_lock(&keeper->lock);
    struct block_header *before = NULL;
    struct block_header *block = keeper->kept;
    while (block != NULL && block->size != size) {
        before = block;
        block = block->start;
    }
    if (block != NULL && before == NULL) {
        keeper->kept = block->start;
    } else if (block != NULL) {
        before->start = block->start;
    }
    pthread_mutex_unlock(&keeper->lock);
    return block;
}

bool seam_keeper_keep(struct seam_keeper *keeper, struct block_header *block) {
    pthread_mutex_lock(&keeper->lock);
    const bool keeps = !keeper->closed;
    if (keeps) {
        block->start = keeper->kept;
        keeper->kept = block;
    }
    pthread_mutex_unlock(&keeper->lock);
    return keeps;
}

struct block_header *seam_keeper_close(struct seam_keeper *keeper) {
    if (keeper == NULL) {
        return NULL;
    }
    pthread_mutex_lock(&keeper->lock);
    struct block_header *kept = keeper->kept;
    keeper->kept = NULL;
    keeper->closed = true;
    pthread_mutex_unlock(&keeper->lock);
    return kept;
}
