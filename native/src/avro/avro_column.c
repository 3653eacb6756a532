/* Column builders of the Avro decoder. */
#include "avro/avro_internal.h"

#include "base/utf8.h"
#include "seam/arrow_build.h"

static int32_t width_of(const struct seam_avro_column *spec) {
    switch (spec->kind) {
    case SEAM_AVRO_TO_BOOL:
    case SEAM_AVRO_TO_STRUCT:
        return 0;
    case SEAM_AVRO_TO_INT32:
    case SEAM_AVRO_TO_FLOAT:
    case SEAM_AVRO_TO_BYTES: /* an offset */
    case SEAM_AVRO_TO_LIST:
    case SEAM_AVRO_TO_MAP:
    case SEAM_AVRO_TO_TAGGED:
        return 4;
    case SEAM_AVRO_TO_INT64:
    case SEAM_AVRO_TO_DOUBLE:
    case SEAM_AVRO_TO_DOUBLE_BY_TEXT:
        return 8;
    case SEAM_AVRO_TO_DECIMAL:
        return 16;
    default:
        return spec->size;
    }
}

int seam_builder_init(struct builder *builder, const struct seam_avro_column *spec, int32_t index,
                      struct seam_allocator *allocator, struct seam_error *error) {
    if (spec->kind < SEAM_AVRO_TO_BOOL || spec->kind > SEAM_AVRO_TO_STRUCT) {
        return seam_fail(error, SEAM_BAD_ARGUMENT, -1, "column %d has kind %d", index, spec->kind);
    }
    bool decimal = spec->kind == SEAM_AVRO_TO_DECIMAL;
    int32_t most = decimal ? 37 : spec->kind == SEAM_AVRO_TO_INT64 ? 18 : 0;
    if (spec->shift < 0 || spec->shift > most) {
        return seam_fail(error, SEAM_BAD_ARGUMENT, -1, "column %d has shift %d", index,
                         spec->shift);
    }
    bool sized = decimal || spec->kind == SEAM_AVRO_TO_FIXED;
    if ((sized && spec->size < 1) || (decimal && spec->size > 38)) {
        return seam_fail(error, SEAM_BAD_ARGUMENT, -1, "column %d has size %d", index, spec->size);
    }
    *builder = (struct builder){.spec = *spec, .width_bytes = width_of(spec), .bytes_room = -1};
    seam_buffer_init(&builder->values, allocator);
    seam_buffer_init(&builder->bytes, allocator);
    seam_buffer_init(&builder->validity, allocator);
    builder->scale = seam_power_of_ten(spec->shift);
    builder->factor = spec->shift <= 18 ? (int64_t)builder->scale : 0;
    if (decimal) {
        builder->limit = seam_power_of_ten(spec->size);
        bool short_cut = spec->shift == 0 && spec->size <= 18;
        builder->limit64 = short_cut ? (int64_t)builder->limit : 0;
    }
    return SEAM_OK;
}

void seam_builder_reset(struct builder *builder) {
    seam_buffer_reset(&builder->values);
    seam_buffer_reset(&builder->bytes);
    seam_buffer_reset(&builder->validity);
    builder->bytes_room = -1;
    builder->null_count = 0;
}

static bool has_offsets(const struct builder *builder) {
    int32_t kind = builder->spec.kind;
    return kind == SEAM_AVRO_TO_BYTES || kind == SEAM_AVRO_TO_LIST || kind == SEAM_AVRO_TO_MAP;
}

static int64_t bits_bytes(int64_t bits) {
    return (bits + 7) / 8;
}

/* Grows `buffer` to `size` bytes, the first `used` of which are kept. */
static int grow(struct seam_buffer *buffer, int64_t used, int64_t size, struct seam_error *error) {
    buffer->size_bytes = used;
    return size <= used ? SEAM_OK : seam_buffer_reserve(buffer, size - used, error);
}

/* A bitmap of ones for all rows there is room for: only nulls write into it. */
static int reserve_validity(struct builder *builder, int64_t row_capacity,
                            struct seam_error *error) {
    return seam_buffer_fill(&builder->validity, bits_bytes(row_capacity), 0xff, error);
}

