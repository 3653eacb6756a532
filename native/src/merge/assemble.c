#include "base/bits.h"
#include "merge/assemble_internal.h"

#include "seam/arrow_build.h"
#include "seam/merge.h"

#include <string.h>

static void count_changes(const int32_t *sources, int64_t base_rows, size_t *replaced,
                          size_t *removed) {
    *replaced = *removed = 0;
    for (int64_t i = 0; i < base_rows; i++) {
        *replaced += sources[i] >= 0;
        *removed += sources[i] < SEAM_SOURCE_BASE;
    }
}

static void make_runs(struct seam_plan *plan, const int32_t *sources, int64_t base_rows) {
    int64_t begin = 0;
    for (int64_t i = 0; i < base_rows; i++) {
        if (sources[i] == SEAM_SOURCE_BASE) {
            continue;
        }
        plan->runs[plan->n_runs++] =
            (struct run){(int32_t)begin, (int32_t)(i - begin), sources[i] < 0 ? -1 : sources[i]};
        plan->log_rows = sources[i] >= plan->log_rows ? (int64_t)sources[i] + 1 : plan->log_rows;
        if (sources[i] < 0) {
            plan->gaps[plan->removed++] = (int32_t)i;
        }
        begin = i + 1;
    }
    plan->runs[plan->n_runs++] = (struct run){(int32_t)begin, (int32_t)(base_rows - begin), -1};
    plan->base_rows = base_rows;
    plan->rows = base_rows - plan->removed;
    plan->replaced = plan->n_runs - 1 - plan->removed;
}

int seam_plan_new(struct seam_allocator *allocator, const int32_t *sources, int64_t base_rows,
                  struct seam_plan **out, struct seam_error *error) {
    if (base_rows >= INT32_MAX) {
        return seam_fail(error, SEAM_TOO_LARGE, -1, "a batch of %lld rows", (long long)base_rows);
    }
    void *block;
    SEAM_TRY(seam_alloc(allocator, sizeof(struct seam_plan), &block, error));
    struct seam_plan *plan = block;
    *plan = (struct seam_plan){0};
    size_t replaced, removed;
    count_changes(sources, base_rows, &replaced, &removed);
    int code = seam_alloc(allocator, (replaced + removed + 1) * sizeof(struct run), &block, error);
    if (code == SEAM_OK) {
        plan->runs = block;
        code = seam_alloc(allocator, removed * sizeof(int32_t), &block, error);
    }
    if (code != SEAM_OK) {
        seam_plan_free(plan);
        return code;
    }
    plan->gaps = block;
    make_runs(plan, sources, base_rows);
    *out = plan;
    return SEAM_OK;
}

void seam_plan_free(struct seam_plan *plan) {
    if (plan != NULL) {
        seam_free(plan->runs);
        seam_free(plan->gaps);
        seam_free(plan);
    }
}

int64_t seam_plan_rows(const struct seam_plan *plan) {
    return plan->rows;
}

int64_t seam_plan_replaced(const struct seam_plan *plan) {
    return plan->replaced;
}

int64_t seam_plan_removed(const struct seam_plan *plan) {
    return plan->removed;
}

/* The longest value that is patched in place: move_down holds one in a variable. */
enum { UNIFORM_MAX = 16 };

/* One constant-width loop per common width, so that the copy of a log value is a single move. */
#define COPY_FIXED(WIDTH)                                                                          \
    for (int64_t i = 0; i < plan->n_runs; i++) {                                                   \
        const struct run *run = &plan->runs[i];                                                    \
        __builtin_prefetch(patch + log_row_ahead(plan, i) * (WIDTH));                              \
        size_t size = (size_t)run->base_count * (WIDTH);                                           \
        if (size > 0) { /* an empty array may lack its buffer */                                   \
            memcpy(to, from + (int64_t)run->base_begin * (WIDTH), size);                           \
        }                                                                                          \
        to += size;                                                                                \
        if (run->log_row >= 0) {                                                                   \
            memcpy(to, patch + (int64_t)run->log_row * (WIDTH), (WIDTH));                          \
            to += (WIDTH);                                                                         \
        }                                                                                          \
    }

static void copy_fixed(const struct seam_plan *plan, const struct seam_view *base,
                       const struct seam_view *log, uint8_t *to) {
    int64_t width = base->width_bytes;
    const uint8_t *from = base->data + base->offset * width;
    const uint8_t *patch = log->data + log->offset * width;
    switch (width) {
    case 4:
        COPY_FIXED(4)
        break;
    case 8:
        COPY_FIXED(8)
        break;
    case 16:
        COPY_FIXED(16)
        break;
    default:
        COPY_FIXED((size_t)width)
        break;
    }
}

/* memmove for to < from. Stretches between removed rows may be short, and a value at a time in
 * rising order is right whatever the overlap. */
