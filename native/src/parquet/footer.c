#include "seam/parquet.h"

#include "compact.h"

enum {
    MOST_CODEC = 7, /* LZ4_RAW */
};

/* Numbers of fields in parquet.thrift. */
enum {
    FOOTER_ROW_GROUPS = 4,
    GROUP_COLUMNS = 1,
    CHUNK_METADATA = 3,
    CHUNK_CRYPTO = 8,
    METADATA_TYPE = 1,
    METADATA_CODEC = 4,
    METADATA_STATISTICS = 12,
    METADATA_SIZES = 16,
    STATISTICS_NULLS = 3,
    STATISTICS_DISTINCT = 4,
    STATISTICS_LEAST = 6, /* the last of the bounds, which have all numbers but the two above */
    SIZES_UNENCODED = 1,
    SIZES_REPETITION = 2,
    SIZES_DEFINITION = 3,
};

static int histogram(struct compact *in, const struct compact_field *field, int32_t max_level,
                     const char *what) {
    struct compact ahead = *in;
    int32_t type = 0;
    uint64_t count = 0;
    int code = field->type == LIST ? compact_list_head(&ahead, &type, &count)
                                   : compact_fail(in, SEAM_BAD_INPUT, "a histogram is no list");
    if (code == SEAM_OK && count && count != (uint64_t)max_level + 1) {
        return compact_fail(in, SEAM_BAD_INPUT, what);
    }
    return code ? code : compact_skip(in, LIST, 0, 0);
}

static int check_sizes(struct compact *in, const struct seam_parquet_leaf *leaf) {
    struct compact_field field = {0, 0};
    int code = compact_next_field(in, &field);
    while (code == SEAM_OK && field.type) {
        if (field.number == SIZES_UNENCODED && leaf->physical_type != SEAM_PARQUET_BYTE_ARRAY) {
            return compact_fail(in, SEAM_BAD_INPUT,
                                "bytes of texts are counted where there are none");
        }
        if (field.number == SIZES_REPETITION) {
            code = histogram(in, &field, leaf->max_repetition,
                             "its histogram of repetition levels has another length");
        } else if (field.number == SIZES_DEFINITION) {
            code = histogram(in, &field, leaf->max_definition,
                             "its histogram of definition levels has another length");
        } else {
            code = compact_skip(in, field.type, 0, 0);
        }
        code = code ? code : compact_next_field(in, &field);
    }
    return code;
}

/* Bounds are values in the plain encoding, without a length before them; an empty one is none. */
static int check_statistics(struct compact *in, const struct seam_parquet_leaf *leaf) {
    struct compact_field field = {0, 0};
    int code = compact_next_field(in, &field);
    while (code == SEAM_OK && field.type) {
        int is_bound = field.number <= STATISTICS_LEAST && field.number != STATISTICS_NULLS &&
                       field.number != STATISTICS_DISTINCT;
        if (is_bound && field.type == BINARY) {
            uint64_t size_bytes = 0;
            code = compact_varint(in, &size_bytes);
            if (code == SEAM_OK && size_bytes && size_bytes < (uint64_t)leaf->value_bytes) {
                return compact_fail(in, SEAM_BAD_INPUT,
                                    "a bound is shorter than a value of its type");
            }
            code = code ? code : compact_take(in, size_bytes);
        } else {
            code = compact_skip(in, field.type, 0, 0);
        }
        code = code ? code : compact_next_field(in, &field);
    }
    return code;
}

static int check_type(struct compact *in, const struct seam_parquet_leaf *leaf) {
    int64_t type = 0;
    int code = compact_integer(in, &type);
    if (code == SEAM_OK && type != leaf->physical_type) {
        return compact_fail(in, SEAM_BAD_INPUT, "it is of another type than the schema's column");
    }
    return code;
}

