#include "seam/parquet.h"

#include "compact.h"

#include <string.h>

/* Numbers of fields in parquet.thrift. */
enum {
    OFFSETS_PAGES = 1,
    PAGE_OFFSET = 1,
    PAGE_BYTES = 2,
    PAGE_FIRST_ROW = 3,
    INDEX_IS_NULL = 1,
    INDEX_LEAST = 2,
    INDEX_GREATEST = 3,
    INDEX_NULLS = 5,
    HEADER_TYPE = 1,
    HEADER_UNCOMPRESSED = 2,
    HEADER_COMPRESSED = 3,
    HEADER_DATA = 5,
    HEADER_DICTIONARY = 7,
    HEADER_DATA_V2 = 8,
    DATA_VALUES = 1,
    DATA_V2_ROWS = 3,
};

struct offsets {
    int64_t begin;
    int64_t end;
    int64_t n_rows;
    int64_t room;
    struct seam_parquet_page *pages;
    int64_t n_pages;
};

static int read_location(struct compact *in, const struct compact_field *field, void *to) {
    struct seam_parquet_page *page = to;
    switch (field->number) {
    case PAGE_OFFSET:
        return compact_number(in, field, &page->offset);
    case PAGE_BYTES:
        return compact_number(in, field, &page->size_bytes);
    case PAGE_FIRST_ROW:
        return compact_number(in, field, &page->first_row);
    default:
        return compact_skip(in, field->type, 0, 0);
    }
}

/* A page behind those that were read. */
static int check_page(const struct compact *in, const struct offsets *offsets,
                      const struct seam_parquet_page *page) {
    const struct seam_parquet_page *before = offsets->n_pages ? page - 1 : NULL;
    int64_t least = before ? before->offset + before->size_bytes : offsets->begin;
    if (page->offset < least) {
        return compact_fail(in, SEAM_BAD_INPUT,
                            "offset of a page: before its chunk, or within the page before it");
    }
    if (page->size_bytes < 1 || page->offset > offsets->end ||
        page->size_bytes > offsets->end - page->offset) {
        return compact_fail(in, SEAM_BAD_INPUT, "compressed_page_size: it goes beyond its chunk");
    }
    if (before ? page->first_row <= before->first_row : page->first_row != 0) {
        return compact_fail(in, SEAM_BAD_INPUT, "first_row_index: it does not rise from 0");
    }
    if (page->first_row >= offsets->n_rows) {
        return compact_fail(in, SEAM_BAD_INPUT, "first_row_index: beyond the row group's rows");
    }
    return SEAM_OK;
}

static int read_offsets(struct compact *in, const struct compact_field *field, void *to) {
    struct offsets *offsets = to;
    uint64_t count = 0;
    if (field->number != OFFSETS_PAGES) {
        return compact_skip(in, field->type, 0, 0);
    }
    int code = compact_structs(in, field, &count);
    if (code == SEAM_OK && (offsets->n_pages || count > (uint64_t)offsets->room)) {
        return compact_fail(in, SEAM_BAD_INPUT, "page_locations: more than there is room for");
    }
    for (uint64_t i = 0; code == SEAM_OK && i < count; i++) {
        struct seam_parquet_page *page = &offsets->pages[i];
        *page = (struct seam_parquet_page){.offset = -1, .size_bytes = -1, .first_row = -1};
        code = compact_struct(in, read_location, page);
        code = code ? code : check_page(in, offsets, page);
        offsets->n_pages += code == SEAM_OK;
    }
    return code;
}

int seam_parquet_offset_index(const uint8_t *data, int64_t size_bytes, int64_t begin, int64_t end,
                              int64_t n_rows, struct seam_parquet_page *pages, int64_t *n_pages,
                              struct seam_error *error) {
    struct compact in = {data, size_bytes, 0, "offset index", -1, -1, error};
    struct offsets offsets = {begin, end, n_rows, size_bytes / SEAM_PARQUET_PAGE_BYTES, pages, 0};
    int code = compact_struct(&in, read_offsets, &offsets);
    *n_pages = offsets.n_pages;
    return code;
}

struct index {
    int64_t n_pages;
    struct seam_parquet_bounds *bounds;
    int has_nulls, has_least, has_greatest;
};

/* The head of a list with an element for each page. */
static int list_of_pages(struct compact *in, const struct compact_field *field,
                         const struct index *index, int32_t least_type, int32_t greatest_type) {
    int32_t type = 0;
    uint64_t count = 0;
    if (field->type != LIST) {
        return compact_fail(in, SEAM_BAD_INPUT, "a list is of another type");
    }
    SEAM_TRY(compact_list_head(in, &type, &count));
    if (count != (uint64_t)index->n_pages) {
        return compact_fail(in, SEAM_BAD_INPUT, "a list has another length than there are pages");
    }
    if (type < least_type || type > greatest_type) {
        return compact_fail(in, SEAM_BAD_INPUT, "a list holds values of another type");
    }
    return SEAM_OK;
}

static int read_is_null(struct compact *in, const struct compact_field *field,
                        struct index *index) {
    int code = list_of_pages(in, field, index, TRUE_FIELD, FALSE_FIELD);
    index->has_nulls = 1;
    for (int64_t i = 0; code == SEAM_OK && i < index->n_pages; i++) {
        uint8_t value = 0;
        code = compact_byte(in, &value);
        /* Old writers have 0 for false. */
        if (code == SEAM_OK && value > FALSE_FIELD) {
            return compact_fail(in, SEAM_BAD_INPUT, "null_pages: neither true nor false");
        }
        index->bounds[i].is_null = value == TRUE_FIELD;
    }
    return code;
}

