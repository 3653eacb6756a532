#include "seam/runs.h"

#include "merge/heap.h"
#include "ranks.h"
#include "seam/merge.h"
#include "seam/node.h"

#include <string.h>

/* Where one run stands. */
struct run {
    struct seam_ranks keys;
    struct seam_ranks order;
    struct seam_ranks last; /* the last key of the batch before */
    const int8_t *kinds;
    int32_t *sources; /* of the base */
    int64_t row;
    int64_t rows; /* 0: it is wanted, or has ended */
    int64_t rows_before;
    int32_t begun;
    int32_t ended;
};

struct seam_runs {
    struct seam_allocator *allocator;
    struct seam_runs_options options;
    struct run *runs;
    int32_t *heap; /* numbers of runs that have a row, the least key first */
    int32_t n_heap;
    int32_t *group; /* numbers of the runs that have the least key, the oldest row first */
    int32_t n_group;
    struct seam_order_key *columns; /* of the key, then of the order */
    int32_t missing;                /* runs that are wanted */
    int32_t taken;                  /* rows of the base that others took the place of */
    struct seam_buffer out_runs;
    struct seam_buffer out_rows;
    struct seam_buffer out_marks;
    int64_t count;
};

static int compare(const struct seam_runs *merge, int32_t a, int32_t b) {
    const struct run *x = &merge->runs[a];
    const struct run *y = &merge->runs[b];
    return seam_rank_compare(&x->keys, x->row, &y->keys, y->row);
}

static int before(const void *context, int32_t a, int32_t b) {
    return compare(context, a, b) < 0;
}

static void sift_down(struct seam_runs *merge, int32_t at) {
    seam_heap_sift_down(merge->heap, merge->n_heap, at, before, merge);
}

static void push(struct seam_runs *merge, int32_t run) {
    seam_heap_push(merge->heap, &merge->n_heap, run, before, merge);
}

int seam_runs_new(struct seam_allocator *allocator, const struct seam_runs_options *options,
                  struct seam_runs **out, struct seam_error *error) {
    void *blocks[5];
    *out = NULL;
    if (options->n_runs < 1 || options->n_keys < 1 || options->n_order < 0 ||
        options->base >= options->n_runs ||
        (options->pick == SEAM_RUNS_ALL && options->base >= 0)) {
        return seam_fail(error, SEAM_BAD_ARGUMENT, -1,
                         "%d runs, of which %d is the base, cannot be merged by %d keys",
                         (int)options->n_runs, (int)options->base, (int)options->n_keys);
    }
    size_t n_runs = (size_t)options->n_runs;
    size_t n_columns = (size_t)options->n_keys + (size_t)options->n_order;
    const size_t sizes[5] = {sizeof **out, n_runs * sizeof(struct run), n_runs * sizeof(int32_t),
                             n_runs * sizeof(int32_t), n_columns * sizeof(struct seam_order_key)};
    SEAM_TRY(seam_alloc_all(allocator, sizes, 5, blocks, error));
    struct seam_runs *merge = blocks[0];
    *merge = (struct seam_runs){.allocator = allocator,
                                .options = *options,
                                .runs = blocks[1],
                                .heap = blocks[2],
                                .group = blocks[3],
                                .columns = blocks[4],
                                .missing = options->n_runs};
    for (int32_t i = 0; i < options->n_runs; i++) {
        merge->runs[i] = (struct run){.row = 0};
        seam_ranks_init(&merge->runs[i].keys, allocator);
        seam_ranks_init(&merge->runs[i].order, allocator);
        seam_ranks_init(&merge->runs[i].last, allocator);
    }
    for (int32_t i = 0; i < (int32_t)n_columns; i++) {
        int32_t ordinal = i - options->n_keys;
        merge->columns[i] = (struct seam_order_key){
            .column = i,
            .descending = ordinal >= 0 && ordinal < options->descending,
            .nulls_first = 1,
        };
    }
    seam_buffer_init(&merge->out_runs, allocator);
    seam_buffer_init(&merge->out_rows, allocator);
    seam_buffer_init(&merge->out_marks, allocator);
    *out = merge;
    return SEAM_OK;
}