/* Makes room for rows up to `row_capacity`, of which `rows` are written. */
static int reserve(struct builder *builder, int64_t rows, int64_t row_capacity,
                   struct seam_error *error) {
    struct seam_buffer *values = &builder->values;
    bool first = values->data == NULL;
    if (builder->spec.kind == SEAM_AVRO_TO_BOOL) {
        /* Only trues write into it. */
        SEAM_TRY(seam_buffer_fill(values, bits_bytes(row_capacity), 0, error));
    } else if (has_offsets(builder)) {
        SEAM_TRY(grow(values, first ? 0 : (rows + 1) * 4, (row_capacity + 1) * 4, error));
        if (first) {
            memset(values->data, 0, 4);
        }
    } else {
        SEAM_TRY(
            grow(values, rows * builder->width_bytes, row_capacity * builder->width_bytes, error));
    }
    if (builder->validity.data != NULL) {
        SEAM_TRY(reserve_validity(builder, row_capacity, error));
    }
    return SEAM_OK;
}

int seam_level_reserve(struct seam_avro_decoder *decoder, int32_t index, int64_t count,
                       struct seam_error *error) {
    struct level *level = &decoder->levels[index];
    int64_t needed = level->rows + count;
    if (needed > INT32_MAX) {
        return seam_fail(error, SEAM_TOO_LARGE, -1, "%lld %s in one decoder", (long long)needed,
                         index == 0 ? "records" : "items of a list or map");
    }
    level->first_row = level->rows;
    level->expected_rows = needed;
    if (needed <= level->row_capacity) {
        return SEAM_OK;
    }
    int64_t capacity = level->row_capacity * 2 > needed ? level->row_capacity * 2 : needed;
    for (int32_t i = 0; i < decoder->n_columns; i++) {
        if (decoder->builders[i].level == index) {
            SEAM_TRY(reserve(&decoder->builders[i], level->rows, capacity, error));
        }
    }
    level->row_capacity = capacity;
    return SEAM_OK;
}

int seam_builder_grow_bytes(const struct seam_avro_decoder *decoder, struct builder *builder,
                            int64_t row, int64_t size, struct seam_error *error) {
    const struct level *level = &decoder->levels[builder->level];
    struct seam_buffer *bytes = &builder->bytes;
    int64_t used = bytes->size_bytes;
    if (size > INT32_MAX - used) {
        return seam_fail(
            error, SEAM_TOO_LARGE, -1,
            "the text of one column passes 2 GiB; read fewer columns or smaller files");
    }
    int64_t wanted = size;
    if (bytes->data == NULL) {
        /* A first guess; what these rows take tells how much the others will. */
        int64_t rows = level->expected_rows - level->first_row;
        int64_t guess = rows < 2048 ? rows * 32 : 65536;
        wanted = guess > wanted ? guess : wanted;
    } else if (row > 0) {
        double per_row = (double)used / (double)row;
        double ahead = per_row * 1.02 * (double)(level->expected_rows - row);
        wanted += ahead < (double)INT32_MAX ? (int64_t)ahead : INT32_MAX;
    }
    int64_t most = INT32_MAX - used;
    int code = seam_buffer_reserve(bytes, (wanted < most ? wanted : most) + SLACK_BYTES, error);
    int64_t room = bytes->capacity_bytes - SLACK_BYTES;
    builder->bytes_room = room < INT32_MAX ? room : INT32_MAX; /* offsets have 32 bits */
    return code;
}

