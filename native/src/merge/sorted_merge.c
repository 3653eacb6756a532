#include "seam/sorted_merge.h"

#include "merge/heap.h"

#include "seam/gather.h"
#include "seam/node.h"

#include <string.h>

/* Where one input stands. */
struct input {
    struct seam_node *node; /* of its batch; NULL: it is wanted, or has ended */
    struct seam_sort_keys keys;
    struct seam_buffer last; /* the last key of the batch before */
    int64_t row;
    int64_t rows_before;
    uint64_t prefix; /* the first eight bytes of the key of `row`, as a number */
    int32_t begun;
    int32_t ended;
    int32_t bounded; /* `keys` has a bound in place of a row: what comes is not less */
};

/* Rows of one input that follow each other in the output. */
struct run {
    int32_t input;
    int32_t first;
    int32_t count;
};

struct seam_sorted_merge {
    struct seam_allocator *allocator;
    struct seam_order_key *order; /* then once more, for batches of the key columns alone */
    int32_t n_order;
    int32_t n_inputs;
    struct input *inputs;
    int32_t *heap; /* numbers of inputs that have a row or a bound, the least first */
    int32_t n_heap;
    int32_t missing; /* inputs that are wanted whatever the others have */
    int64_t chunk_rows;
    int64_t picked; /* rows in `runs` */
    struct seam_buffer runs;
    struct seam_buffer rows; /* int32 row numbers, for the gather */
    struct seam_gather *gather;
};

static void load_prefix(struct input *input) {
    const uint8_t *key;
    int64_t size_bytes = seam_sort_key(&input->keys, input->row, &key);
    input->prefix = 0;
    for (int64_t i = 0; i < 8; i++) {
        input->prefix = input->prefix << 8 | (i < size_bytes ? key[i] : 0);
    }
}

/* Whether the row of input a comes before that of input b. */
static int before(const void *context, int32_t a, int32_t b) {
    const struct seam_sorted_merge *merge = context;
    const struct input *x = &merge->inputs[a];
    const struct input *y = &merge->inputs[b];
    if (x->prefix != y->prefix) {
        return x->prefix < y->prefix;
    }
    const uint8_t *key_x, *key_y;
    int64_t size_x = seam_sort_key(&x->keys, x->row, &key_x);
    int64_t size_y = seam_sort_key(&y->keys, y->row, &key_y);
    int order = seam_sort_key_compare(key_x, size_x, key_y, size_y);
    return order != 0 ? order < 0 : a < b;
}

static void sift_down(struct seam_sorted_merge *merge, int32_t at) {
    seam_heap_sift_down(merge->heap, merge->n_heap, at, before, merge);
}

static void push(struct seam_sorted_merge *merge, int32_t input) {
    seam_heap_push(merge->heap, &merge->n_heap, input, before, merge);
}

int seam_sorted_merge_new(struct seam_allocator *allocator, const struct seam_order_key *order,
                          int32_t n_order, int32_t inputs, int64_t chunk_rows,
                          struct seam_sorted_merge **out, struct seam_error *error) {
    void *blocks[4];
    *out = NULL;
    if (n_order < 1 || inputs < 1 || chunk_rows < 1 || chunk_rows > INT32_MAX) {
        return seam_fail(error, SEAM_BAD_ARGUMENT, -1,
                         "%d inputs cannot be merged by %d keys in chunks of %lld rows",
                         (int)inputs, (int)n_order, (long long)chunk_rows);
    }
    const size_t sizes[4] = {sizeof **out, 2 * (size_t)n_order * sizeof *order,
                             (size_t)inputs * sizeof(struct input),
                             (size_t)inputs * sizeof(int32_t)};
    SEAM_TRY(seam_alloc_all(allocator, sizes, 4, blocks, error));
    struct seam_sorted_merge *merge = blocks[0];
    *merge = (struct seam_sorted_merge){.allocator = allocator,
                                        .order = blocks[1],
                                        .n_order = n_order,
                                        .n_inputs = inputs,
                                        .inputs = blocks[2],
                                        .heap = blocks[3],
                                        .missing = inputs,
                                        .chunk_rows = chunk_rows};
    for (int32_t i = 0; i < n_order; i++) {
        merge->order[i] = merge->order[n_order + i] = order[i];
        merge->order[n_order + i].column = i;
    }
    for (int32_t i = 0; i < inputs; i++) {
        merge->inputs[i] = (struct input){.node = NULL};
        seam_sort_keys_init(&merge->inputs[i].keys, allocator);
        seam_buffer_init(&merge->inputs[i].last, allocator);
    }
    seam_buffer_init(&merge->runs, allocator);
    seam_buffer_init(&merge->rows, allocator);
    *out = merge;
    return SEAM_OK;
}

void seam_sorted_merge_free(struct seam_sorted_merge *merge) {
    if (merge == NULL) {
        return;
    }
    for (int32_t i = 0; i < merge->n_inputs; i++) {
        seam_node_close(merge->inputs[i].node);
        seam_sort_keys_reset(&merge->inputs[i].keys);
        seam_buffer_reset(&merge->inputs[i].last);
    }
    seam_buffer_reset(&merge->runs);
    seam_buffer_reset(&merge->rows);
    seam_gather_free(merge->gather);
    seam_free(merge->inputs);
    seam_free(merge->order);
    seam_free(merge->heap);
    seam_free(merge);
}

