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
    SEAM_TRY(seam_alloc(allocator, ((size_t)plan->rows + 1) * width, &buffers[1], error));
    SEAM_TRY(seam_alloc(allocator, (size_t)total, &buffers[2], error));
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

/* Written once and compiled twice, for columns with nulls and without. */
#define ALWAYS_INLINE static inline __attribute__((always_inline))

/* A dictionary-encoded column, and its words in a block with WORD_BYTES behind the last one. Handed
 * over by value: the bytes that are written could otherwise be these pointers, for all that a
 * compiler knows. */
struct encoded {
    const uint8_t *validity; /* NULL: no nulls */
    int64_t offset;          /* of the validity's first bit */
    const int32_t *numbers;
    const int32_t *offsets;
    const uint8_t *bytes;
    uint32_t n_words;
};

/* Whether a row has a word: the number of a null means nothing. */
ALWAYS_INLINE bool has_word(const struct encoded encoded, int64_t row, bool nulls) {
    return !nulls || seam_bit(encoded.validity, encoded.offset + row);
}

/* The size of a row's word, and where it lies. */
ALWAYS_INLINE int32_t word_of(const struct encoded encoded, int64_t row, bool nulls,
                              const uint8_t **bytes) {
    *bytes = encoded.bytes;
    if (!has_word(encoded, row, nulls)) {
        return 0;
    }
    const int32_t *word = encoded.offsets + encoded.numbers[row];
    *bytes += word[0];
    return word[1] - word[0];
}

/* Whether all numbers have a word. Those of rows that are left out are looked at, too: one loop
 * over all is faster. */
ALWAYS_INLINE bool all_known(const struct encoded encoded, int64_t rows, bool nulls) {
    uint32_t bad = 0;
    for (int64_t row = 0; row < rows; row++) {
        bad |= has_word(encoded, row, nulls) & ((uint32_t)encoded.numbers[row] >= encoded.n_words);
    }
    return bad == 0;
}

/* Bytes of the base rows, but those that are replaced or gone, and of the log's. */
ALWAYS_INLINE int64_t total_word_bytes(const struct seam_plan *plan, const struct encoded encoded,
                                       const struct seam_view *log, bool nulls) {
    const uint8_t *ignored;
    int64_t total = 0;
    for (int64_t row = 0; row < plan->base_rows; row++) {
        total += word_of(encoded, row, nulls, &ignored);
    }
    for (int64_t i = 0; i < plan->n_runs; i++) {
        const struct run *run = &plan->runs[i];
        int64_t next = (int64_t)run->base_begin + run->base_count;
        total -= next < plan->base_rows ? word_of(encoded, next, nulls, &ignored) : 0;
        if (run->log_row >= 0) {
            total += seam_view_bytes(log, run->log_row, &ignored);
        }
    }
    return total;
}

/* Copies a word with what lies behind it, as sizes that change from row to row are what costs. */
static inline void copy_word(uint8_t *to, const uint8_t *from, int64_t size) {
    memcpy(to, from, WORD_BYTES);
    if (size > WORD_BYTES) {
        memcpy(to + WORD_BYTES, from + WORD_BYTES, (size_t)(size - WORD_BYTES));
    }
}

ALWAYS_INLINE void copy_words(const struct seam_plan *plan, const struct encoded encoded,
                              const struct seam_view log, bool nulls, int32_t *offsets,
                              uint8_t *pool) {
    const uint8_t *from, *end = seam_view_bytes_end(&log);
    int64_t at = 0;
    *offsets = 0;
    for (int64_t i = 0; i < plan->n_runs; i++) {
        const struct run run = plan->runs[i];
        prefetch_text(plan, &log, i, sizeof(int32_t));
        for (int64_t row = run.base_begin; row < (int64_t)run.base_begin + run.base_count; row++) {
            int64_t size = word_of(encoded, row, nulls, &from);
            copy_word(pool + at, from, size);
            at += size;
            *++offsets = (int32_t)at;
        }
        if (run.log_row >= 0) {
            int64_t size = seam_view_bytes(&log, run.log_row, &from);
            if (end - from >= WORD_BYTES) {
                copy_word(pool + at, from, size);
            } else {
                copy_short(pool + at, from, size);
            }
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
    SEAM_TRY(seam_alloc(allocator, size + WORD_BYTES, &block, error));
    *out = block;
    memcpy(*out, words->data, size);
    memset(*out + size, 0, WORD_BYTES);
    return SEAM_OK;
}

ALWAYS_INLINE int spread_words(const struct seam_plan *plan, const struct encoded encoded,
                               const struct seam_view *log, struct seam_allocator *allocator,
                               bool nulls, void **buffers, const char *name,
                               struct seam_error *error) {
    if (!all_known(encoded, plan->base_rows, nulls)) {
        return seam_fail(error, SEAM_BAD_INPUT, -1,
                         "column '%s': a row has a number that its dictionary lacks", name);
    }
    int64_t total = total_word_bytes(plan, encoded, log, nulls);
    if (total > INT32_MAX) {
        return too_much_text(plan, total, name, error);
    }
    int code =
        seam_alloc(allocator, ((size_t)plan->rows + 1) * sizeof(int32_t), &buffers[1], error);
    if (code == SEAM_OK) {
        code = seam_alloc(allocator, (size_t)total + WORD_BYTES, &buffers[2], error);
    }
    if (code == SEAM_OK) {
        copy_words(plan, encoded, *log, nulls, buffers[1], buffers[2]);
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
            .validity = base->validity,
            .offset = base->offset,
            .numbers = (const int32_t *)(const void *)base->data + base->offset,
            .offsets = (const int32_t *)words->offsets + words->offset,
            .bytes = bytes,
            .n_words = (uint32_t)words->length,
        };
        code = base->validity == NULL
                   ? spread_words(plan, encoded, log, allocator, false, buffers, name, error)
                   : spread_words(plan, encoded, log, allocator, true, buffers, name, error);
    }
    seam_free(bytes);
    return code;
}