static int check_codec(struct compact *in) {
    int64_t codec = 0;
    int code = compact_integer(in, &codec);
    if (code == SEAM_OK && (codec < 0 || codec > MOST_CODEC)) {
        return compact_fail(in, SEAM_UNSUPPORTED, "its codec is not known");
    }
    return code;
}

static int check_metadata(struct compact *in, const struct seam_parquet_leaf *leaf) {
    struct compact_field field = {0, 0};
    int has_type = 0;
    int code = compact_next_field(in, &field);
    while (code == SEAM_OK && field.type) {
        if (field.number == METADATA_TYPE && field.type == INT32) {
            has_type = 1;
            code = check_type(in, leaf);
        } else if (field.number == METADATA_CODEC && field.type == INT32) {
            code = check_codec(in);
        } else if (field.number == METADATA_STATISTICS && field.type == STRUCT) {
            code = check_statistics(in, leaf);
        } else if (field.number == METADATA_SIZES && field.type == STRUCT) {
            code = check_sizes(in, leaf);
        } else {
            code = compact_skip(in, field.type, 0, 0);
        }
        code = code ? code : compact_next_field(in, &field);
    }
    return code || has_type ? code : compact_fail(in, SEAM_BAD_INPUT, "it has no type");
}

static int check_chunk(struct compact *in, const struct seam_parquet_leaf *leaf) {
    struct compact_field field = {0, 0};
    int has_metadata = 0;
    int code = compact_next_field(in, &field);
    while (code == SEAM_OK && field.type) {
        if (field.number == CHUNK_CRYPTO) {
            return compact_fail(in, SEAM_UNSUPPORTED, "it is encrypted");
        }
        if (field.number == CHUNK_METADATA && field.type == STRUCT) {
            has_metadata = 1;
            code = check_metadata(in, leaf);
        } else {
            code = compact_skip(in, field.type, 0, 0);
        }
        code = code ? code : compact_next_field(in, &field);
    }
    return code || has_metadata ? code : compact_fail(in, SEAM_BAD_INPUT, "it has no metadata");
}

static int check_group(struct compact *in, const struct seam_parquet_leaf *leaves,
                       int64_t n_leaves) {
    struct compact_field field = {0, 0};
    uint64_t count = 0;
    int code = compact_next_field(in, &field);
    while (code == SEAM_OK && field.type) {
        if (field.number == GROUP_COLUMNS) {
            code = compact_structs(in, &field, &count);
            if (code == SEAM_OK && count != (uint64_t)n_leaves) {
                return compact_fail(in, SEAM_BAD_INPUT,
                                    "a row group has not one chunk of each column");
            }
            for (in->column = 0; code == SEAM_OK && in->column < n_leaves; in->column++) {
                code = check_chunk(in, &leaves[in->column]);
            }
            in->column = -1;
        } else {
            code = compact_skip(in, field.type, 0, 0);
        }
        code = code ? code : compact_next_field(in, &field);
    }
    if (code == SEAM_OK && count != (uint64_t)n_leaves) {
        return compact_fail(in, SEAM_BAD_INPUT, "a row group has no columns");
    }
    return code;
}

int seam_parquet_check_chunks(const uint8_t *data, int64_t size_bytes,
                              const struct seam_parquet_leaf *leaves, int64_t n_leaves,
                              struct seam_error *error) {
    struct compact in = {data, size_bytes, 0, "footer", -1, -1, error};
    struct compact_field field = {0, 0};
    int code = compact_next_field(&in, &field);
    while (code == SEAM_OK && field.type) {
        if (field.number == FOOTER_ROW_GROUPS) {
            uint64_t count = 0;
            code = compact_structs(&in, &field, &count);
            for (uint64_t i = 0; code == SEAM_OK && i < count; i++) {
                in.row_group = (int64_t)i;
                code = check_group(&in, leaves, n_leaves);
            }
        } else {
            code = compact_skip(&in, field.type, 0, 0);
        }
        code = code ? code : compact_next_field(&in, &field);
    }
    return code;
}
