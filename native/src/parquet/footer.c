#include "seam/parquet.h"

#include "compact.h"

#include <stddef.h>
#include <string.h>

enum {
    MISSING = INT32_MIN,
    UNCOMPRESSED = 0,
    LZO = 3,
    MOST_CODEC = 7,      /* LZ4_RAW */
    MOST_REPETITION = 2, /* REPEATED */
    RLE = 3,             /* of the enum Encoding */
    BIT_PACKED = 4,
    LONG_VALUE = 1 << 20,
    DATA_PAGE = 0, /* of the enum PageType */
    DICTIONARY_PAGE = 2,
};

/* Numbers of fields in parquet.thrift. */
enum {
    FOOTER_SCHEMA = 2,
    FOOTER_ROW_GROUPS = 4,
    ELEMENT_TYPE = 1,
    ELEMENT_REPETITION = 3,
    ELEMENT_CHILDREN = 5,
    ELEMENT_CONVERTED = 6,
    ELEMENT_SCALE = 7,
    ELEMENT_PRECISION = 8,
    ELEMENT_LOGICAL = 10,
    LOGICAL_STRING = 1,
    LOGICAL_MAP = 2,
    LOGICAL_LIST = 3,
    LOGICAL_DECIMAL = 5,
    LOGICAL_DATE = 6,
    LOGICAL_TIME = 7,
    LOGICAL_TIMESTAMP = 8,
    LOGICAL_INTEGER = 10,
    LOGICAL_UNKNOWN = 11,
    LOGICAL_UUID = 14,
    LOGICAL_FLOAT16 = 15,
    DECIMAL_SCALE = 1,
    DECIMAL_PRECISION = 2,
    INTEGER_BITS = 1,
    INTEGER_IS_SIGNED = 2,
    TIME_UNIT = 2, /* of times of day and of instants; a union, of which these are members */
    UNIT_MICROS = 2,
    CONVERTED_UTF8 = 0, /* of the enum ConvertedType */
    CONVERTED_MAP = 1,
    CONVERTED_MAP_KEY_VALUE = 2,
    CONVERTED_LIST = 3,
    CONVERTED_ENUM = 4,
    CONVERTED_DECIMAL = 5,
    CONVERTED_DATE = 6,
    CONVERTED_TIME_MILLIS = 7,
    CONVERTED_TIMESTAMP_MILLIS = 9,
    CONVERTED_TIMESTAMP_MICROS = 10,
    CONVERTED_UINT_8 = 11, /* to INT_64 */
    CONVERTED_INT_8 = 15,
    CONVERTED_INT_64 = 18,
    CONVERTED_JSON = 19,
    CONVERTED_BSON = 20,
    CONVERTED_INTERVAL = 21,
    GROUP_COLUMNS = 1,
    GROUP_ROWS = 3,
    GROUP_COMPRESSED = 6,
    CHUNK_METADATA = 3,
    CHUNK_CRYPTO = 8,
    METADATA_TYPE = 1,
    METADATA_ENCODINGS = 2,
    METADATA_PATH = 3,
    METADATA_CODEC = 4,
    METADATA_VALUES = 5,
    METADATA_UNCOMPRESSED = 6,
    METADATA_COMPRESSED = 7,
    METADATA_DATA = 9,
    METADATA_DICTIONARY = 11,
    METADATA_STATISTICS = 12,
    METADATA_PAGES = 13,
    METADATA_SIZES = 16,
    STATISTICS_NULLS = 3,
    STATISTICS_DISTINCT = 4,
    STATISTICS_LEAST = 6, /* the last of the bounds, which have all numbers but the two above */
    STATISTICS_LAST = 8,
    SIZES_UNENCODED = 1,
    SIZES_REPETITION = 2,
    SIZES_DEFINITION = 3,
};

static int histogram(struct compact *in, const struct compact_field *field, int32_t max_level,
                     const char *what) {
    struct compact ahead = *in;
    int32_t type = 0;
    uint64_t count = 0;
    SEAM_TRY(field->type == LIST ? compact_list_head(&ahead, &type, &count)
                                 : compact_fail(in, SEAM_BAD_INPUT, "a histogram is no list"));
    if (count && count != (uint64_t)max_level + 1) {
        return compact_fail(in, SEAM_BAD_INPUT, what);
    }
    return compact_skip(in, LIST, 0, 0);
}