static inline void move_down(uint8_t *to, const uint8_t *from, size_t size, size_t width) {
    if (size > 8 * width) {
        memmove(to, from, size);
        return;
    }
    for (size_t at = 0; at < size; at += width) {
        uint8_t value[UNIFORM_MAX];
        memcpy(value, from + at, width);
        memcpy(to + at, value, width);
    }
}

/* The same in place: log rows overwrite the base rows that they replace, and then what is left
 * moves down over the removed ones, which are few as a rule. */
#define PATCH_FIXED(WIDTH)                                                                         \
    for (int64_t i = 0; i < plan->n_runs; i++) {                                                   \
        const struct run *run = &plan->runs[i];                                                    \
        __builtin_prefetch(patch + log_row_ahead(plan, i) * (WIDTH));                              \
        if (run->log_row >= 0) {                                                                   \
            memcpy(data + ((int64_t)run->base_begin + run->base_count) * (WIDTH),                  \
                   patch + (int64_t)run->log_row * (WIDTH), (WIDTH));                              \
        }                                                                                          \
    }                                                                                              \
    for (int64_t i = 0; i < plan->removed; i++) {                                                  \
        int64_t begin = (int64_t)plan->gaps[i] + 1;                                                \
        int64_t end = i + 1 < plan->removed ? plan->gaps[i + 1] : plan->base_rows;                 \
        move_down(data + (begin - 1 - i) * (WIDTH), data + begin * (WIDTH),                        \
                  (size_t)(end - begin) * (WIDTH), (WIDTH));                                       \
    }

static void patch_fixed(const struct seam_plan *plan, const struct seam_view *base,
                        const struct seam_view *log) {
    int64_t width = base->width_bytes;
    uint8_t *data = (uint8_t *)(uintptr_t)base->data + base->offset * width;
    const uint8_t *patch = plan->replaced > 0 ? log->data + log->offset * width : data;
    switch (width) {
    case 4:
        PATCH_FIXED(4)
        break;
    case 8:
        PATCH_FIXED(8)
        break;
    case 16:
        PATCH_FIXED(16)
        break;
    case 1:
        PATCH_FIXED(1)
        break;
    default:
        PATCH_FIXED((size_t)width)
        break;
    }
}

/* The length that all texts of a column share, or 0. Codes and flags are such columns. */
static int32_t shared_length(const struct seam_view *view) {
    if (view->layout != SEAM_LAYOUT_VAR32 || view->length == 0) {
        return 0;
    }
    const int32_t *offsets = (const int32_t *)view->offsets + view->offset;
    int32_t length = offsets[1] - offsets[0];
    int32_t odd = 0;
    for (int64_t i = 0; i < view->length; i++) {
        odd |= (offsets[i + 1] - offsets[i]) ^ length;
    }
    return odd != 0 || length > UNIFORM_MAX ? 0 : length;
}

/* Texts of one length lie like numbers of that width, and their offsets stay as they are. */
static struct seam_view as_fixed(const struct seam_view *view, int32_t width) {
    struct seam_view fixed = *view;
    fixed.layout = SEAM_LAYOUT_FIXED;
    fixed.width_bytes = width;
    fixed.data = view->data + ((const int32_t *)view->offsets)[view->offset];
    fixed.offset = 0;
    return fixed;
}

/* The plan's numbers of rows are what columns are read by. */
static int check_rows(const struct seam_plan *plan, const struct ArrowArray *base,
                      const struct ArrowArray *log, struct seam_error *error) {
    if (base->length < plan->base_rows || log->length < plan->log_rows) {
        return seam_fail(error, SEAM_BAD_ARGUMENT, -1,
                         "%lld rows of the base and %lld of the log, the plan is of %lld and %lld",
                         (long long)base->length, (long long)log->length,
                         (long long)plan->base_rows, (long long)plan->log_rows);
    }
    return SEAM_OK;
}

int seam_patch(const struct seam_plan *plan, const struct ArrowSchema *schema,
               const struct ArrowArray *base, const struct ArrowArray *log, int32_t *patched,
               struct seam_error *error) {
    struct seam_view base_view, log_view;
    *patched = 0;
    SEAM_TRY(check_rows(plan, base, log, error));
    SEAM_TRY(seam_view_of(schema, base, &base_view, error));
    SEAM_TRY(seam_view_of(schema, log, &log_view, error));
    if (base_view.validity != NULL || log_view.validity != NULL) {
        return SEAM_OK;
    }
    if (base_view.layout == SEAM_LAYOUT_VAR32) {
        int32_t length = shared_length(&base_view);
        if (length == 0 || (plan->replaced > 0 && shared_length(&log_view) != length)) {
            return SEAM_OK;
        }
        base_view = as_fixed(&base_view, length);
        if (plan->replaced > 0) {
            log_view = as_fixed(&log_view, length);
        }
    }
    if (base_view.layout == SEAM_LAYOUT_FIXED && base_view.width_bytes <= UNIFORM_MAX) {
        patch_fixed(plan, &base_view, &log_view);
        *patched = 1;
    }
    return SEAM_OK;
}

