#include "seam/vector.h"

#include "offheap/engine_buffers.h" /* seam_flags_count */

#include <string.h>

void seam_vector_reset(struct seam_vector *vector) {
    for (int32_t i = 0; i < vector->n_children; i++) {
        seam_vector_reset(&vector->children[i]);
    }
    seam_free(vector->children);
    seam_free(vector->nulls);
    seam_free(vector->data);
    seam_free(vector->offsets);
    seam_free(vector->bytes);
    *vector = (struct seam_vector){
        .type = vector->type, .width = vector->width, .allocator = vector->allocator};
}

/* Replaces a block by one of `size_bytes`, to which what is in use of it moves. */
static int resize(struct seam_vector *vector, void **block, int64_t used_bytes, int64_t size_bytes,
                  struct seam_error *error) {
    void *fresh = NULL;
    SEAM_TRY(seam_alloc(vector->allocator, (size_t)size_bytes, &fresh, error));
    if (*block != NULL && used_bytes > 0) {
        memcpy(fresh, *block, (size_t)used_bytes);
    }
    seam_free(*block);
    *block = fresh;
    return SEAM_OK;
}

static int resize_bytes(struct seam_vector *vector, int64_t size_bytes, struct seam_error *error) {
    void *block = vector->bytes;
    SEAM_TRY(resize(vector, &block, vector->offsets[vector->rows], size_bytes, error));
    vector->bytes = block;
    vector->bytes_capacity = size_bytes;
    return SEAM_OK;
}

static int resize_nulls(struct seam_vector *vector, int64_t capacity, struct seam_error *error) {
    void *block = vector->nulls;
    SEAM_TRY(resize(vector, &block, vector->rows, capacity, error));
    vector->nulls = block;
    memset(vector->nulls + vector->rows, 0, (size_t)(capacity - vector->rows));
    return SEAM_OK;
}

static int resize_data(struct seam_vector *vector, int64_t capacity, struct seam_error *error) {
    void *block = vector->data;
    int64_t width = vector->width;
    SEAM_TRY(resize(vector, &block, vector->rows * width, capacity * width, error));
    vector->data = block;
    return SEAM_OK;
}

static int resize_offsets(struct seam_vector *vector, int64_t capacity, struct seam_error *error) {
    enum { ENTRY = sizeof(int32_t) };
    void *block = vector->offsets;
    SEAM_TRY(resize(vector, &block, (vector->rows + 1) * ENTRY, (capacity + 1) * ENTRY, error));
    vector->offsets = block;
    vector->offsets[0] = 0;
    return SEAM_OK;
}

/* Rows of arrays and maps are found like strings, only that their bytes are a child's rows. */
static int is_offset_kind(int32_t kind) {
    return seam_column_has_offsets(kind) || kind == SEAM_COLUMN_ARRAY || kind == SEAM_COLUMN_MAP;
}

/* Grows each buffer. If one fails those before it are larger than they say, which harms nobody. */
static int resize_rows(struct seam_vector *vector, int64_t capacity, struct seam_error *error) {
    int32_t kind = vector->type.kind;
    SEAM_TRY(kind == SEAM_COLUMN_UNKNOWN ? SEAM_OK : resize_nulls(vector, capacity, error));
    if (vector->width > 0) {
        SEAM_TRY(resize_data(vector, capacity, error));
    }
    if (is_offset_kind(kind)) {
        SEAM_TRY(resize_offsets(vector, capacity, error));
    }
    vector->capacity = capacity;
    return SEAM_OK;
}

static int check_limit(const struct seam_vector *vector, int64_t wanted, const char *unit,
                       struct seam_error *error) {
    if (wanted < 0 || wanted > SEAM_VECTOR_LIMIT) {
        return seam_fail(
            error, SEAM_TOO_LARGE, -1, "a %s column cannot hold %lld %s; the limit is %d",
            seam_column_kind_name(vector->type.kind), (long long)wanted, unit, SEAM_VECTOR_LIMIT);
    }
    return SEAM_OK;
}

static int64_t grown(int64_t wanted) {
    return wanted > SEAM_VECTOR_LIMIT / 2 ? SEAM_VECTOR_LIMIT : 2 * wanted;
}