static int read_bounds(struct compact *in, const struct compact_field *field, struct index *index) {
    int is_least = field->number == INDEX_LEAST;
    int code = list_of_pages(in, field, index, BINARY, BINARY);
    *(is_least ? &index->has_least : &index->has_greatest) = 1;
    for (int64_t i = 0; code == SEAM_OK && i < index->n_pages; i++) {
        uint64_t size_bytes = 0;
        code = compact_varint(in, &size_bytes);
        struct seam_parquet_place place = {.offset = in->at, .size_bytes = (int64_t)size_bytes};
        code = code ? code : compact_take(in, size_bytes);
        *(is_least ? &index->bounds[i].least : &index->bounds[i].greatest) = place;
    }
    return code;
}

static int read_nulls(struct compact *in, const struct compact_field *field, struct index *index) {
    SEAM_TRY(list_of_pages(in, field, index, INT64, INT64));
    for (int64_t i = 0; i < index->n_pages; i++) {
        SEAM_TRY(compact_integer(in, &index->bounds[i].nulls));
        if (index->bounds[i].nulls < 0) {
            return compact_fail(in, SEAM_BAD_INPUT, "null_counts: below 0");
        }
    }
    return SEAM_OK;
}

static int read_index(struct compact *in, const struct compact_field *field, void *to) {
    switch (field->number) {
    case INDEX_IS_NULL:
        return read_is_null(in, field, to);
    case INDEX_LEAST:
    case INDEX_GREATEST:
        return read_bounds(in, field, to);
    case INDEX_NULLS:
        return read_nulls(in, field, to);
    default:
        return compact_skip(in, field->type, 0, 0);
    }
}

int seam_parquet_column_index(const uint8_t *data, int64_t size_bytes, int64_t n_pages,
                              struct seam_parquet_bounds *bounds, struct seam_error *error) {
    struct compact in = {data, size_bytes, 0, "column index", -1, -1, error};
    struct index index = {n_pages, bounds, 0, 0, 0};
    for (int64_t i = 0; i < n_pages; i++) {
        bounds[i] = (struct seam_parquet_bounds){.nulls = -1};
    }
    SEAM_TRY(compact_struct(&in, read_index, &index));
    if (!(index.has_nulls && index.has_least && index.has_greatest)) {
        return compact_fail(&in, SEAM_BAD_INPUT,
                            "null_pages, min_values or max_values are missing");
    }
    return SEAM_OK;
}

struct page {
    struct seam_parquet_page_header *header;
    int64_t type;
};

static int read_data(struct compact *in, const struct compact_field *field, void *to) {
    struct seam_parquet_page_header *header = to;
    return field->number == DATA_VALUES ? compact_number(in, field, &header->n_values)
                                        : compact_skip(in, field->type, 0, 0);
}

static int read_data_v2(struct compact *in, const struct compact_field *field, void *to) {
    struct seam_parquet_page_header *header = to;
    return field->number == DATA_V2_ROWS ? compact_number(in, field, &header->n_rows)
                                         : read_data(in, field, to);
}

static int read_header(struct compact *in, const struct compact_field *field, void *to) {
    struct page *page = to;
    int is_struct = field->type == STRUCT;
    switch (field->number) {
    case HEADER_TYPE:
        return compact_number(in, field, &page->type);
    case HEADER_UNCOMPRESSED:
        return compact_number(in, field, &page->header->uncompressed_bytes);
    case HEADER_COMPRESSED:
        return compact_number(in, field, &page->header->compressed_bytes);
    case HEADER_DATA:
    case HEADER_DICTIONARY:
        return is_struct ? compact_struct(in, read_data, page->header)
                         : compact_skip(in, field->type, 0, 0);
    case HEADER_DATA_V2:
        return is_struct ? compact_struct(in, read_data_v2, page->header)
                         : compact_skip(in, field->type, 0, 0);
    default:
        return compact_skip(in, field->type, 0, 0);
    }
}

int seam_parquet_page_begin(const uint8_t *data, int64_t size_bytes,
                            struct seam_parquet_page_header *header, struct seam_error *error) {
    struct compact in = {data, size_bytes, 0, "page header", -1, -1, error};
    struct page page = {header, -1};
    memset(header, 0, sizeof *header);
    header->compressed_bytes = header->uncompressed_bytes = header->n_values = header->n_rows = -1;
    SEAM_TRY(compact_struct(&in, read_header, &page));
    header->type = page.type > INT8_MAX ? -1 : (int32_t)page.type;
    header->header_bytes = (int32_t)in.at;
    return SEAM_OK;
}

int seam_parquet_page_header(const uint8_t *data, int64_t size_bytes,
                             struct seam_parquet_page_header *header, struct seam_error *error) {
    SEAM_TRY(seam_parquet_page_begin(data, size_bytes, header, error));
    struct compact in = {data, size_bytes, header->header_bytes, "page header", -1, -1, error};
    if (header->compressed_bytes != size_bytes - in.at) {
        return compact_fail(&in, SEAM_BAD_INPUT, "the page has another size than its index says");
    }
    if (header->type < 0 || header->uncompressed_bytes < 0 || header->n_values < 0) {
        return compact_fail(&in, SEAM_BAD_INPUT, "its type, size or number of values is missing");
    }
    return SEAM_OK;
}