/* Whether the least of all that is there is a bound, so that the rows behind it are needed. */
static int at_bound(const struct seam_sorted_merge *merge) {
    return merge->n_heap > 0 && merge->inputs[merge->heap[0]].bounded;
}

int32_t seam_sorted_merge_wants(const struct seam_sorted_merge *merge) {
    for (int32_t i = 0; merge->missing > 0 && i < merge->n_inputs; i++) {
        if (merge->inputs[i].node == NULL && !merge->inputs[i].ended && !merge->inputs[i].bounded) {
            return i;
        }
    }
    return at_bound(merge) ? merge->heap[0] : -1;
}

static int check_wanted(const struct seam_sorted_merge *merge, int32_t input,
                        struct seam_error *error) {
    if (input < 0 || input >= merge->n_inputs || merge->inputs[input].node != NULL ||
        merge->inputs[input].ended || (merge->inputs[input].bounded && merge->heap[0] != input)) {
        return seam_fail(error, SEAM_BAD_ARGUMENT, -1, "nothing is wanted of input %d", (int)input);
    }
    return SEAM_OK;
}

/* Rows must not come before the one above them, nor before the last one of the batch before. */
static int check_sorted(struct input *input, int32_t number, struct seam_error *error) {
    const uint8_t *above = input->last.data;
    int64_t above_bytes = input->last.size_bytes;
    for (int64_t row = 0; row < input->keys.rows; row++) {
        const uint8_t *key;
        int64_t key_bytes = seam_sort_key(&input->keys, row, &key);
        if ((row > 0 || input->begun) &&
            seam_sort_key_compare(above, above_bytes, key, key_bytes) > 0) {
            return seam_fail(error, SEAM_BAD_INPUT, -1,
                             "input %d is not sorted: its row %lld belongs before the one above it",
                             (int)number, (long long)(input->rows_before + row));
        }
        above = key;
        above_bytes = key_bytes;
    }
    return SEAM_OK;
}

/* Keeps the last key of a batch that is about to go, or a bound. */
static int keep_last(struct input *input, struct seam_error *error) {
    const uint8_t *key;
    int64_t size_bytes = seam_sort_key(&input->keys, input->keys.rows - 1, &key);
    input->last.size_bytes = 0;
    SEAM_TRY(seam_buffer_reserve(&input->last, size_bytes, error));
    memcpy(input->last.data, key, (size_t)size_bytes);
    input->last.size_bytes = size_bytes;
    input->begun = 1;
    return SEAM_OK;
}

/* The least input has nothing any more. */
static void leave(struct seam_sorted_merge *merge) {
    merge->inputs[merge->heap[0]].bounded = 0;
    merge->missing += 1;
    merge->heap[0] = merge->heap[--merge->n_heap];
    sift_down(merge, 0);
}

/* The input has a row, or a bound, in `keys`. */
static void enter(struct seam_sorted_merge *merge, int32_t input) {
    merge->inputs[input].row = 0;
    load_prefix(&merge->inputs[input]);
    push(merge, input);
    merge->missing -= 1;
}

int seam_sorted_merge_add(struct seam_sorted_merge *merge, int32_t input,
                          const struct ArrowSchema *schema, const struct ArrowArray *batch,
                          struct seam_error *error) {
    int code = check_wanted(merge, input, error);
    if (code == SEAM_OK && batch->length > INT32_MAX) {
        code = seam_fail(error, SEAM_TOO_LARGE, -1, "a batch of %lld rows; at most 2^31 - 1",
                         (long long)batch->length);
    }
    if (code != SEAM_OK || batch->length == 0) {
        return code; /* still wanted */
    }
    struct input *found = &merge->inputs[input];
    struct seam_node *node;
    SEAM_TRY(seam_node_open(merge->allocator, schema, batch, &node, error));
    if (found->bounded) {
        leave(merge);
    }
    code = seam_sort_keys_fill(&found->keys, merge->order, merge->n_order, node, error);
    if (code == SEAM_OK) {
        code = check_sorted(found, input, error);
    }
    if (code == SEAM_OK && merge->gather == NULL) {
        code = seam_gather_new(merge->allocator, node, merge->chunk_rows, &merge->gather, error);
    }
    if (code != SEAM_OK) {
        seam_node_close(node);
        return code;
    }
    found->node = node;
    enter(merge, input);
    return SEAM_OK;
}