void seam_runs_free(struct seam_runs *merge) {
    if (merge == NULL) {
        return;
    }
    for (int32_t i = 0; i < merge->options.n_runs; i++) {
        seam_ranks_reset(&merge->runs[i].keys);
        seam_ranks_reset(&merge->runs[i].order);
        seam_ranks_reset(&merge->runs[i].last);
    }
    seam_buffer_reset(&merge->out_runs);
    seam_buffer_reset(&merge->out_rows);
    seam_buffer_reset(&merge->out_marks);
    seam_free(merge->runs);
    seam_free(merge->heap);
    seam_free(merge->group);
    seam_free(merge->columns);
    seam_free(merge);
}

static int is_wanted(const struct run *run) {
    return run->rows == 0 && !run->ended;
}

int32_t seam_runs_wants(const struct seam_runs *merge) {
    for (int32_t i = 0; merge->missing > 0 && i < merge->options.n_runs; i++) {
        if (is_wanted(&merge->runs[i])) {
            return i;
        }
    }
    return -1;
}

static int check_wanted(const struct seam_runs *merge, int32_t run, struct seam_error *error) {
    if (run < 0 || run >= merge->options.n_runs || !is_wanted(&merge->runs[run])) {
        return seam_fail(error, SEAM_BAD_ARGUMENT, -1, "nothing is wanted of run %d", (int)run);
    }
    return SEAM_OK;
}

/* Keys must rise from row to row, and above the last one of the batch before. */
static int check_ascending(const struct run *run, struct seam_error *error) {
    int64_t row = 0;
    int falls = run->begun && seam_rank_compare(&run->last, 0, &run->keys, 0) >= 0;
    while (!falls && ++row < run->keys.rows) {
        falls = seam_rank_compare(&run->keys, row - 1, &run->keys, row) >= 0;
    }
    if (falls) {
        return seam_fail(error, SEAM_BAD_INPUT, -1,
                         "the key of row %lld of a sorted run is not above the one before it",
                         (long long)(run->rows_before + row));
    }
    return SEAM_OK;
}

/* Ranks are compared across runs: as words, so many of them, or as bytes. */
static int check_alike(const struct seam_runs *merge, const struct run *run,
                       struct seam_error *error) {
    for (int32_t i = 0; i < merge->options.n_runs; i++) {
        const struct run *other = &merge->runs[i];
        if (other->begun && (other->keys.n_words != run->keys.n_words ||
                             other->order.n_words != run->order.n_words)) {
            return seam_fail(error, SEAM_BAD_ARGUMENT, -1,
                             "columns of one type in one run, of another in another");
        }
    }
    return SEAM_OK;
}

static int fill(struct seam_runs *merge, struct run *run, const struct seam_node *node,
                struct seam_error *error) {
    int32_t n_keys = merge->options.n_keys;
    SEAM_TRY(seam_ranks_fill(&run->keys, merge->columns, n_keys, 1, node, error));
    if (merge->options.n_order > 0) {
        SEAM_TRY(seam_ranks_fill(&run->order, merge->columns + n_keys, merge->options.n_order, 0,
                                 node, error));
    }
    SEAM_TRY(check_alike(merge, run, error));
    SEAM_TRY(check_ascending(run, error));
    return seam_ranks_keep(&run->last, &run->keys, run->keys.rows - 1, error);
}