static int check_sizes(struct compact *in, const struct seam_parquet_leaf *leaf) {
    struct compact_field field = {0, 0};
    SEAM_TRY(compact_next_field(in, &field));
    while (field.type) {
        if (field.number == SIZES_UNENCODED && leaf->physical_type != SEAM_PARQUET_BYTE_ARRAY) {
            return compact_fail(in, SEAM_BAD_INPUT,
                                "bytes of texts are counted where there are none");
        }
        if (field.number == SIZES_REPETITION) {
            SEAM_TRY(histogram(in, &field, leaf->max_repetition,
                               "its histogram of repetition levels has another length"));
        } else if (field.number == SIZES_DEFINITION) {
            SEAM_TRY(histogram(in, &field, leaf->max_definition,
                               "its histogram of definition levels has another length"));
        } else {
            SEAM_TRY(compact_skip(in, field.type, 0, 0));
        }
        SEAM_TRY(compact_next_field(in, &field));
    }
    return SEAM_OK;
}

/* Hides a bound that is cut, whose field begins at `head`: its number, and those behind it, are
 * told by the difference to the one before. Whether it could. */
static int hide_cut(const struct compact *in, const struct seam_parquet_leaf *leaf,
                    const struct seam_parquet_rules *rules, int64_t head, uint64_t size_bytes) {
    int is_cut = leaf->physical_type == SEAM_PARQUET_FIXED_LEN_BYTE_ARRAY && size_bytes > 0 &&
                 size_bytes < (uint64_t)leaf->value_bytes;
    int step = in->data[head] >> 4;
    if (!is_cut || !rules->without_cut || step < 1 || step >= STATISTICS_LAST) {
        return 0;
    }
    rules->without_cut[head] = (uint8_t)((step + STATISTICS_LAST) << 4 | BINARY);
    return 1;
}

/* Bounds are values in the plain encoding, without a length before them. */
static int check_statistics(struct compact *in, const struct seam_parquet_leaf *leaf,
                            const struct seam_parquet_rules *rules) {
    struct compact_field field = {0, 0};
    SEAM_TRY(compact_next_field(in, &field));
    while (field.type) {
        int64_t head = in->at - 1; /* of a field that is near the one before it */
        int is_bound = field.number <= STATISTICS_LEAST && field.number != STATISTICS_NULLS &&
                       field.number != STATISTICS_DISTINCT;
        if (is_bound && field.type == BINARY) {
            uint64_t size_bytes = 0;
            SEAM_TRY(compact_varint(in, &size_bytes));
            if (leaf->value_bytes && size_bytes != (uint64_t)leaf->value_bytes &&
                !hide_cut(in, leaf, rules, head, size_bytes)) {
                return compact_fail(in, SEAM_BAD_INPUT,
                                    "a bound has another length than a value of its type");
            }
            SEAM_TRY(compact_take(in, size_bytes));
        } else if (field.number == STATISTICS_NULLS && field.type == INT64) {
            int64_t nulls = 0;
            SEAM_TRY(compact_integer(in, &nulls));
            if (nulls > 0 && leaf->max_definition == 0) {
                return compact_fail(in, SEAM_BAD_INPUT, "nulls are counted where there are none");
            }
        } else {
            SEAM_TRY(compact_skip(in, field.type, 0, 0));
        }
        SEAM_TRY(compact_next_field(in, &field));
    }
    return SEAM_OK;
}

static int check_type(struct compact *in, const struct seam_parquet_leaf *leaf) {
    int64_t type = 0;
    SEAM_TRY(compact_integer(in, &type));
    if (type != leaf->physical_type) {
        return compact_fail(in, SEAM_BAD_INPUT, "it is of another type than the schema's column");
    }
    return SEAM_OK;
}

/* Readers find a chunk by the names that lead to it or by its number: both are of one column. A
 * path without a letter says nothing, as Go's parquet-go leaves it where a writer is used again. */
