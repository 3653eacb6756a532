/* Sorted runs made of random bytes, in batches of random lengths, merged both ways: of each key the
 * last row is left, or all rows come out in order. What comes is what looking at all rows at once
 * says; runs in disorder are refused. Keys are numbers, floats of which the greatest are NaN in
 * many forms, or texts.
 *
 * Input: a byte of options; of each run its rows, a byte for the step to the next key and the end
 * of batches, one for order and kind. */
#include "seam/merge.h"
#include "seam/runs.h"

#include "input.h"

#include <stdlib.h>
#include <string.h>

enum { RUNS = 3, ROWS = 12, ALL_ROWS = RUNS * ROWS, NAN_KEY = 20 };
/* What keys are columns of. */
enum { NUMBERS, FLOATS, TEXTS };

struct row {
    int64_t key;
    int64_t order;
    int8_t kind;
    int ends_batch;
};

struct run {
    struct row rows[ROWS];
    int count;
    int given; /* rows in batches so far */
    int first; /* the first row of its batch */
    int8_t *kinds;
};

struct result {
    struct row rows[ALL_ROWS];
    uint8_t marks[ALL_ROWS];
    int count;
};

static void expect(int right) {
    if (!right) {
        abort();
    }
}

static int is_sorted(const struct run *run) {
    for (int i = 1; i < run->count; i++) {
        if (run->rows[i].key <= run->rows[i - 1].key) {
            return 0;
        }
    }
    return 1;
}

static void make_run(struct run *run, struct input *input, int keys) {
    memset(run, 0, sizeof *run);
    int64_t key = 0;
    int wanted = take(input) % (ROWS + 1);
    for (; run->count < wanted && input->left > 0; run->count++) {
        uint8_t step = take(input), value = take(input);
        /* One step in 32 goes nowhere: a key that is there twice. */
        key += (step & 31) == 31 ? 0 : (step & 3) + 1;
        key = keys == FLOATS && key > NAN_KEY ? NAN_KEY : key;
        run->rows[run->count] = (struct row){
            .key = key, .order = value >> 4, .kind = value & 3, .ends_batch = step >> 6 == 0};
    }
}

/* Keys in the form of their column: two doubles or bytes for each number, the same order. */
static void turn_keys(int64_t *values, int rows, int keys, uint8_t *texts, int32_t *offsets) {
    for (int i = 0; i < rows; i++) {
        double number = (double)values[i] - 8;
        uint64_t nan = UINT64_C(0x7FF8000000000000) + (uint64_t)i + ((uint64_t)(i & 1) << 63);
        texts[i] = (uint8_t)('0' + values[i]);
        offsets[i + 1] = i + 1;
        if (keys == FLOATS) {
            memcpy(&values[i], values[i] == NAN_KEY ? (void *)&nan : &number, sizeof nan);
        }
    }
}

/* Gives a run its next batch; what it is made of is gone after the call. */
static int give(struct seam_runs *runs, struct run *run, int number, int keys, int32_t *sources,
                struct seam_error *error) {
    free(run->kinds);
    run->kinds = NULL;
    run->first = run->given;
    if (run->given == run->count) {
        return seam_runs_end(runs, number, error);
    }
    int rows = 1;
    while (run->given + rows < run->count && !run->rows[run->given + rows - 1].ends_batch) {
        rows++;
    }
    int64_t *values = malloc(2 * (size_t)rows * sizeof *values);
    run->kinds = malloc((size_t)rows);
    for (int i = 0; i < rows; i++) {
        values[i] = run->rows[run->given + i].key;
        values[rows + i] = run->rows[run->given + i].order;
        run->kinds[i] = run->rows[run->given + i].kind;
    }
    uint8_t texts[ROWS];
    int32_t offsets[ROWS + 1] = {0};
    turn_keys(values, rows, keys, texts, offsets);
    const void *buffers[2][3] = {{NULL, values, NULL}, {NULL, values + rows, NULL}};
    if (keys == TEXTS) {
        buffers[0][1] = offsets;
        buffers[0][2] = texts;
    }
    const void *none[1] = {NULL};
    struct ArrowArray columns[2], *arrays[2] = {&columns[0], &columns[1]};
    struct ArrowSchema kinds[2], *schemas[2] = {&kinds[0], &kinds[1]};
    for (int i = 0; i < 2; i++) {
        columns[i] = (struct ArrowArray){.length = rows, .n_buffers = 2, .buffers = buffers[i]};
        kinds[i] = (struct ArrowSchema){.format = "l", .name = "column"};
    }
    kinds[0].format = keys == NUMBERS ? "l" : keys == FLOATS ? "g" : "u";
    columns[0].n_buffers = keys == TEXTS ? 3 : 2;
    struct ArrowArray batch = {
        .length = rows, .n_buffers = 1, .buffers = none, .n_children = 2, .children = arrays};
    struct ArrowSchema schema = {.format = "+s", .n_children = 2, .children = schemas};
    int code = seam_runs_add(runs, number, &schema, &batch, run->kinds, sources, error);
    run->given += rows;
    free(values);
    return code;
}