int seam_runs_add(struct seam_runs *merge, int32_t number, const struct ArrowSchema *schema,
                  const struct ArrowArray *batch, const int8_t *kinds, int32_t *sources,
                  struct seam_error *error) {
    int code = check_wanted(merge, number, error);
    if (code == SEAM_OK && batch->length > INT32_MAX) {
        code = seam_fail(error, SEAM_TOO_LARGE, -1, "a batch of %lld rows; at most 2^31 - 1",
                         (long long)batch->length);
    }
    if (code == SEAM_OK && number == merge->options.base && sources == NULL) {
        code = seam_fail(error, SEAM_BAD_ARGUMENT, -1, "no room for what becomes of the base");
    }
    if (code != SEAM_OK || batch->length == 0) {
        return code; /* still wanted */
    }
    struct run *run = &merge->runs[number];
    struct seam_node *node;
    SEAM_TRY(seam_node_open(merge->allocator, schema, batch, &node, error));
    code = fill(merge, run, node, error);
    seam_node_close(node);
    SEAM_TRY(code);
    run->rows = batch->length;
    run->row = 0;
    run->begun = 1;
    run->kinds = kinds;
    run->sources = sources;
    if (number == merge->options.base) {
        merge->taken = 0;
    }
    push(merge, number);
    merge->missing -= 1;
    return SEAM_OK;
}

int seam_runs_end(struct seam_runs *merge, int32_t run, struct seam_error *error) {
    SEAM_TRY(check_wanted(merge, run, error));
    merge->runs[run].ended = 1;
    merge->missing -= 1;
    return SEAM_OK;
}

static int is_retract(const struct run *run) {
    return run->kinds != NULL && (run->kinds[run->row] & 1);
}

/* Notes a row that comes out. Room for it is there. */
static void put(struct seam_runs *merge, int32_t number, int mark) {
    ((int32_t *)(void *)merge->out_runs.data)[merge->count] = number;
    ((int32_t *)(void *)merge->out_rows.data)[merge->count] = (int32_t)merge->runs[number].row;
    merge->out_marks.data[merge->count] = (uint8_t)mark;
    merge->count += 1;
}

static int reserve(struct seam_runs *merge, int64_t rows, struct seam_error *error) {
    merge->out_runs.size_bytes = merge->out_rows.size_bytes = merge->count * 4;
    merge->out_marks.size_bytes = merge->count;
    SEAM_TRY(seam_buffer_reserve(&merge->out_runs, rows * 4, error));
    SEAM_TRY(seam_buffer_reserve(&merge->out_rows, rows * 4, error));
    return seam_buffer_reserve(&merge->out_marks, rows, error);
}

/* Whether the row of run a is older than that of run b, which has the same key. */
static int is_older(const struct seam_runs *merge, int32_t a, int32_t b) {
    const struct run *x = &merge->runs[a];
    const struct run *y = &merge->runs[b];
    int order =
        merge->options.n_order > 0 ? seam_rank_compare(&x->order, x->row, &y->order, y->row) : 0;
    return order != 0 ? order < 0 : a < b;
}

/* Takes the runs with the least key from the heap into the group, the oldest row first. */
static void collect(struct seam_runs *merge) {
    merge->n_group = 0;
    do {
        int32_t number = merge->heap[0];
        merge->heap[0] = merge->heap[--merge->n_heap];
        sift_down(merge, 0);
        int32_t at = merge->n_group++;
        while (at > 0 && is_older(merge, number, merge->group[at - 1])) {
            merge->group[at] = merge->group[at - 1];
            at -= 1;
        }
        merge->group[at] = number;
    } while (merge->n_heap > 0 && compare(merge, merge->heap[0], merge->group[0]) == 0);
}

/* The runs of the group whose rows count, in place; the others go on as well. */
static int32_t counting(const struct seam_runs *merge, int32_t *numbers) {
    int32_t n = 0;
    for (int32_t i = 0; i < merge->n_group; i++) {
        int32_t number = merge->group[i];
        if (!merge->options.ignores_retracts || !is_retract(&merge->runs[number])) {
            numbers[n++] = number;
        }
    }
    return n;
}

