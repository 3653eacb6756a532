#include "seam/parquet.h"

#include "compact.h"

#include <string.h>

/* Numbers of fields in parquet.thrift. */
enum {
    FOOTER_SCHEMA = 2,
    FOOTER_ROW_GROUPS = 4,
    ELEMENT_CHILDREN = 5,
    GROUP_COLUMNS = 1,
    CHUNK_METADATA = 3,
    CHUNK_OFFSET_INDEX = 4,
    CHUNK_OFFSET_INDEX_BYTES = 5,
    CHUNK_COLUMN_INDEX = 6,
    CHUNK_COLUMN_INDEX_BYTES = 7,
    METADATA_CODEC = 4,
};

struct found {
    int64_t n_groups;
    int64_t n_leaves;
    int64_t groups; /* that were seen, as the leaves */
    int64_t leaves;
    struct seam_parquet_place *places;
    struct seam_parquet_chunk *chunks;
};

static int read_element(struct compact *in, const struct compact_field *field, void *to) {
    return field->number == ELEMENT_CHILDREN ? compact_number(in, field, to)
                                             : compact_skip(in, field->type, 0, 0);
}

static int read_schema(struct compact *in, const struct compact_field *field, struct found *found) {
    uint64_t count = 0;
    int code = compact_structs(in, field, &count);
    for (uint64_t i = 0; code == SEAM_OK && i < count; i++) {
        int64_t begin = in->at, children = 0;
        code = compact_struct(in, read_element, &children);
        if (code || children) {
            continue;
        }
        if (found->leaves == found->n_leaves) {
            return compact_fail(in, SEAM_BAD_INPUT, "more columns than it had before");
        }
        found->places[found->leaves++] =
            (struct seam_parquet_place){.offset = begin, .size_bytes = in->at - begin};
    }
    return code;
}

static int read_metadata(struct compact *in, const struct compact_field *field, void *to) {
    int64_t codec = -1;
    if (field->number != METADATA_CODEC) {
        return compact_skip(in, field->type, 0, 0);
    }
    int code = compact_number(in, field, &codec);
    *(int32_t *)to = codec < 0 || codec > INT8_MAX ? -1 : (int32_t)codec;
    return code;
}

static int read_chunk(struct compact *in, const struct compact_field *field, void *to) {
    struct seam_parquet_chunk *chunk = to;
    switch (field->number) {
    case CHUNK_METADATA:
        return field->type == STRUCT ? compact_struct(in, read_metadata, &chunk->codec)
                                     : compact_skip(in, field->type, 0, 0);
    case CHUNK_OFFSET_INDEX:
        return compact_number(in, field, &chunk->offset_index.offset);
    case CHUNK_OFFSET_INDEX_BYTES:
        return compact_number(in, field, &chunk->offset_index.size_bytes);
    case CHUNK_COLUMN_INDEX:
        return compact_number(in, field, &chunk->column_index.offset);
    case CHUNK_COLUMN_INDEX_BYTES:
        return compact_number(in, field, &chunk->column_index.size_bytes);
    default:
        return compact_skip(in, field->type, 0, 0);
    }
}

static int read_group(struct compact *in, const struct compact_field *field, void *to) {
    const struct found *found = to;
    uint64_t count = 0;
    if (field->number != GROUP_COLUMNS) {
        return compact_skip(in, field->type, 0, 0);
    }
    int code = compact_structs(in, field, &count);
    if (code == SEAM_OK && count != (uint64_t)found->n_leaves) {
        return compact_fail(in, SEAM_BAD_INPUT, "a row group has not one chunk of each column");
    }
    struct seam_parquet_chunk *chunks = found->chunks + found->groups * found->n_leaves;
    for (uint64_t i = 0; code == SEAM_OK && i < count; i++) {
        memset(&chunks[i], 0, sizeof chunks[i]);
        chunks[i].codec = -1;
        in->row_group = found->groups;
        in->column = (int64_t)i;
        code = compact_struct(in, read_chunk, &chunks[i]);
    }
    in->column = -1;
    return code;
}

static int read_footer(struct compact *in, const struct compact_field *field, void *to) {
    struct found *found = to;
    if (field->number == FOOTER_SCHEMA) {
        return read_schema(in, field, found);
    }
    if (field->number != FOOTER_ROW_GROUPS) {
        return compact_skip(in, field->type, 0, 0);
    }
    uint64_t count = 0;
    SEAM_TRY(compact_structs(in, field, &count));
    if (found->groups || count != (uint64_t)found->n_groups) {
        return compact_fail(in, SEAM_BAD_INPUT, "other row groups than it had before");
    }
    for (; found->groups < found->n_groups; found->groups++) {
        SEAM_TRY(compact_struct(in, read_group, found));
    }
    return SEAM_OK;
}

int seam_parquet_find_indexes(const uint8_t *data, int64_t size_bytes, int64_t n_groups,
                              int64_t n_leaves, struct seam_parquet_place *leaves,
                              struct seam_parquet_chunk *chunks, struct seam_error *error) {
    struct compact in = {data, size_bytes, 0, "footer", -1, -1, error};
    struct found found = {n_groups, n_leaves, 0, 0, leaves, chunks};
    memset(chunks, 0, sizeof *chunks * (size_t)(n_groups * n_leaves));
    SEAM_TRY(compact_struct(&in, read_footer, &found));
    if (found.groups != n_groups || found.leaves != n_leaves) {
        return compact_fail(&in, SEAM_BAD_INPUT, "it lacks columns or row groups");
    }
    return SEAM_OK;
}
