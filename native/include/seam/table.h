/* An off-heap table: vectors, and the chain of addresses that tells a reader where they lie.
 *
 * Life: init with room for a chunk's rows, append to each column, state the number of rows, take
 * the chain, let the reader release column after column, reset. A table belongs to one thread at a
 * time.
 */
#ifndef SEAM_TABLE_H
#define SEAM_TABLE_H

#include "seam/error.h"
#include "seam/memory.h"
#include "seam/vector.h"

#include <stdint.h>

/* A meta chain: int64 words, the first is the number of rows, then per column in order
 *
 *   fixed width     address of null flags, address of values
 *   string, binary  address of null flags, of offsets, of bytes; texts of other kinds likewise
 *   array           address of null flags, of offsets, then the words of the element
 *   map             address of null flags, of offsets, then those of key and value, if asked for
 *   struct          address of null flags, then the words of each field
 *   variant         address of null flags, then the words of metadata and value: seven in all
 *   unknown         0
 *
 * A chain as it crosses a language border is only the address of its words. Where both sides share
 * a process it also carries how many words there are and, word by word, how many bytes each address
 * stands for, so that a reader can check what it is told. */
struct seam_chain {
    const int64_t *words;
    int64_t n_words;        /* -1: unknown */
    const int64_t *extents; /* bytes in use behind each word (0 for words of 0), or NULL: unknown */
    /* Whether dates, datetimes and decimals are formatted texts, laid out as strings are: the form
     * of StarRocks' connector before 2024. Tables of this header have none. */
    int32_t as_text;
};

struct seam_table {
    struct seam_vector *columns;
    uint8_t *released; /* one flag per column */
    int64_t n_columns;
    int64_t rows;
    int64_t *meta;                    /* words, then extents; NULL until the chain is taken */
    struct seam_allocator *allocator; /* borrowed */
};

/* An empty table. `capacity`: rows for which there is room before anything grows. The children of
 * the types must outlive the table. On failure `table` holds nothing. */
int seam_table_init(struct seam_table *table, const struct seam_column_type *types,
                    int64_t n_columns, int64_t capacity, struct seam_allocator *allocator,
                    struct seam_error *error);
/* Releases what is not yet released, then the chain. Harmless when repeated. */
void seam_table_reset(struct seam_table *table);
/* Column `index`, borrowed; NULL if there is none or it is released. */
struct seam_vector *seam_table_column(struct seam_table *table, int64_t index);
/* Appends a record batch (a struct array, which is borrowed) and counts its rows in, in one go or
 * not at all. It has a column for each of the table's that is not of kind unknown, in their order;
 * seam_vector_append_arrow says what fits. SEAM_UNSUPPORTED: another number of columns.
 * SEAM_BAD_ARGUMENT: a column is released. */
int seam_table_append_arrow(struct seam_table *table, const struct ArrowSchema *schema,
                            const struct ArrowArray *batch, struct seam_error *error);
/* States how many rows the table has (a table without columns has rows, too). */
int seam_table_set_rows(struct seam_table *table, int64_t rows, struct seam_error *error);
/* The chain over what is there now; taking it again overwrites the one taken before. Fails with
 * SEAM_BAD_ARGUMENT if a column is released or has another number of rows than stated (columns of
 * kind unknown have none). The chain is the table's and lives until the next call or reset. */
int seam_table_chain(struct seam_table *table, struct seam_chain *out, struct seam_error *error);
/* Gives the buffers of one column back. Harmless when repeated. */
int seam_table_release_column(struct seam_table *table, int64_t index, struct seam_error *error);

#endif
