/* Columns of texts: base rows that stay, log rows that replace. */
#include "merge/assemble_internal.h"

#include <string.h>

/* Bytes that the kept base rows and the log rows of a VAR column have together. */
static int64_t total_bytes(const struct seam_plan *plan, const struct seam_view *base,
                           const struct seam_view *log) {
    const uint8_t *ignored;
    int64_t total = 0;
    for (int64_t i = 0; i < plan->n_runs; i++) {
        const struct run *run = &plan->runs[i];
        if (run->base_count > 0) {
            const uint8_t *first, *last;
            seam_view_bytes(base, run->base_begin, &first);
            int64_t size =
                seam_view_bytes(base, (int64_t)run->base_begin + run->base_count - 1, &last);
            total += last + size - first;
        }
        if (run->log_row >= 0) {
            total += seam_view_bytes(log, run->log_row, &ignored);
        }
    }
    return total;
}

/* Strings are short and so are runs: a few overlapping moves beat a call of memcpy. */
static inline void copy_short(uint8_t *to, const uint8_t *from, int64_t size) {
    if (size > 64) {
        memcpy(to, from, (size_t)size);
    } else if (size >= 8) {
        for (int64_t at = 0; at < size - 8; at += 8) {
            memcpy(to + at, from + at, 8);
        }
        memcpy(to + size - 8, from + size - 8, 8);
    } else if (size >= 4) {
        memcpy(to, from, 4);
        memcpy(to + size - 4, from + size - 4, 4);
    } else if (size > 0) {
        to[0] = from[0];
        to[size / 2] = from[size / 2];
        to[size - 1] = from[size - 1];
    }
}

/* A text takes two looks, the second at an address that the first one yields: offsets are asked for
 * early, bytes once their offset should have arrived. */
static inline void prefetch_text(const struct seam_plan *plan, const struct seam_view *log,
                                 int64_t i, size_t width) {
    const uint8_t *offsets = (const uint8_t *)log->offsets + (size_t)log->offset * width;
    __builtin_prefetch(offsets + (size_t)log_row_ahead(plan, i) * width);
    int64_t near = i + AHEAD / 2 < plan->n_runs ? i + AHEAD / 2 : i;
    const uint8_t *bytes;
    if (plan->runs[near].log_row >= 0) {
        seam_view_bytes(log, plan->runs[near].log_row, &bytes);
        __builtin_prefetch(bytes);
    }
}

/* Defines a function per width of offset: the base run's offsets are shifted, its bytes copied at
 * once, then the log row follows. Empty arrays may lack buffers, hence the test for empty runs. */
#define COPY_VAR(OFFSET)                                                                           \
    static void copy_var_##OFFSET(const struct seam_plan *plan, const struct seam_view *base,      \
                                  const struct seam_view *log, OFFSET *offsets, uint8_t *pool) {   \
        int64_t at = 0;                                                                            \
        *offsets = 0;                                                                              \
        for (int64_t i = 0; i < plan->n_runs; i++) {                                               \
            const struct run *run = &plan->runs[i];                                                \
            prefetch_text(plan, log, i, sizeof(OFFSET));                                           \
            if (run->base_count > 0) {                                                             \
                const OFFSET *of = (const OFFSET *)base->offsets + base->offset + run->base_begin; \
                int64_t shift = at - of[0];                                                        \
                for (int32_t k = 1; k <= run->base_count; k++) {                                   \
                    *++offsets = (OFFSET)(of[k] + shift);                                          \
                }                                                                                  \
                copy_short(pool + at, base->data + of[0], of[run->base_count] - of[0]);            \
                at += of[run->base_count] - of[0];                                                 \
            }                                                                                      \
            if (run->log_row >= 0) {                                                               \
                const OFFSET *of = (const OFFSET *)log->offsets + log->offset + run->log_row;      \
                copy_short(pool + at, log->data + of[0], of[1] - of[0]);                           \
                at += of[1] - of[0];                                                               \
                *++offsets = (OFFSET)at;                                                           \
            }                                                                                      \
        }                                                                                          \
    }

COPY_VAR(int32_t)
COPY_VAR(int64_t)

static int too_much_text(const struct seam_plan *plan, int64_t total, const char *name,
                         struct seam_error *error) {
    return seam_fail(error, SEAM_TOO_LARGE, -1,
                     "column '%s': a batch of %lld rows would hold %lld bytes of text; "
                     "use a smaller batch size",
                     name, (long long)plan->rows, (long long)total);
}

int seam_assemble_text(const struct seam_plan *plan, const struct seam_view *base,
                       const struct seam_view *log, struct seam_allocator *allocator,
                       void **buffers, const char *name, struct seam_error *error) {
    bool narrow = base->layout == SEAM_LAYOUT_VAR32;
    size_t width = narrow ? sizeof(int32_t) : sizeof(int64_t);
    int64_t total = total_bytes(plan, base, log);
    if (narrow && total > INT32_MAX) {
        return too_much_text(plan, total, name, error);
    }
    int code = seam_alloc(allocator, ((size_t)plan->rows + 1) * width, &buffers[1], error);
    if (code == SEAM_OK) {
        code = seam_alloc(allocator, (size_t)total, &buffers[2], error);
    }
    if (code != SEAM_OK) {
        return code;
    }
    if (narrow) {
        copy_var_int32_t(plan, base, log, buffers[1], buffers[2]);
    } else {
        copy_var_int64_t(plan, base, log, buffers[1], buffers[2]);
    }
    return SEAM_OK;
}

