/* Footers of Parquet files: what must hold of them before a reader looks at their column chunks,
 * and the indexes of pages: which rows each page has, and between which bounds its values lie.
 *
 * Source of the rules: parquet.thrift of the Parquet format, in Thrift's compact protocol.
 */
#ifndef SEAM_PARQUET_H
#define SEAM_PARQUET_H

#include "seam/error.h"

#include <stdint.h>

enum {
    SEAM_PARQUET_INT32 = 1, /* of the enum Type */
    SEAM_PARQUET_BYTE_ARRAY = 6,
    SEAM_PARQUET_FIXED_LEN_BYTE_ARRAY = 7,
};

/* A column without columns below it, as the footer's schema describes it. */
struct seam_parquet_leaf {
    int32_t physical_type; /* of the enum Type */
    int32_t max_repetition;
    int32_t max_definition;
    int32_t value_bytes; /* what a value takes at least; 0 where lengths differ */
    const uint8_t *path; /* the names that lead to it, with points between them */
    int64_t path_bytes;
};

/* How a column's types are told, with what is below it. DuckDB 2.0 takes texts, dates, decimals,
 * lists and maps without a converted type for what they are stored as, times without a logical type
 * for such of no zone, enums for texts, and checks JSON. It refuses files with BSON or maps marked
 * as their entries, Polars 2.1 those with intervals, or with unknown types but of INT32. */
enum seam_parquet_telling {
    SEAM_PARQUET_COMMON,
    SEAM_PARQUET_TAKEN_OTHERWISE,
    SEAM_PARQUET_REFUSED,
};

/* By what the chunks of a file are checked. */
struct seam_parquet_rules {
    int64_t n_leaves;
    int64_t n_groups;
    int64_t n_columns; /* of the schema's root */
    uint8_t *tellings; /* receives for each of them one of the enum */
    int64_t *spans;    /* receives for each chunk with values where it begins and ends; or NULL */
    uint8_t *without_cut; /* a copy of the footer, to hide bounds in that are cut; or NULL */
    int32_t lists_levels; /* the writer names RLE where a chunk has levels, and where it lacks those
                             of one kind BIT_PACKED, by which chunks of other writers are known */
};

/* Checks the column chunks of a footer, FileMetaData without anything around it: every row group
 * has one of each leaf, with metadata that is not encrypted, of the leaf's type and path, whose
 * histograms of levels are missing or have one number a level, and which counts bytes of texts only
 * if it has some; bounds are whole values, or of a fixed length and cut, as arrow-rs has them
 * beyond 64 bytes, which readers take for whole ones: in `without_cut` fields of such statistics
 * have numbers that nobody knows, from the first such bound on; nulls are counted where there may
 * be some, and columns have as many values as rows, those with lists at least; what is not
 * compressed has one size, and a row group not twice the bytes of its chunks; and every element of
 * the schema is required, optional or repeated, and tells a decimal, an integer and the unit of a
 * time alike as old readers know it and as new ones do. SEAM_BAD_INPUT: it breaks that or ends
 * early; SEAM_UNSUPPORTED: a chunk is encrypted, or in a codec that is not known. Offsets of errors
 * are those in `data`. */
int seam_parquet_check_chunks(const uint8_t *data, int64_t size_bytes,
                              const struct seam_parquet_leaf *leaves,
                              const struct seam_parquet_rules *rules, struct seam_error *error);

/* What lies in a file from an offset on; nothing where `size_bytes` is 0. */
struct seam_parquet_place {
    int64_t offset;
    int64_t size_bytes;
};

/* What a footer says of a column chunk beyond what pyarrow shows. */
struct seam_parquet_chunk {
    struct seam_parquet_place offset_index;
    struct seam_parquet_place column_index;
    int32_t codec; /* of the enum CompressionCodec; -1 where it is missing */
};

/* Finds the indexes of every column chunk, and where in `data` each leaf's SchemaElement lies.
 *
 * `chunks` has room for `n_groups` times `n_leaves`, row group by row group, `leaves` for
 * `n_leaves`. SEAM_BAD_INPUT: the footer has other numbers of these, or ends early. */
int seam_parquet_find_indexes(const uint8_t *data, int64_t size_bytes, int64_t n_groups,
                              int64_t n_leaves, struct seam_parquet_place *leaves,
                              struct seam_parquet_chunk *chunks, struct seam_error *error);

struct seam_parquet_page {
    int64_t offset;     /* of its header in the file */
    int64_t size_bytes; /* its header among them */
    int64_t first_row;  /* in its row group */
};

/* What an OffsetIndex of fewer bytes could not describe: a page takes more than these. */
enum { SEAM_PARQUET_PAGE_BYTES = 6 };

/* Reads an OffsetIndex of a chunk that has the bytes from `begin` up to `end` of its file, and
 * `n_rows` rows. `pages` has room for `size_bytes / SEAM_PARQUET_PAGE_BYTES`.
 *
 * SEAM_BAD_INPUT: it ends early, a page lies outside the chunk or before the end of the one before
 * it, or first rows do not rise from 0 below `n_rows`. */
int seam_parquet_offset_index(const uint8_t *data, int64_t size_bytes, int64_t begin, int64_t end,
                              int64_t n_rows, struct seam_parquet_page *pages, int64_t *n_pages,
                              struct seam_error *error);

/* What a ColumnIndex says of a page; both places are in the bytes of the index. */
struct seam_parquet_bounds {
    struct seam_parquet_place least;
    struct seam_parquet_place greatest;
    int64_t nulls;   /* -1: not told */
    int32_t is_null; /* all of its values */
};

/* Reads a ColumnIndex of `n_pages` pages into as many `bounds`.
 *
 * SEAM_BAD_INPUT: it ends early, lacks bounds, or a list has another length. */
int seam_parquet_column_index(const uint8_t *data, int64_t size_bytes, int64_t n_pages,
                              struct seam_parquet_bounds *bounds, struct seam_error *error);

struct seam_parquet_page_header {
    int32_t type; /* of the enum PageType */
    int32_t header_bytes;
    int64_t compressed_bytes; /* without the header, as the others */
    int64_t uncompressed_bytes;
    int64_t n_values;
    int64_t n_rows; /* of the second format of data pages; -1 in others */
};

/* Reads the header at the begin of some bytes, which need not hold all of its page.
 *
 * SEAM_BAD_INPUT: the header is broken, or goes beyond the bytes. */
int seam_parquet_page_begin(const uint8_t *data, int64_t size_bytes,
                            struct seam_parquet_page_header *header, struct seam_error *error);

/* Checks a page that takes `size_bytes` in its file, and reads its header.
 *
 * SEAM_BAD_INPUT: it has another size than its header says, or the header is broken. */
int seam_parquet_page_header(const uint8_t *data, int64_t size_bytes,
                             struct seam_parquet_page_header *header, struct seam_error *error);

#endif