/* The row that is left of the group, or -1; -2 where a retract follows a first row. */
static int32_t picked(const struct seam_runs *merge) {
    int32_t found = -1;
    int32_t n = 0;
    for (int32_t i = 0; i < merge->n_group; i++) {
        int32_t number = merge->group[i];
        int retract = is_retract(&merge->runs[number]);
        if (retract && merge->options.ignores_retracts) {
            continue;
        }
        n += 1;
        if (merge->options.pick == SEAM_RUNS_LAST) {
            found = retract ? -1 : number;
        } else if (retract) {
            return merge->n_group > 1 ? -2 : -1;
        } else if (n == 1) {
            found = number;
        }
    }
    return found;
}

/* What becomes of the least key. */
static int merge_group(struct seam_runs *merge, struct seam_error *error) {
    if (merge->options.pick == SEAM_RUNS_ALL) {
        int32_t n = counting(merge, merge->heap + merge->n_heap);
        for (int32_t i = 0; i < n; i++) {
            put(merge, merge->heap[merge->n_heap + i], i == 0);
        }
        return SEAM_OK;
    }
    int32_t winner = picked(merge);
    if (winner == -2) {
        return seam_fail(error, SEAM_UNSUPPORTED, -1,
                         "a row of a key whose first row counts is a retract");
    }
    int32_t *source = NULL;
    for (int32_t i = 0; i < merge->n_group; i++) {
        if (merge->group[i] == merge->options.base) {
            struct run *base = &merge->runs[merge->options.base];
            source = &base->sources[base->row];
        }
    }
    if (source == NULL) {
        if (winner >= 0) {
            put(merge, winner, 0);
        }
    } else if (winner == merge->options.base) {
        *source = SEAM_SOURCE_BASE;
    } else if (winner < 0) {
        *source = SEAM_SOURCE_NONE;
    } else {
        *source = merge->taken++;
        put(merge, winner, 1);
    }
    return SEAM_OK;
}

/* All runs of the group go on by one row; a batch goes when that was its last. */
static void go_on(struct seam_runs *merge) {
    for (int32_t i = 0; i < merge->n_group; i++) {
        struct run *run = &merge->runs[merge->group[i]];
        run->row += 1;
        if (run->row < run->rows) {
            push(merge, merge->group[i]);
        } else {
            run->rows_before += run->rows;
            run->rows = 0;
            merge->missing += 1;
        }
    }
}

/* Rows of the base below all other keys stay, without a look at the heap; how many they are. */
static int64_t skip_base(struct seam_runs *merge) {
    int32_t number = merge->heap[0];
    if (number != merge->options.base || merge->n_heap < 2) {
        return 0;
    }
    struct run *base = &merge->runs[number];
    int32_t second = merge->heap[1];
    if (merge->n_heap > 2 && compare(merge, merge->heap[2], second) < 0) {
        second = merge->heap[2];
    }
    const struct run *other = &merge->runs[second];
    int64_t begin = base->row;
    while (base->row + 1 < base->rows &&
           seam_rank_compare(&base->keys, base->row, &other->keys, other->row) < 0) {
        base->sources[base->row] = is_retract(base) ? SEAM_SOURCE_NONE : SEAM_SOURCE_BASE;
        base->row += 1;
    }
    if (base->row > begin) {
        sift_down(merge, 0);
    }
    return base->row - begin;
}

int seam_runs_next(struct seam_runs *merge, int64_t most, struct seam_runs_rows *out,
                   struct seam_error *error) {
    int code = SEAM_OK;
    int64_t seen = 0; /* rows of the base come out in place, and count as well */
    merge->count = 0;
    while (code == SEAM_OK && merge->missing == 0 && merge->n_heap > 0 && seen < most) {
        seen += skip_base(merge);
        code = reserve(merge, merge->options.n_runs, error);
        if (code == SEAM_OK) {
            collect(merge);
            code = merge_group(merge, error);
            seen += merge->n_group;
            go_on(merge);
        }
    }
    *out = (struct seam_runs_rows){
        .runs = (const int32_t *)(const void *)merge->out_runs.data,
        .rows = (const int32_t *)(const void *)merge->out_rows.data,
        .marks = merge->out_marks.data,
        .count = merge->count,
    };
    return code;
}
