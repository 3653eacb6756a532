#include "seam/parquet.h"

#include "compact.h"

#include <stddef.h>

enum {
    MOST_CODEC = 7,      /* LZ4_RAW */
    MOST_REPETITION = 2, /* REPEATED */
};

/* Numbers of fields in parquet.thrift. */
enum {
    FOOTER_SCHEMA = 2,
    FOOTER_ROW_GROUPS = 4,
    ELEMENT_REPETITION = 3,
    GROUP_COLUMNS = 1,
    GROUP_ROWS = 3,
    CHUNK_METADATA = 3,
    CHUNK_CRYPTO = 8,
    METADATA_TYPE = 1,
    METADATA_CODEC = 4,
    METADATA_VALUES = 5,
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

/* Bounds are values in the plain encoding, without a length before them. */
static int check_statistics(struct compact *in, const struct seam_parquet_leaf *leaf) {
    struct compact_field field = {0, 0};
    int code = compact_next_field(in, &field);
    while (code == SEAM_OK && field.type) {
        int is_bound = field.number <= STATISTICS_LEAST && field.number != STATISTICS_NULLS &&
                       field.number != STATISTICS_DISTINCT;
        if (is_bound && field.type == BINARY) {
            uint64_t size_bytes = 0;
            code = compact_varint(in, &size_bytes);
            if (code == SEAM_OK && size_bytes < (uint64_t)leaf->value_bytes) {
                return compact_fail(in, SEAM_BAD_INPUT,
                                    "a bound is shorter than a value of its type");
            }
            code = code ? code : compact_take(in, size_bytes);
        } else if (field.number == STATISTICS_NULLS && field.type == INT64) {
            int64_t nulls = 0;
            code = compact_integer(in, &nulls);
            if (code == SEAM_OK && nulls > 0 && leaf->max_definition == 0) {
                return compact_fail(in, SEAM_BAD_INPUT, "nulls are counted where there are none");
            }
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

/* How many values the chunks of a row group have: of columns without lists one a row, of others at
 * least that. -1 where none is known. */
struct values {
    int64_t flat;
    int64_t fewest_repeated;
};

static int count_values(struct compact *in, const struct seam_parquet_leaf *leaf,
                        struct values *values) {
    int64_t count = 0;
    int code = compact_integer(in, &count);
    if (code || count < 0) {
        return code ? code : compact_fail(in, SEAM_BAD_INPUT, "its number of values is below 0");
    }
    if (leaf->max_repetition) {
        int is_fewest = values->fewest_repeated < 0 || count < values->fewest_repeated;
        values->fewest_repeated = is_fewest ? count : values->fewest_repeated;
        return SEAM_OK;
    }
    if (values->flat >= 0 && count != values->flat) {
        return compact_fail(in, SEAM_BAD_INPUT,
                            "it has another number of values than a column before it");
    }
    values->flat = count;
    return SEAM_OK;
}

static int check_metadata(struct compact *in, const struct seam_parquet_leaf *leaf,
                          struct values *values) {
    struct compact_field field = {0, 0};
    int has_type = 0;
    int code = compact_next_field(in, &field);
    while (code == SEAM_OK && field.type) {
        if (field.number == METADATA_TYPE && field.type == INT32) {
            has_type = 1;
            code = check_type(in, leaf);
        } else if (field.number == METADATA_CODEC && field.type == INT32) {
            code = check_codec(in);
        } else if (field.number == METADATA_VALUES && field.type == INT64) {
            code = count_values(in, leaf, values);
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

static int check_chunk(struct compact *in, const struct seam_parquet_leaf *leaf,
                       struct values *values) {
    struct compact_field field = {0, 0};
    int has_metadata = 0;
    int code = compact_next_field(in, &field);
    while (code == SEAM_OK && field.type) {
        if (field.number == CHUNK_CRYPTO) {
            return compact_fail(in, SEAM_UNSUPPORTED, "it is encrypted");
        }
        if (field.number == CHUNK_METADATA && field.type == STRUCT) {
            has_metadata = 1;
            code = check_metadata(in, leaf, values);
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
    struct values values = {-1, -1};
    uint64_t count = 0;
    int64_t n_rows = -1;
    int code = compact_next_field(in, &field);
    while (code == SEAM_OK && field.type) {
        if (field.number == GROUP_COLUMNS) {
            code = compact_structs(in, &field, &count);
            if (code == SEAM_OK && count != (uint64_t)n_leaves) {
                return compact_fail(in, SEAM_BAD_INPUT,
                                    "a row group has not one chunk of each column");
            }
            for (in->column = 0; code == SEAM_OK && in->column < n_leaves; in->column++) {
                code = check_chunk(in, &leaves[in->column], &values);
            }
            in->column = -1;
        } else if (field.number == GROUP_ROWS && field.type == INT64) {
            code = compact_integer(in, &n_rows);
        } else {
            code = compact_skip(in, field.type, 0, 0);
        }
        code = code ? code : compact_next_field(in, &field);
    }
    if (code == SEAM_OK && ((values.flat >= 0 && values.flat != n_rows) ||
                            (values.fewest_repeated >= 0 && values.fewest_repeated < n_rows))) {
        return compact_fail(in, SEAM_BAD_INPUT,
                            "a row group's columns have other numbers of values than it has rows");
    }
    if (code == SEAM_OK && count != (uint64_t)n_leaves) {
        return compact_fail(in, SEAM_BAD_INPUT, "a row group has no columns");
    }
    return code;
}

static int check_element(struct compact *in, const struct compact_field *field, void *to) {
    (void)to;
    int64_t repetition = 0;
    if (field->number != ELEMENT_REPETITION) {
        return compact_skip(in, field->type, 0, 0);
    }
    int code = compact_number(in, field, &repetition);
    if (code == SEAM_OK && (repetition < 0 || repetition > MOST_REPETITION)) {
        return compact_fail(in, SEAM_BAD_INPUT,
                            "a column's repetition is not required, optional or repeated");
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
        uint64_t count = 0;
        if (field.number == FOOTER_SCHEMA) {
            code = compact_structs(&in, &field, &count);
            for (uint64_t i = 0; code == SEAM_OK && i < count; i++) {
                code = compact_struct(&in, check_element, NULL);
            }
        } else if (field.number == FOOTER_ROW_GROUPS) {
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
