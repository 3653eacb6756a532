/* Events folded by key and met by base rows, against a list of keys that is searched from its
 * beginning. Keys and ordering values are columns of any flat type, in two batches of the base; a
 * fork that has met them changes nothing for the merge itself.
 *
 * Input: a byte of options, one for the counts, then the columns and a byte an event. */
#include "seam/merge.h"

#include "columns.h"

enum { EVENTS = BATCH_ROWS, KEYS = 2 };

/* What the events of a key came to. */
struct entry {
    int first; /* the event that brought it */
    int winner;
    int bottom; /* the lowest row that fills gaps, -1 after a delete */
    int used;
};

struct model {
    struct column keys[KEYS];
    struct column ordering;
    int n_keys, n_events, ordered, every;
    int32_t rows[EVENTS];
    uint8_t flags[EVENTS];
    int32_t below[EVENTS];
    struct entry entries[EVENTS];
    int n_entries;
    int undefined;
};

static int same_key(const struct model *model, int event, const struct column *keys, int row) {
    for (int i = 0; i < model->n_keys; i++) {
        const char *format = keys[i].schema->format;
        struct cell a = cell_at(model->keys[i].schema, model->keys[i].array, event);
        struct cell b = cell_at(keys[i].schema, keys[i].array, row);
        if (a.valid != b.valid || (a.valid && compare_cells(format, &a, &b, 1) != 0)) {
            return 0;
        }
    }
    return 1;
}

static struct entry *find(struct model *model, const struct column *keys, int row) {
    for (int i = 0; i < model->n_entries; i++) {
        if (same_key(model, model->entries[i].first, keys, row)) {
            return &model->entries[i];
        }
    }
    return NULL;
}

/* The sign of an event's ordering value beside another's; a null has no place among values. */
static int order(struct model *model, int event, struct column other, int row) {
    struct cell a = cell_at(model->ordering.schema, model->ordering.array, event);
    struct cell b = cell_at(other.schema, other.array, row);
    model->undefined |= a.valid != b.valid;
    return a.valid && b.valid ? compare_cells(other.schema->format, &a, &b, 1) : 0;
}

static int wins(struct model *model, int newer, int older) {
    if (!model->ordered) {
        return 1;
    }
    if (model->flags[older] & SEAM_EVENT_UNORDERED) {
        return !(model->flags[newer] & SEAM_EVENT_YIELDING);
    }
    return (model->flags[newer] & SEAM_EVENT_UNORDERED) ||
           order(model, newer, model->ordering, older) >= 0;
}

static void fold(struct model *model, int event) {
    struct entry *entry = find(model, model->keys, event);
    int32_t row = model->rows[event];
    if (entry == NULL) {
        model->entries[model->n_entries++] = (struct entry){event, event, row, 0};
        return;
    }
    int32_t top = model->rows[entry->winner];
    int is_newest = wins(model, event, entry->winner);
    if (is_newest) {
        entry->winner = event;
    }
    if (row >= 0 && top >= 0) { /* two versions: one lies on top of all, or below all */
        model->below[is_newest ? row : entry->bottom] = is_newest ? top : row;
        entry->bottom = is_newest ? entry->bottom : row;
    } else if (is_newest) {
        entry->bottom = row;
    }
}

/* What a batch of base rows comes to. */
static void probe(struct model *model, const struct column *keys, struct column ordering, int rows,
                  int32_t *sources, int32_t *losers) {
    for (int row = 0; row < rows; row++) {
        struct entry *entry = find(model, keys, row);
        sources[row] = SEAM_SOURCE_BASE;
        losers[row] = -1;
        if (entry == NULL || (entry->used && !model->every)) {
            continue;
        }
        int32_t source = model->rows[entry->winner];
        entry->used = 1;
        if (model->ordered && !(model->flags[entry->winner] & SEAM_EVENT_UNORDERED) &&
            order(model, entry->winner, ordering, row) < 0) {
            losers[row] = source;
        } else {
            sources[row] = source < 0 ? SEAM_SOURCE_NONE : source;
        }
    }
}