/* Merges the runs; SEAM_OK, or why not. */
static int merge(struct run *own, const struct seam_runs_options *options, int keys,
                 struct result *result, struct seam_error *error) {
    struct seam_allocator *allocator = seam_allocator_new(0);
    struct seam_runs *runs = NULL;
    struct row taken[ALL_ROWS];
    int n_taken = 0, ended = 0;
    int32_t sources[ROWS];
    int code = seam_runs_new(allocator, options, &runs, error);
    while (code == SEAM_OK) {
        int32_t wanted = seam_runs_wants(runs);
        if (wanted < 0 && ended == options->n_runs) {
            break;
        }
        if (wanted >= 0) {
            struct run *run = &own[wanted];
            if (wanted == options->base) {
                for (int i = run->first; i < run->given; i++) {
                    int32_t source = sources[i - run->first];
                    if (source != SEAM_SOURCE_NONE) {
                        expect(source == SEAM_SOURCE_BASE || (source >= 0 && source < n_taken));
                        result->rows[result->count++] =
                            source == SEAM_SOURCE_BASE ? run->rows[i] : taken[source];
                    }
                }
                n_taken = 0;
            }
            ended += run->given == run->count;
            code = give(runs, run, wanted, keys, wanted == options->base ? sources : NULL, error);
            continue;
        }
        struct seam_runs_rows out;
        code = seam_runs_next(runs, 2, &out, error);
        for (int64_t i = 0; code == SEAM_OK && i < out.count; i++) {
            const struct run *run = &own[out.runs[i]];
            int at = run->first + out.rows[i];
            expect(at < run->given);
            if (options->base >= 0 && out.marks[i]) {
                taken[n_taken++] = run->rows[at];
            } else {
                result->marks[result->count] = out.marks[i];
                result->rows[result->count++] = run->rows[at];
            }
        }
    }
    for (int i = 0; i < RUNS; i++) {
        free(own[i].kinds);
        own[i].kinds = NULL;
    }
    seam_runs_free(runs);
    seam_allocator_release(allocator);
    return code;
}

/* Rows by key, then by order, those of later runs last. */
static int later(const struct row *one, const struct row *other, int descending) {
    if (one->key != other->key) {
        return one->key > other->key;
    }
    return descending ? one->order < other->order : one->order > other->order;
}

static void sort_rows(struct result *all, int descending) {
    for (int i = 1; i < all->count; i++) {
        for (int k = i; k > 0 && later(&all->rows[k - 1], &all->rows[k], descending); k--) {
            struct row kept = all->rows[k];
            all->rows[k] = all->rows[k - 1];
            all->rows[k - 1] = kept;
        }
    }
}

static int alike(const struct row *one, const struct row *other) {
    return one->key == other->key && one->order == other->order && one->kind == other->kind;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct input input = {data, size};
    uint8_t flags = take(&input);
    int all = flags & 1, keys = (flags >> 5) % 3, sorted = 1;
    const struct seam_runs_options options = {.n_runs = 1 + (flags >> 1 & 1) + (flags >> 2 & 1),
                                              .base = all ? -1 : 0,
                                              .n_keys = 1,
                                              .n_order = 1,
                                              .descending = flags >> 3 & 1,
                                              .ignores_retracts = flags >> 4 & 1,
                                              .pick = all ? SEAM_RUNS_ALL : SEAM_RUNS_LAST};
    struct run own[RUNS];
    memset(own, 0, sizeof own);
    struct result expected = {.count = 0}, found = {.count = 0};
    for (int i = 0; i < options.n_runs; i++) {
        make_run(&own[i], &input, keys);
        sorted = sorted && is_sorted(&own[i]);
        for (int k = 0; k < own[i].count; k++) {
            if (!(options.ignores_retracts && (own[i].rows[k].kind & 1))) {
                expected.rows[expected.count++] = own[i].rows[k];
            }
        }
    }
    struct seam_error error;
    int code = merge(own, &options, keys, &found, &error);
    expect(code == (sorted ? SEAM_OK : SEAM_BAD_INPUT));
    if (!sorted) {
        return 0;
    }
    sort_rows(&expected, options.descending);
    int at = 0;
    if (!all) {
        sort_rows(&found, options.descending);
    }
    for (int i = 0; i < expected.count; i++) {
        const struct row *row = &expected.rows[i];
        int is_last = i + 1 == expected.count || expected.rows[i + 1].key != row->key;
        int is_first = i == 0 || expected.rows[i - 1].key != row->key;
        if (all || (is_last && !(row->kind & 1))) {
            expect(at < found.count && alike(&found.rows[at], row));
            expect(!all || found.marks[at] == is_first);
            at++;
        }
    }
    expect(at == found.count);
    return 0;
}
