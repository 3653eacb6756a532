/* A heap of numbers, the least on top: of runs or inputs by the row on which each stands. */
#ifndef SEAM_HEAP_H
#define SEAM_HEAP_H

#include <stdint.h>

/* Whether number a comes before b. Handed over as a constant, so that it is inlined. */
typedef int (*seam_before)(const void *context, int32_t a, int32_t b);

/* Moves the number at `at` down to its place among `count`, as its row may have come later. */
static inline void seam_heap_sift_down(int32_t *heap, int32_t count, int32_t at, seam_before before,
                                       const void *context) {
    for (;;) {
        int32_t least = at;
        for (int32_t child = 2 * at + 1; child <= 2 * at + 2 && child < count; child++) {
            least = before(context, heap[child], heap[least]) ? child : least;
        }
        if (least == at) {
            return;
        }
        int32_t moved = heap[at];
        heap[at] = heap[least];
        heap[least] = moved;
        at = least;
    }
}

/* Adds a number to `*count`, for which there is room. */
static inline void seam_heap_push(int32_t *heap, int32_t *count, int32_t number, seam_before before,
                                  const void *context) {
    int32_t at = (*count)++;
    while (at > 0 && before(context, number, heap[(at - 1) / 2])) {
        heap[at] = heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    heap[at] = number;
}

#endif