static void meet(struct seam_merge *merge, struct model *model, struct pool *pool,
                 struct column *base, const struct column *ordering, int batches) {
    struct seam_error error;
    for (int i = 0; i < batches; i++) {
        const struct column *keys = &base[i * KEYS];
        int rows = (int)keys[0].array->length;
        struct column key_batch = batch_of(pool, keys, model->n_keys, rows);
        struct column order_batch = batch_of(pool, &ordering[i], 1, rows);
        int32_t *found = keep(pool, 8 * (size_t)rows), expected[2][BATCH_ROWS];
        model->undefined = 0;
        probe(model, keys, ordering[i], rows, expected[0], expected[1]);
        int code = seam_merge_probe(
            merge, key_batch.schema, key_batch.array, model->ordered ? order_batch.schema : NULL,
            model->ordered ? order_batch.array : NULL, found, found + rows, &error);
        expect(code == (model->undefined ? SEAM_UNSUPPORTED : SEAM_OK));
        expect(memcmp(found, expected[0], 4 * (size_t)rows) == 0 || model->undefined);
        expect(memcmp(found + rows, expected[1], 4 * (size_t)rows) == 0 || model->undefined);
    }
    int32_t rest[EVENTS];
    int64_t n = seam_merge_rest(merge, rest), at = 0;
    for (int i = 0; i < model->n_entries; i++) {
        int32_t row = model->rows[model->entries[i].winner];
        if (!model->entries[i].used && row >= 0) {
            expect(at < n && rest[at++] == row);
        }
        model->entries[i].used = 0;
    }
    expect(at == n && seam_merge_keys(merge) == model->n_entries);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct input input = {data, size};
    struct pool pool = {.n = 0};
    struct model model = {.n_entries = 0};
    struct seam_error error;
    uint8_t options = take(&input), counts = take(&input);
    int n_data = 0, flagged = options >> 3 & 1, filling = options >> 4 & 1,
        batches = 1 + (options >> 5 & 1);
    model.n_events = counts & 15;
    model.n_keys = 1 + (options & 1);
    model.ordered = options >> 1 & 1;
    model.every = options >> 2 & 1;
    struct column base[2 * KEYS], ordering[2], order_of_events;
    const char *order_format = FLAT[take(&input) % N_FLAT];
    for (int i = 0; i < model.n_keys; i++) {
        const char *format = FLAT[take(&input) % N_FLAT];
        model.keys[i] = random_flat(&pool, &input, format, model.n_events, 1);
        for (int k = 0; k < 2; k++) {
            base[k * KEYS + i] = random_flat(&pool, &input, format, 1 + (counts >> 4), 1);
        }
    }
    order_of_events = model.ordering =
        random_flat(&pool, &input, order_format, model.n_events, options >> 6 & 1);
    for (int k = 0; k < 2; k++) {
        ordering[k] = random_flat(&pool, &input, order_format, 1 + (counts >> 4), options >> 7);
    }
    memset(model.below, 0xff, sizeof model.below);
    for (int i = 0; i < model.n_events; i++) {
        uint8_t byte = take(&input);
        model.rows[i] = byte & 3 ? n_data++ : -1;
        model.flags[i] = flagged && (byte & 8) ? SEAM_EVENT_UNORDERED | (byte >> 3 & 2) : 0;
    }
    for (int i = 0; i < model.n_events; i++) {
        fold(&model, i);
    }
    struct column key_batch = batch_of(&pool, model.keys, model.n_keys, model.n_events);
    struct column order_batch = batch_of(&pool, &order_of_events, 1, model.n_events);
    struct seam_events events = {.keys_schema = key_batch.schema,
                                 .keys = key_batch.array,
                                 .rows = model.rows,
                                 .ordering_schema = model.ordered ? order_batch.schema : NULL,
                                 .ordering = model.ordered ? order_batch.array : NULL,
                                 .flags = flagged ? model.flags : NULL,
                                 .filling_rows = filling ? n_data : 0,
                                 .meets_every_row = model.every};
    struct seam_allocator *allocator = seam_allocator_new(0);
    struct seam_merge *merge, *fork;
    int code = seam_merge_new(allocator, &events, &merge, &error);
    expect(code == (model.undefined ? SEAM_UNSUPPORTED : SEAM_OK));
    if (code == SEAM_OK) {
        if (filling && n_data > 0) {
            expect(memcmp(seam_merge_below(merge), model.below, 4 * (size_t)n_data) == 0);
        }
        expect(seam_merge_fork(allocator, merge, &fork, &error) == SEAM_OK);
        meet(fork, &model, &pool, base, ordering, batches);
        meet(merge, &model, &pool, base, ordering, batches);
        seam_merge_free(fork);
        seam_merge_free(merge);
    }
    seam_allocator_release(allocator);
    drop(&pool);
    return 0;
}