static int check_path(struct compact *in, const struct seam_parquet_leaf *leaf) {
    int32_t type = 0;
    uint64_t count = 0;
    int64_t at = 0; /* in the leaf's path */
    int is_same = 1, is_named = 0;
    SEAM_TRY(compact_list_head(in, &type, &count));
    if (count && type != BINARY) {
        return compact_fail(in, SEAM_BAD_INPUT, "its path has parts that are no names");
    }
    for (uint64_t i = 0; i < count; i++) {
        uint64_t size_bytes = 0;
        SEAM_TRY(compact_varint(in, &size_bytes));
        const uint8_t *name = in->data + in->at;
        SEAM_TRY(compact_take(in, size_bytes));
        is_same = is_same && (i == 0 || (at < leaf->path_bytes && leaf->path[at++] == '.')) &&
                  size_bytes <= (uint64_t)(leaf->path_bytes - at) &&
                  memcmp(leaf->path + at, name, size_bytes) == 0;
        at += is_same ? (int64_t)size_bytes : 0;
        is_named |= size_bytes > 0;
    }
    if (is_named && !(is_same && at == leaf->path_bytes)) {
        return compact_fail(in, SEAM_BAD_INPUT, "its path is another than the schema's column has");
    }
    return SEAM_OK;
}

static int check_codec(struct compact *in, int64_t *codec) {
    SEAM_TRY(compact_integer(in, codec));
    if (*codec < 0 || *codec > MOST_CODEC || *codec == LZO) {
        return compact_fail(in, SEAM_UNSUPPORTED, "its codec is LZO, or one that is not known");
    }
    return SEAM_OK;
}

/* How many values the chunks of a row group have: of columns without lists one a row, of others at
 * least that. -1 where none is known. */
struct values {
    int64_t flat;
    int64_t fewest_repeated;
    uint64_t bytes; /* of the chunks, compressed */
};