/* Words are copied with their neighbours up to this size, which costs less than asking for theirs.
 */
enum { WORD_BYTES = 32 };

/* A dictionary-encoded column, and its words in a block with WORD_BYTES behind the last one. */
struct encoded {
    const struct seam_view *base;
    const int32_t *numbers;
    const int32_t *offsets;
    const uint8_t *bytes;
    uint32_t n_words;
};

/* A null has no bytes; its number means nothing. */
static inline int64_t word_of(const struct encoded *encoded, int64_t row, const uint8_t **bytes) {
    if (!seam_view_valid(encoded->base, row)) {
        *bytes = encoded->bytes;
        return 0;
    }
    int32_t number = encoded->numbers[row];
    *bytes = encoded->bytes + encoded->offsets[number];
    return encoded->offsets[number + 1] - encoded->offsets[number];
}

/* The bytes of all rows that stay and of the log's, or -1 if a number has no word. */
static int64_t total_word_bytes(const struct seam_plan *plan, const struct encoded *encoded,
                                const struct seam_view *log) {
    const uint8_t *ignored;
    int64_t total = 0;
    for (int64_t i = 0; i < plan->n_runs; i++) {
        const struct run *run = &plan->runs[i];
        int64_t end = (int64_t)run->base_begin + run->base_count;
        for (int64_t row = run->base_begin; row < end; row++) {
            if (seam_view_valid(encoded->base, row)) {
                if ((uint32_t)encoded->numbers[row] >= encoded->n_words) {
                    return -1;
                }
                total += word_of(encoded, row, &ignored);
            }
        }
        if (run->log_row >= 0) {
            total += seam_view_bytes(log, run->log_row, &ignored);
        }
    }
    return total;
}

static void copy_words(const struct seam_plan *plan, const struct encoded *encoded,
                       const struct seam_view *log, int32_t *offsets, uint8_t *pool) {
    int64_t at = 0;
    *offsets = 0;
    for (int64_t i = 0; i < plan->n_runs; i++) {
        const struct run *run = &plan->runs[i];
        prefetch_text(plan, log, i, sizeof(int32_t));
        const uint8_t *from;
        for (int64_t k = 0; k < run->base_count; k++) {
            int64_t size = word_of(encoded, run->base_begin + k, &from);
            memcpy(pool + at, from, WORD_BYTES);
            if (size > WORD_BYTES) {
                memcpy(pool + at + WORD_BYTES, from + WORD_BYTES, (size_t)(size - WORD_BYTES));
            }
            at += size;
            *++offsets = (int32_t)at;
        }
        if (run->log_row >= 0) {
            int64_t size = seam_view_bytes(log, run->log_row, &from);
            copy_short(pool + at, from, size);
            at += size;
            *++offsets = (int32_t)at;
        }
    }
}

/* The words' bytes, from the first one's on, in a block of their own. */
static int copy_dictionary(struct seam_allocator *allocator, const struct seam_view *words,
                           uint8_t **out, struct seam_error *error) {
    const int32_t *offsets = (const int32_t *)words->offsets + words->offset;
    size_t size = words->length == 0 ? 0 : (size_t)offsets[words->length];
    void *block;
    int code = seam_alloc(allocator, size + WORD_BYTES, &block, error);
    if (code == SEAM_OK) {
        *out = block;
        memcpy(*out, words->data, size);
        memset(*out + size, 0, WORD_BYTES);
    }
    return code;
}

static int spread_words(const struct seam_plan *plan, const struct encoded *encoded,
                        const struct seam_view *log, struct seam_allocator *allocator,
                        void **buffers, const char *name, struct seam_error *error) {
    int64_t total = total_word_bytes(plan, encoded, log);
    if (total < 0) {
        return seam_fail(error, SEAM_BAD_INPUT, -1,
                         "column '%s': a row has a number that its dictionary lacks", name);
    }
    if (total > INT32_MAX) {
        return too_much_text(plan, total, name, error);
    }
    int code =
        seam_alloc(allocator, ((size_t)plan->rows + 1) * sizeof(int32_t), &buffers[1], error);
    if (code == SEAM_OK) {
        code = seam_alloc(allocator, (size_t)total + WORD_BYTES, &buffers[2], error);
    }
    if (code == SEAM_OK) {
        copy_words(plan, encoded, log, buffers[1], buffers[2]);
    }
    return code;
}

int seam_assemble_words(const struct seam_plan *plan, const struct seam_view *base,
                        const struct seam_view *words, const struct seam_view *log,
                        struct seam_allocator *allocator, void **buffers, const char *name,
                        struct seam_error *error) {
    uint8_t *bytes = NULL;
    int code = copy_dictionary(allocator, words, &bytes, error);
    if (code == SEAM_OK) {
        struct encoded encoded = {
            .base = base,
            .numbers = (const int32_t *)(const void *)base->data + base->offset,
            .offsets = (const int32_t *)words->offsets + words->offset,
            .bytes = bytes,
            .n_words = (uint32_t)words->length,
        };
        code = spread_words(plan, &encoded, log, allocator, buffers, name, error);
    }
    seam_free(bytes);
    return code;
}