int seam_sorted_merge_bound(struct seam_sorted_merge *merge, int32_t input,
                            const struct ArrowSchema *schema, const struct ArrowArray *key,
                            struct seam_error *error) {
    SEAM_TRY(check_wanted(merge, input, error));
    if (key->length != 1) {
        return seam_fail(error, SEAM_BAD_ARGUMENT, -1, "a bound is one row, not %lld",
                         (long long)key->length);
    }
    struct input *found = &merge->inputs[input];
    struct seam_node *node;
    SEAM_TRY(seam_node_open(merge->allocator, schema, key, &node, error));
    if (found->bounded) {
        leave(merge);
    }
    const struct seam_order_key *order = merge->order + merge->n_order;
    int code = seam_sort_keys_fill(&found->keys, order, merge->n_order, node, error);
    seam_node_close(node);
    if (code == SEAM_OK) {
        code = check_sorted(found, input, error);
    }
    if (code == SEAM_OK) {
        code = keep_last(found, error);
    }
    if (code == SEAM_OK) {
        found->bounded = 1;
        enter(merge, input);
    }
    return code;
}

int seam_sorted_merge_end(struct seam_sorted_merge *merge, int32_t input,
                          struct seam_error *error) {
    SEAM_TRY(check_wanted(merge, input, error));
    if (merge->inputs[input].bounded) {
        leave(merge);
    }
    merge->inputs[input].ended = 1;
    merge->missing -= 1;
    return SEAM_OK;
}

/* Notes the least row as the next one. */
static int pick(struct seam_sorted_merge *merge, int32_t number, struct seam_error *error) {
    struct input *input = &merge->inputs[number];
    struct run *runs = (struct run *)(void *)merge->runs.data;
    int64_t n = merge->runs.size_bytes / (int64_t)sizeof *runs;
    merge->picked += 1;
    if (n > 0 && runs[n - 1].input == number) {
        runs[n - 1].count += 1;
        return SEAM_OK;
    }
    SEAM_TRY(seam_buffer_reserve(&merge->runs, sizeof *runs, error));
    runs = (struct run *)(void *)merge->runs.data;
    runs[n] = (struct run){.input = number, .first = (int32_t)input->row, .count = 1};
    merge->runs.size_bytes += (int64_t)sizeof *runs;
    return SEAM_OK;
}

/* Copies the rows that were picked: column by column, run by run. */
static int copy_picked(struct seam_sorted_merge *merge, struct seam_error *error) {
    const struct run *runs = (const struct run *)(const void *)merge->runs.data;
    int64_t n = merge->runs.size_bytes / (int64_t)sizeof *runs;
    if (n == 0) {
        return SEAM_OK;
    }
    merge->rows.size_bytes = 0;
    SEAM_TRY(seam_buffer_reserve(&merge->rows, merge->picked * 4, error));
    int code = SEAM_OK;
    int32_t *rows = (int32_t *)(void *)merge->rows.data;
    int64_t at = 0;
    for (int64_t i = 0; i < n; i++) {
        for (int32_t k = 0; k < runs[i].count; k++) {
            rows[at++] = runs[i].first + k;
        }
    }
    int64_t n_columns = merge->inputs[runs[0].input].node->n_children;
    for (int64_t column = 0; code == SEAM_OK && column < n_columns; column++) {
        at = 0;
        for (int64_t i = 0; code == SEAM_OK && i < n; i++) {
            code = seam_gather_append(merge->gather, merge->inputs[runs[i].input].node, column,
                                      rows + at, runs[i].count, error);
            at += runs[i].count;
        }
    }
    seam_gather_advance(merge->gather, merge->picked);
    merge->picked = 0;
    merge->runs.size_bytes = 0;
    return code;
}

/* The least input goes on by one row; its batch goes when that was the last one. */
static int step(struct seam_sorted_merge *merge, int32_t number, struct seam_error *error) {
    struct input *input = &merge->inputs[number];
    input->row += 1;
    if (input->row < input->keys.rows) {
        load_prefix(input);
        sift_down(merge, 0);
        return SEAM_OK;
    }
    int code = copy_picked(merge, error); /* while the batch is still there */
    if (code == SEAM_OK) {
        code = keep_last(input, error);
    }
    if (code == SEAM_OK) {
        input->rows_before += input->keys.rows;
        seam_node_close(input->node);
        input->node = NULL;
        leave(merge);
    }
    return code;
}

int seam_sorted_merge_next(struct seam_sorted_merge *merge, struct ArrowArray *out, int32_t *got,
                           struct seam_error *error) {
    int code = SEAM_OK;
    *got = 0;
    int64_t had = merge->gather == NULL ? 0 : seam_gather_rows(merge->gather);
    while (code == SEAM_OK && merge->missing == 0 && merge->n_heap > 0 && !at_bound(merge) &&
           had + merge->picked < merge->chunk_rows) {
        int32_t number = merge->heap[0];
        code = pick(merge, number, error);
        if (code == SEAM_OK) {
            code = step(merge, number, error);
            had = seam_gather_rows(merge->gather);
        }
    }
    if (code == SEAM_OK) {
        code = copy_picked(merge, error);
    }
    had = merge->gather == NULL ? 0 : seam_gather_rows(merge->gather);
    int over = merge->missing == 0 && merge->n_heap == 0;
    if (code == SEAM_OK && had > 0 && (had >= merge->chunk_rows || over)) {
        code = seam_gather_finish(merge->gather, out, error);
        *got = code == SEAM_OK;
    }
    return code;
}