/* The value that stands where a column is null, or where a struct above it is. */
static int put_empty(const struct seam_avro_decoder *decoder, struct builder *builder, int64_t row,
                     struct seam_error *error) {
    if (has_offsets(builder)) {
        int64_t end = builder->spec.kind == SEAM_AVRO_TO_BYTES
                          ? builder->bytes.size_bytes
                          : decoder->levels[builder->items].rows;
        ((int32_t *)builder->values.data)[row + 1] = (int32_t)end;
    } else if (builder->width_bytes > 0) {
        memset(builder->values.data + row * builder->width_bytes, 0, (size_t)builder->width_bytes);
    } else if (builder->spec.kind == SEAM_AVRO_TO_STRUCT) {
        struct builder *child = builder + 1;
        for (int32_t i = 0; i < builder->spec.n_children; i++, child += 1 + child->n_below) {
            SEAM_TRY(child->spec.nullable ? seam_builder_put_null(decoder, child, row, error)
                                          : put_empty(decoder, child, row, error));
        }
    }
    return SEAM_OK;
}

int seam_builder_put_null(const struct seam_avro_decoder *decoder, struct builder *builder,
                          int64_t row, struct seam_error *error) {
    if (!builder->spec.nullable) {
        return seam_fail(error, SEAM_BAD_INPUT, -1, "a null in a column that allows none");
    }
    if (builder->validity.data == NULL) {
        SEAM_TRY(reserve_validity(builder, decoder->levels[builder->level].row_capacity, error));
    }
    builder->validity.data[row >> 3] &= (uint8_t)~(1u << (row & 7));
    builder->null_count++;
    return put_empty(decoder, builder, row, error);
}

/* Hands over the column itself, with the children that it takes over. */
static int finish_one(struct builder *builder, int64_t rows, int32_t n_children,
                      struct ArrowArray *children, struct ArrowArray *out,
                      struct seam_error *error) {
    bool text = builder->spec.kind == SEAM_AVRO_TO_BYTES;
    SEAM_TRY(reserve(builder, rows, rows > 0 ? rows : 1, error));
    if (text && builder->bytes.data == NULL) {
        SEAM_TRY(seam_buffer_reserve(&builder->bytes, SLACK_BYTES, error));
    }
    if (text && builder->spec.utf8) {
        int64_t row = seam_utf8_first_bad(builder->bytes.data, builder->values.data, rows, NULL);
        if (row < rows) {
            return seam_fail(error, SEAM_BAD_INPUT, -1, "the text of row %lld is not UTF-8",
                             (long long)row);
        }
    }
    struct seam_allocator *allocator = builder->values.allocator;
    void *buffers[3] = {builder->validity.data, builder->values.data, builder->bytes.data};
    int32_t n_buffers = text ? 3 : builder->spec.kind == SEAM_AVRO_TO_STRUCT ? 1 : 2;
    SEAM_TRY(seam_array_build(allocator, rows, builder->null_count, n_buffers, buffers, n_children,
                              children, out, error));
    /* The array has the blocks now. */
    seam_buffer_init(&builder->values, allocator);
    seam_buffer_init(&builder->bytes, allocator);
    seam_buffer_init(&builder->validity, allocator);
    builder->bytes_room = -1;
    builder->null_count = 0;
    return SEAM_OK;
}

static int finish_nested(const struct seam_avro_decoder *decoder, struct builder *builder,
                         struct ArrowArray *children, struct ArrowArray *out,
                         struct seam_error *error) {
    struct builder *child = builder + 1;
    int32_t count = builder->spec.n_children;
    for (int32_t i = 0; i < count; i++, child += 1 + child->n_below) {
        SEAM_TRY(seam_builder_finish(decoder, child, &children[i], error));
    }
    if (builder->spec.kind == SEAM_AVRO_TO_MAP) {
        SEAM_TRY(seam_array_build_entries(decoder->allocator, children, error));
        count = 1;
    }
    return finish_one(builder, decoder->levels[builder->level].rows, count, children, out, error);
}

int seam_builder_finish(const struct seam_avro_decoder *decoder, struct builder *builder,
                        struct ArrowArray *out, struct seam_error *error) {
    int32_t n_children = builder->spec.n_children;
    if (n_children == 0) {
        return finish_one(builder, decoder->levels[builder->level].rows, 0, NULL, out, error);
    }
    struct ArrowArray *children;
    SEAM_TRY(seam_arrays_new(decoder->allocator, n_children, &children, error));
    return seam_arrays_end(children, n_children,
                           finish_nested(decoder, builder, children, out, error));
}