/* Copies `count` bits (NULL = all set) to bit `at` of `to`. */
static void copy_bits(uint8_t *to, int64_t at, const uint8_t *from, int64_t begin, int64_t count) {
    if (from == NULL) {
        seam_set_bits(to, at, count);
    } else {
        seam_copy_bits(to, at, from, begin, count);
    }
}

/* Puts the bits at `base` and `log` (NULL = all set) together in zeroed `to`. Returns the zeros. */
static int64_t merge_bits(const struct seam_plan *plan, const uint8_t *base, int64_t base_offset,
                          const uint8_t *log, int64_t log_offset, uint8_t *to) {
    int64_t at = 0;
    for (int64_t i = 0; i < plan->n_runs; i++) {
        const struct run *run = &plan->runs[i];
        copy_bits(to, at, base, base_offset + run->base_begin, run->base_count);
        at += run->base_count;
        if (run->log_row >= 0) {
            copy_bits(to, at++, log, log_offset + run->log_row, 1);
        }
    }
    return at - seam_count_bits(to, (at + 7) / 8);
}

static int new_bits(struct seam_allocator *allocator, int64_t rows, void **out,
                    struct seam_error *error) {
    return seam_alloc_zeros(allocator, (rows + 7) / 8, 1, out, error);
}

/* The view of a base column, whose dictionary there may be `words` of. */
static int base_view_of(const struct ArrowSchema *schema, const struct ArrowArray *base,
                        struct seam_view *view, struct seam_view *words, struct seam_error *error) {
    if (base->dictionary == NULL) {
        return seam_view_of(schema, base, view, error);
    }
    SEAM_TRY(seam_view_of(schema, base->dictionary, words, error));
    if (words->layout != SEAM_LAYOUT_VAR32 || words->validity != NULL) {
        return seam_fail(error, SEAM_UNSUPPORTED, -1,
                         "column '%s': only dictionaries of texts without nulls are spread",
                         schema->name == NULL ? "" : schema->name);
    }
    *view = *words;
    view->length = base->length;
    view->offset = base->offset;
    view->validity = base->null_count == 0 ? NULL : base->buffers[0];
    view->data = base->buffers[1];
    return SEAM_OK;
}

static int assemble_values(const struct seam_plan *plan, const struct seam_view *base,
                           const struct seam_view *words, const struct seam_view *log,
                           struct seam_allocator *allocator, void **buffers, const char *name,
                           struct seam_error *error) {
    if (words->data != NULL) {
        return seam_assemble_words(plan, base, words, log, allocator, buffers, name, error);
    }
    switch (base->layout) {
    case SEAM_LAYOUT_BITS:
        SEAM_TRY(new_bits(allocator, plan->rows, &buffers[1], error));
        merge_bits(plan, base->data, base->offset, log->data, log->offset, buffers[1]);
        return SEAM_OK;
    case SEAM_LAYOUT_FIXED:
        SEAM_TRY(
            seam_alloc(allocator, (size_t)(plan->rows * base->width_bytes), &buffers[1], error));
        copy_fixed(plan, base, log, buffers[1]);
        return SEAM_OK;
    default:
        return seam_assemble_text(plan, base, log, allocator, buffers, name, error);
    }
}

int seam_assemble(const struct seam_plan *plan, const struct ArrowSchema *schema,
                  const struct ArrowArray *base, const struct ArrowArray *log,
                  struct seam_allocator *allocator, struct ArrowArray *out,
                  struct seam_error *error) {
    struct seam_view base_view, log_view, words = {.data = NULL};
    void *buffers[3] = {NULL, NULL, NULL};
    int64_t nulls = 0;
    const char *name = schema->name == NULL ? "" : schema->name;
    int code = check_rows(plan, base, log, error);
    if (code == SEAM_OK) {
        code = base_view_of(schema, base, &base_view, &words, error);
    }
    if (code == SEAM_OK) {
        code = seam_view_of(schema, log, &log_view, error);
    }
    if (code == SEAM_OK && (base_view.validity != NULL || log_view.validity != NULL)) {
        code = new_bits(allocator, plan->rows, &buffers[0], error);
        if (code == SEAM_OK) {
            nulls = merge_bits(plan, base_view.validity, base_view.offset, log_view.validity,
                               log_view.offset, buffers[0]);
        }
    }
    if (code == SEAM_OK) {
        code =
            assemble_values(plan, &base_view, &words, &log_view, allocator, buffers, name, error);
    }
    if (code == SEAM_OK) {
        code = seam_array_build(allocator, plan->rows, nulls, base_view.offsets == NULL ? 2 : 3,
                                buffers, 0, NULL, out, error);
    }
    if (code != SEAM_OK) {
        for (int i = 0; i < 3; i++) {
            seam_free(buffers[i]);
        }
    }
    return code;
}
