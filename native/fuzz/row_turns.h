/* Rows to Arrow and back, for a test and a fuzz target: what was read can be written, and what was
 * written reads as the same bytes again. */
#ifndef SEAM_ROW_TURNS_H
#define SEAM_ROW_TURNS_H

#include "seam/arrow_build.h"
#include "seam/compact_row.h"
#include "seam/unsafe_row.h"

#include <stdlib.h>
#include <string.h>

enum row_format { ROWS_SPARK, ROWS_VELOX, ROWS_COMPACT, N_ROW_FORMATS };

enum { SCHEMA_NODES = 512 };

/* Arrow schemas of row types, in one piece. */
struct schema_pool {
    int used;
    struct ArrowSchema nodes[SCHEMA_NODES];
    struct ArrowSchema *pointers[SCHEMA_NODES];
};

static inline struct ArrowSchema *schema_take(struct schema_pool *pool, const char *format,
                                              int n_children) {
    if (pool->used + 1 + n_children > SCHEMA_NODES) {
        abort();
    }
    int first = pool->used;
    pool->used += 1 + n_children;
    struct ArrowSchema *schema = &pool->nodes[first];
    *schema = (struct ArrowSchema){.format = format,
                                   .name = "",
                                   .n_children = n_children,
                                   .children = &pool->pointers[first + 1]};
    return schema;
}

static inline struct ArrowSchema *schema_of(struct schema_pool *pool,
                                            const struct seam_row_type *type) {
    static const char *const FIXED[] = {[1] = "c", [2] = "s", [4] = "i", [8] = "l"};
    static const char *const FORMATS[] = {"n", "b",  "",   "d:38,0", "d:38,0", "u",
                                          "z", "+s", "+l", "+m",     "+s"};
    const char *format =
        type->kind == SEAM_ROW_FIXED ? FIXED[type->width_bytes] : FORMATS[type->kind];
    if (type->kind == SEAM_ROW_CALENDAR) {
        struct ArrowSchema *schema = schema_take(pool, format, 3);
        schema->children[0] = schema_take(pool, "i", 0);
        schema->children[1] = schema_take(pool, "i", 0);
        schema->children[2] = schema_take(pool, "l", 0);
        return schema;
    }
    struct ArrowSchema *map = type->kind == SEAM_ROW_MAP ? schema_take(pool, format, 1) : NULL;
    struct ArrowSchema *schema = schema_take(pool, map == NULL ? format : "+s", type->n_children);
    for (int32_t i = 0; i < type->n_children; i++) {
        schema->children[i] = schema_of(pool, &type->children[i]);
    }
    if (map == NULL) {
        return schema;
    }
    map->children[0] = schema;
    return map;
}

static inline int rows_read(enum row_format format, struct seam_allocator *allocator,
                            const struct seam_row_type *root, const struct seam_row_frames *frames,
                            struct ArrowArray *out, struct seam_error *error) {
    return format == ROWS_COMPACT ? seam_compact_row_read(allocator, root, frames, out, error)
                                  : seam_unsafe_row_read(allocator, root, frames, out, error);
}

/* Writes an array with lengths before the rows into a block of just the size; the caller frees
 * `*out`. */
static inline int rows_write(enum row_format format, struct seam_allocator *allocator,
                             const struct seam_row_type *root, const struct ArrowArray *array,
                             uint8_t **out, int64_t *size_bytes, struct seam_error *error) {
    static struct schema_pool pool;
    struct seam_row_input *input;
    struct seam_row_choice choice = {.count = array->length};
    enum seam_unsafe_writer writer = format == ROWS_VELOX ? SEAM_UNSAFE_VELOX : SEAM_UNSAFE_SPARK;
    pool.used = 0;
    int64_t *starts = malloc((size_t)(array->length + 1) * sizeof *starts);
    *out = NULL;
    int code = seam_row_input_new(allocator, root, schema_of(&pool, root), array, &input, error);
    if (code == SEAM_OK) {
        code = format == ROWS_COMPACT
                   ? seam_compact_row_layout(input, &choice, 4, starts, error)
                   : seam_unsafe_row_layout(input, writer, &choice, 4, starts, error);
        if (code == SEAM_OK) {
            *size_bytes = starts[array->length] - 4;
            *out = malloc((size_t)*size_bytes);
            memset(*out, 0xAA, (size_t)*size_bytes);
            code = format == ROWS_COMPACT
                       ? seam_compact_row_write(input, &choice, 4, starts, *out, error)
                       : seam_unsafe_row_write(input, writer, &choice, 4, starts, *out, error);
        }
        seam_row_input_free(input);
    }
    free(starts);
    return code;
}

/* Writes an array, reads that and writes it again: both times the bytes must be the same. */
static inline int rows_turn(enum row_format format, struct seam_allocator *allocator,
                            const struct seam_row_type *root, const struct ArrowArray *array,
                            struct seam_error *error) {
    uint8_t *once, *twice = NULL;
    int64_t once_bytes = 0, twice_bytes = 0;
    struct ArrowArray back = {.release = NULL};
    int code = rows_write(format, allocator, root, array, &once, &once_bytes, error);
    struct seam_row_frames frames = {.data = once, .size_bytes = once_bytes};
    if (code == SEAM_OK) {
        code = seam_row_frames_count(once, once_bytes, &frames.count, error);
    }
    if (code == SEAM_OK) {
        code = rows_read(format, allocator, root, &frames, &back, error);
    }
    if (code == SEAM_OK) {
        code = rows_write(format, allocator, root, &back, &twice, &twice_bytes, error);
    }
    if (code == SEAM_OK && (back.length != array->length || once_bytes != twice_bytes ||
                            (once_bytes > 0 && memcmp(once, twice, (size_t)once_bytes) != 0))) {
        abort();
    }
    seam_array_release(&back);
    free(once);
    free(twice);
    return code;
}

#endif