int seam_vector_reserve(struct seam_vector *vector, int64_t capacity, struct seam_error *error) {
    SEAM_TRY(check_limit(vector, capacity, "rows", error));
    if (capacity > vector->capacity) {
        SEAM_TRY(resize_rows(vector, grown(capacity), error));
    }
    return SEAM_OK;
}

int seam_vector_reserve_bytes(struct seam_vector *vector, int64_t total_bytes,
                              struct seam_error *error) {
    SEAM_TRY(check_limit(vector, total_bytes, "bytes", error));
    if (total_bytes > vector->bytes_capacity) {
        SEAM_TRY(resize_bytes(vector, grown(total_bytes), error));
    }
    return SEAM_OK;
}

static int init_tree(struct seam_vector *vector, const struct seam_column_type *type,
                     int64_t capacity, struct seam_allocator *allocator, struct seam_error *error);

static int init_children(struct seam_vector *vector, int64_t capacity, struct seam_error *error) {
    int32_t count = 0;
    const struct seam_column_type *types = seam_column_children(&vector->type, &count);
    if (count == 0) {
        return SEAM_OK;
    }
    void *block = NULL;
    int code =
        seam_alloc(vector->allocator, (size_t)count * sizeof(struct seam_vector), &block, error);
    vector->children = block;
    while (code == SEAM_OK && vector->n_children < count) {
        int32_t i = vector->n_children;
        code = init_tree(&vector->children[i], &types[i], capacity, vector->allocator, error);
        vector->n_children += code == SEAM_OK;
    }
    return code;
}

static int init_tree(struct seam_vector *vector, const struct seam_column_type *type,
                     int64_t capacity, struct seam_allocator *allocator, struct seam_error *error) {
    *vector = (struct seam_vector){
        .type = *type, .width = seam_column_width(type->kind), .allocator = allocator};
    int code = resize_rows(vector, capacity, error);
    if (code == SEAM_OK && seam_column_has_offsets(type->kind)) {
        int64_t wanted = capacity * SEAM_DEFAULT_STRING_BYTES;
        code = resize_bytes(vector, wanted < SEAM_VECTOR_LIMIT ? wanted : SEAM_VECTOR_LIMIT, error);
    }
    if (code == SEAM_OK) {
        code = init_children(vector, capacity, error);
    }
    if (code != SEAM_OK) {
        seam_vector_reset(vector);
    }
    return code;
}

int seam_vector_init(struct seam_vector *vector, const struct seam_column_type *type,
                     int64_t capacity, struct seam_allocator *allocator, struct seam_error *error) {
    *vector = (struct seam_vector){.type = *type, .allocator = allocator};
    SEAM_TRY(seam_column_type_check(type, error));
    SEAM_TRY(check_limit(vector, capacity, "rows", error));
    return init_tree(vector, type, capacity, allocator, error);
}

struct seam_vector *seam_vector_child(struct seam_vector *vector, int64_t index) {
    return index < 0 || index >= vector->n_children ? NULL : &vector->children[index];
}

/* `rows` is not more than there are, and so it is in every child. */
static void truncate_tree(struct seam_vector *vector, int64_t rows) {
    int64_t child_rows = rows;
    if (vector->offsets != NULL) {
        child_rows = vector->offsets[rows];
    }
    for (int32_t i = 0; i < vector->n_children; i++) {
        struct seam_vector *child = &vector->children[i];
        truncate_tree(child, child_rows < child->rows ? child_rows : child->rows);
    }
    if (vector->nulls != NULL) { /* flags behind the last row are 0, as after reserve */
        memset(vector->nulls + rows, 0, (size_t)(vector->rows - rows));
    }
    vector->rows = rows;
}

int64_t seam_vector_null_count(const struct seam_vector *vector) {
    return vector->nulls == NULL ? 0 : seam_flags_count(vector->nulls, vector->rows);
}

int seam_vector_truncate(struct seam_vector *vector, int64_t rows, struct seam_error *error) {
    if (rows < 0 || rows > vector->rows) {
        return seam_fail(error, SEAM_BAD_ARGUMENT, -1, "%lld rows cannot become %lld",
                         (long long)vector->rows, (long long)rows);
    }
    truncate_tree(vector, rows);
    return SEAM_OK;
}