static int count_values(struct compact *in, const struct seam_parquet_leaf *leaf,
                        struct values *values, int64_t *n_values) {
    int64_t count = 0;
    int code = compact_integer(in, &count);
    *n_values = count;
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

/* What a chunk says of its pages; -1 where it says nothing. */
struct pages {
    int64_t codec;
    int64_t uncompressed;
    int64_t compressed;
    int64_t data;
    int64_t dictionary;
    int has_rle; /* among its encodings */
    int has_bit_packed;
    int is_first_format; /* all its data pages are of the first format; -1 */
};

static int read_encodings(struct compact *in, struct pages *pages) {
    int32_t type = 0;
    uint64_t count = 0;
    int64_t encoding = 0;
    int code = compact_list_head(in, &type, &count);
    if (code == SEAM_OK && type != INT32) {
        return compact_fail(in, SEAM_BAD_INPUT, "its encodings are no numbers");
    }
    for (uint64_t i = 0; code == SEAM_OK && i < count; i++) {
        code = compact_integer(in, &encoding);
        pages->has_rle |= encoding == RLE;
        pages->has_bit_packed |= encoding == BIT_PACKED;
    }
    return code;
}

static int read_page_type(struct compact *in, const struct compact_field *field, void *to) {
    return field->number == 1 ? compact_number(in, field, to) : compact_skip(in, field->type, 0, 0);
}

static int read_page_kinds(struct compact *in, const struct compact_field *field,
                           struct pages *pages) {
    uint64_t count = 0;
    int code = compact_structs(in, field, &count);
    pages->is_first_format = count > 0;
    for (uint64_t i = 0; code == SEAM_OK && i < count; i++) {
        int64_t type = -1;
        code = compact_struct(in, read_page_type, &type);
        pages->is_first_format &= type == DATA_PAGE || type == DICTIONARY_PAGE;
    }
    return code;
}

/* Whether what a chunk says of its pages holds together, and where they lie. */
static int check_pages(const struct compact *in, const struct seam_parquet_leaf *leaf,
                       const struct pages *pages, const struct seam_parquet_rules *rules,
                       int64_t n_values) {
    if (pages->codec == UNCOMPRESSED && pages->uncompressed != pages->compressed) {
        return compact_fail(in, SEAM_BAD_INPUT, "it has two sizes, and is not compressed");
    }
    if (leaf->value_bytes > LONG_VALUE && leaf->value_bytes > pages->uncompressed) {
        return compact_fail(in, SEAM_BAD_INPUT, "a value is longer than all of its pages");
    }
    int has_levels = leaf->max_definition + leaf->max_repetition > 0;
    /* Others name no BIT_PACKED, and Java's library may have put their row groups into its file. */
    if (rules->lists_levels && pages->has_bit_packed && pages->is_first_format == 1 &&
        n_values > 0 && pages->has_rle != has_levels) {
        return compact_fail(in, SEAM_BAD_INPUT,
                            has_levels ? "its encodings name none of levels, and it may have nulls"
                                       : "its encodings name one of levels, and it has no nulls");
    }
    int64_t at = in->row_group * rules->n_leaves + in->column;
    if (rules->spans && in->row_group < rules->n_groups && n_values > 0) {
        int64_t begin = pages->data;
        begin = pages->dictionary > 0 && pages->dictionary < begin ? pages->dictionary : begin;
        if (begin < 0 || pages->compressed < 0 || begin > INT64_MAX - pages->compressed) {
            return compact_fail(in, SEAM_BAD_INPUT, "it lies before the begin of the file");
        }
        rules->spans[2 * at] = begin;
        rules->spans[2 * at + 1] = begin + pages->compressed;
    }
    return SEAM_OK;
}

static int check_metadata(struct compact *in, const struct seam_parquet_leaf *leaf,
                          const struct seam_parquet_rules *rules, struct values *values) {
    struct compact_field field = {0, 0};
    struct pages pages = {-1, -1, -1, -1, -1, 0, 0, -1};
    int64_t n_values = -1;
    int has_type = 0;
    int code = compact_next_field(in, &field);
    while (code == SEAM_OK && field.type) {
        if (field.number == METADATA_TYPE && field.type == INT32) {
            has_type = 1;
            code = check_type(in, leaf);
        } else if (field.number == METADATA_PATH && field.type == LIST) {
            code = check_path(in, leaf);
        } else if (field.number == METADATA_CODEC && field.type == INT32) {
            code = check_codec(in, &pages.codec);
        } else if (field.number == METADATA_VALUES && field.type == INT64) {
            code = count_values(in, leaf, values, &n_values);
        } else if (field.number == METADATA_ENCODINGS && field.type == LIST) {
            code = read_encodings(in, &pages);
        } else if (field.number == METADATA_PAGES && field.type == LIST) {
            code = read_page_kinds(in, &field, &pages);
        } else if (field.number == METADATA_UNCOMPRESSED) {
            code = compact_number(in, &field, &pages.uncompressed);
        } else if (field.number == METADATA_COMPRESSED) {
            code = compact_number(in, &field, &pages.compressed);
        } else if (field.number == METADATA_DATA) {
            code = compact_number(in, &field, &pages.data);
        } else if (field.number == METADATA_DICTIONARY) {
            code = compact_number(in, &field, &pages.dictionary);
        } else if (field.number == METADATA_STATISTICS && field.type == STRUCT) {
            code = check_statistics(in, leaf, rules);
        } else if (field.number == METADATA_SIZES && field.type == STRUCT) {
            code = check_sizes(in, leaf);
        } else {
            code = compact_skip(in, field.type, 0, 0);
        }
        code = code ? code : compact_next_field(in, &field);
    }
    if (code || !has_type) {
        return code ? code : compact_fail(in, SEAM_BAD_INPUT, "it has no type");
    }
    values->bytes += pages.compressed > 0 ? (uint64_t)pages.compressed : 0;
    return check_pages(in, leaf, &pages, rules, n_values);
}

static int check_chunk(struct compact *in, const struct seam_parquet_leaf *leaf,
                       const struct seam_parquet_rules *rules, struct values *values) {
    struct compact_field field = {0, 0};
    int has_metadata = 0;
    int code = compact_next_field(in, &field);
    while (code == SEAM_OK && field.type) {
        if (field.number == CHUNK_CRYPTO) {
            return compact_fail(in, SEAM_UNSUPPORTED, "it is encrypted");
        }
        if (field.number == CHUNK_METADATA && field.type == STRUCT) {
            has_metadata = 1;
            code = check_metadata(in, leaf, rules, values);
        } else {
            code = compact_skip(in, field.type, 0, 0);
        }
        code = code ? code : compact_next_field(in, &field);
    }
    return code || has_metadata ? code : compact_fail(in, SEAM_BAD_INPUT, "it has no metadata");
}

static int check_group(struct compact *in, const struct seam_parquet_leaf *leaves,
                       const struct seam_parquet_rules *rules) {
    int64_t n_leaves = rules->n_leaves;
    struct compact_field field = {0, 0};
    struct values values = {-1, -1, 0};
    uint64_t count = 0;
    int64_t n_rows = -1, n_bytes = 0;
    int code = compact_next_field(in, &field);
    while (code == SEAM_OK && field.type) {
        if (field.number == GROUP_COLUMNS) {
            code = compact_structs(in, &field, &count);
            if (code == SEAM_OK && count != (uint64_t)n_leaves) {
                return compact_fail(in, SEAM_BAD_INPUT,
                                    "a row group has not one chunk of each column");
            }
            for (in->column = 0; code == SEAM_OK && in->column < n_leaves; in->column++) {
                code = check_chunk(in, &leaves[in->column], rules, &values);
            }
            in->column = -1;
        } else if (field.number == GROUP_ROWS && field.type == INT64) {
            code = compact_integer(in, &n_rows);
        } else if (field.number == GROUP_COMPRESSED && field.type == INT64) {
            code = compact_integer(in, &n_bytes);
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
    /* Spark reads a row group where the middle lies, which is nowhere in the file then. */
    if (code == SEAM_OK && (n_bytes < 0 || (uint64_t)n_bytes / 2 > values.bytes)) {
        return compact_fail(in, SEAM_BAD_INPUT, "a row group has more bytes than its columns");
    }
    return code;
}

/* A type is told twice, as old readers know it and as new ones do. */
struct element {
    int64_t physical;
    int64_t children;
    int64_t repetition;
    int64_t converted;
    int64_t scale;
    int64_t precision;
    int64_t logical_scale;
    int64_t logical_precision;
    int has_logical; /* its union is there */
    int kind;        /* which member the union has; -1 */
    int bits;        /* of an integer; 0 */
    int is_signed;
    int64_t unit; /* of a time: which member its union has; 0 */
};

static int read_decimal(struct compact *in, const struct compact_field *field, void *to) {
    struct element *element = to;
    switch (field->number) {
    case DECIMAL_SCALE:
        return compact_number(in, field, &element->logical_scale);
    case DECIMAL_PRECISION:
        return compact_number(in, field, &element->logical_precision);
    default:
        return compact_skip(in, field->type, 0, 0);
    }
}

static int read_integer_type(struct compact *in, const struct compact_field *field, void *to) {
    struct element *element = to;
    uint8_t bits = 0;
    if (field->number == INTEGER_BITS && field->type == BYTE) {
        int code = compact_byte(in, &bits);
        element->bits = bits;
        return code;
    }
    if (field->number == INTEGER_IS_SIGNED) {
        element->is_signed = field->type == TRUE_FIELD;
    }
    return compact_skip(in, field->type, 0, 0);
}

static int read_unit(struct compact *in, const struct compact_field *field, void *to) {
    *(int64_t *)to = field->number;
    return compact_skip(in, field->type, 0, 0);
}

static int read_time_type(struct compact *in, const struct compact_field *field, void *to) {
    return field->number == TIME_UNIT && field->type == STRUCT
               ? compact_struct(in, read_unit, &((struct element *)to)->unit)
               : compact_skip(in, field->type, 0, 0);
}

/* A converted type tells the unit of a time, too; the zone some writers tell otherwise by it. */
static int units_differ(const struct element *element) {
    int first = element->kind == LOGICAL_TIME ? CONVERTED_TIME_MILLIS : CONVERTED_TIMESTAMP_MILLIS;
    return element->unit && element->converted >= CONVERTED_TIME_MILLIS &&
           element->converted <= CONVERTED_TIMESTAMP_MICROS &&
           (element->unit > UNIT_MICROS || element->converted != first + element->unit - 1);
}

static int integers_differ(const struct element *element) {
    int bytes_log2 = 0;
    if (!element->bits || element->converted < CONVERTED_UINT_8 ||
        element->converted > CONVERTED_INT_64) {
        return 0;
    }
    while (8 << bytes_log2 < element->bits) {
        bytes_log2++;
    }
    int first = element->is_signed ? CONVERTED_INT_8 : CONVERTED_UINT_8;
    return element->converted != first + bytes_log2;
}

static int read_logical(struct compact *in, const struct compact_field *field, void *to) {
    ((struct element *)to)->kind = field->number;
    if (field->number == LOGICAL_INTEGER && field->type == STRUCT) {
        return compact_struct(in, read_integer_type, to);
    }
    if ((field->number == LOGICAL_TIME || field->number == LOGICAL_TIMESTAMP) &&
        field->type == STRUCT) {
        return compact_struct(in, read_time_type, to);
    }
    return field->number == LOGICAL_DECIMAL && field->type == STRUCT
               ? compact_struct(in, read_decimal, to)
               : compact_skip(in, field->type, 0, 0);
}

static int read_element(struct compact *in, const struct compact_field *field, void *to) {
    struct element *element = to;
    switch (field->number) {
    case ELEMENT_TYPE:
        return compact_number(in, field, &element->physical);
    case ELEMENT_CHILDREN:
        return compact_number(in, field, &element->children);
    case ELEMENT_REPETITION:
        return compact_number(in, field, &element->repetition);
    case ELEMENT_CONVERTED:
        return compact_number(in, field, &element->converted);
    case ELEMENT_SCALE:
        return compact_number(in, field, &element->scale);
    case ELEMENT_PRECISION:
        return compact_number(in, field, &element->precision);
    case ELEMENT_LOGICAL:
        element->has_logical = 1;
        return field->type == STRUCT ? compact_struct(in, read_logical, element)
                                     : compact_skip(in, field->type, 0, 0);
    default:
        return compact_skip(in, field->type, 0, 0);
    }
}

static int differ(int64_t one, int64_t other) {
    return one >= 0 && other >= 0 && one != other;
}

/* Logical types, and the converted ones without which readers take them for others. */
static const struct {
    int kind;
    int64_t old;
} BOTH[] = {
    {LOGICAL_STRING, CONVERTED_UTF8}, {LOGICAL_MAP, CONVERTED_MAP},
    {LOGICAL_LIST, CONVERTED_LIST},   {LOGICAL_DECIMAL, CONVERTED_DECIMAL},
    {LOGICAL_DATE, CONVERTED_DATE},
};

static enum seam_parquet_telling common_if(int is_common, enum seam_parquet_telling other) {
    return is_common ? SEAM_PARQUET_COMMON : other;
}

/* Whether an element's type is told in a way that other readers do not know. */
static enum seam_parquet_telling telling_of(const struct element *element) {
    int64_t old = element->converted;
    if (old == CONVERTED_MAP_KEY_VALUE) {
        int is_entry = element->repetition == MOST_REPETITION && element->children == 2;
        return common_if(is_entry, SEAM_PARQUET_REFUSED);
    }
    if (old == CONVERTED_BSON || old == CONVERTED_INTERVAL) {
        return SEAM_PARQUET_REFUSED;
    }
    for (size_t i = 0; i < sizeof BOTH / sizeof *BOTH; i++) {
        if (element->kind == BOTH[i].kind) {
            return common_if(old == BOTH[i].old, SEAM_PARQUET_TAKEN_OTHERWISE);
        }
    }
    switch (element->kind) {
    case LOGICAL_UNKNOWN:
        return common_if(element->physical == SEAM_PARQUET_INT32, SEAM_PARQUET_REFUSED);
    case LOGICAL_TIME:
    case LOGICAL_TIMESTAMP:
    case LOGICAL_INTEGER:
    case LOGICAL_UUID:
    case LOGICAL_FLOAT16:
        return SEAM_PARQUET_COMMON;
    case -1:
        return common_if(old != CONVERTED_ENUM && old != CONVERTED_JSON &&
                             old != CONVERTED_TIMESTAMP_MILLIS && old != CONVERTED_TIMESTAMP_MICROS,
                         SEAM_PARQUET_TAKEN_OTHERWISE);
    default:
        return SEAM_PARQUET_TAKEN_OTHERWISE;
    }
}

static int check_element(struct compact *in, int is_root, struct element *element) {
    *element = (struct element){.repetition = MISSING,
                                .converted = -1,
                                .scale = -1,
                                .precision = -1,
                                .logical_scale = -1,
                                .logical_precision = -1,
                                .kind = -1};
    SEAM_TRY(compact_struct(in, read_element, element));
    int is_missing = is_root && element->repetition == MISSING;
    if (!is_missing && (element->repetition < 0 || element->repetition > MOST_REPETITION)) {
        return compact_fail(in, SEAM_BAD_INPUT,
                            "a column's repetition is not required, optional or repeated");
    }
    if (integers_differ(element)) {
        return compact_fail(in, SEAM_BAD_INPUT, "an integer has two widths or signs");
    }
    if (units_differ(element)) {
        return compact_fail(in, SEAM_BAD_INPUT, "a time has two units");
    }
    if (element->has_logical && element->kind < 0) {
        return compact_fail(in, SEAM_BAD_INPUT, "a column has a logical type of no kind");
    }
    if (differ(element->scale, element->logical_scale) ||
        differ(element->precision, element->logical_precision)) {
        return compact_fail(in, SEAM_BAD_INPUT,
                            "a decimal has two scales, or two numbers of digits");
    }
    return SEAM_OK;
}

/* Checks the schema, and enters for each column of its root how its types are told. */
static int check_schema(struct compact *in, const struct compact_field *field,
                        const struct seam_parquet_rules *rules) {
    uint64_t count = 0;
    int64_t column = -1, open = 0; /* elements of a column that are still to come */
    SEAM_TRY(compact_structs(in, field, &count));
    for (uint64_t i = 0; i < count; i++) {
        struct element element;
        SEAM_TRY(check_element(in, i == 0, &element));
        if (i == 0) {
            continue;
        }
        if (open == 0) {
            open = 1;
            if (++column >= rules->n_columns) {
                return compact_fail(in, SEAM_BAD_INPUT, "more columns than it had before");
            }
            rules->tellings[column] = SEAM_PARQUET_COMMON;
        }
        int is_group = element.children > 0 && element.children <= INT32_MAX;
        open += is_group ? element.children - 1 : -1;
        uint8_t telling = (uint8_t)telling_of(&element);
        if (telling > rules->tellings[column]) {
            rules->tellings[column] = telling;
        }
    }
    return SEAM_OK;
}

int seam_parquet_check_chunks(const uint8_t *data, int64_t size_bytes,
                              const struct seam_parquet_leaf *leaves,
                              const struct seam_parquet_rules *rules, struct seam_error *error) {
    struct compact in = {data, size_bytes, 0, "footer", -1, -1, error};
    struct compact_field field = {0, 0};
    SEAM_TRY(compact_next_field(&in, &field));
    while (field.type) {
        uint64_t count = 0;
        if (field.number == FOOTER_SCHEMA) {
            SEAM_TRY(check_schema(&in, &field, rules));
        } else if (field.number == FOOTER_ROW_GROUPS) {
            SEAM_TRY(compact_structs(&in, &field, &count));
            for (uint64_t i = 0; i < count; i++) {
                in.row_group = (int64_t)i;
                SEAM_TRY(check_group(&in, leaves, rules));
            }
        } else {
            SEAM_TRY(compact_skip(&in, field.type, 0, 0));
        }
        SEAM_TRY(compact_next_field(&in, &field));
    }
    return SEAM_OK;
}
