/* What a page will look like: worked out before a byte is written, so that its size is known. */
#ifndef SEAM_PRESTO_PLAN_H
#define SEAM_PRESTO_PLAN_H

#include "presto/presto_values.h"

#include "seam/memory.h"
#include "seam/node.h"

/* Memory that is given back all at once. */
struct presto_arena {
    struct seam_allocator *allocator;
    struct presto_arena_block *last;
};

int presto_arena_take(struct presto_arena *arena, int64_t size_bytes, void **out,
                      struct seam_error *error);
void presto_arena_reset(struct presto_arena *arena);

/* One column of a page to be. */
struct presto_plan {
    const struct presto_type *type;
    enum presto_encoding encoding;
    const struct seam_node *node; /* whose rows are written; NULL: every row is null */
    struct presto_rows rows;
    int64_t present; /* rows that are not null */
    int64_t bytes;   /* VARIABLE_WIDTH: of all strings */
    int64_t longest; /* VARIABLE_WIDTH, rows from a list: no string has more bytes */
    int64_t size_bytes;
    bool flags;       /* null flags are written */
    bool hash_table;  /* MAP: one is written */
    bool uniform;     /* VARIABLE_WIDTH, rows from a list: every string has `longest` bytes */
    bool plain_bytes; /* VARIABLE_WIDTH: the strings lie one after the other, as they are written */
    int32_t n_children;
    struct presto_plan *children;
    const int32_t *ids;    /* DICTIONARY: by index of the Arrow dictionary; NULL: as they are */
    int32_t null_id;       /* DICTIONARY: of rows whose index is null */
    const uint8_t *source; /* DICTIONARY: SEAM_PRESTO_SOURCE_BYTES, or NULL for zeros */
};

/* What all strings of a column have in common, worked out once for many selections of it. */
struct presto_sizes {
    const struct seam_node *node; /* whose sizes these are, or NULL */
    int32_t least_bytes;
    int32_t most_bytes;
};

struct seam_presto_writer {
    struct seam_allocator *allocator;
    const struct seam_presto_program *program;
    struct seam_presto_write_options options;
    struct seam_node *batch;
    struct presto_arena arena;
    int64_t n_pages;
    const struct seam_presto_rows *selections;
    int64_t *sizes_bytes;      /* of the pages */
    struct presto_plan *pages; /* n_pages times the columns */
    struct presto_sizes sizes; /* of the column that is planned now */
    int64_t next_mark;
    int64_t next_source;
};

static inline bool presto_flag(const struct seam_presto_writer *writer, int32_t wanted) {
    return (writer->options.flags & wanted) != 0;
}

/* Whether null flags of the column have a bit set. */
static inline bool presto_any_null(const struct presto_plan *plan) {
    return plan->present < plan->rows.count;
}

static inline bool presto_row_valid(const struct seam_node *node, int64_t row) {
    return row >= 0 && node != NULL && seam_node_valid(node, row);
}

/* Fits a layout of Arrow to a type, dictionaries and runs aside. SEAM_BAD_ARGUMENT names both. */
int presto_check_layout(const struct presto_type *type, const struct seam_node *node,
                        struct seam_error *error);

/* Whether a layout came along: then encodings are written as they were read, whatever an engine
 * would make of them. */
static inline bool presto_as_read(const struct seam_presto_writer *writer) {
    return writer->options.marks != NULL;
}

/* Looks through the strings of a column of which many selections are about to be planned. */
void presto_look_at_sizes(struct seam_presto_writer *writer, const struct seam_node *node);
/* Plans a column over `rows` of `node`. `keep`: dictionaries and runs may stay. */
int presto_plan_column(struct seam_presto_writer *writer, const struct presto_type *type,
                       const struct seam_node *node, const struct presto_rows *rows, bool keep,
                       struct presto_plan *out, struct seam_error *error);
/* Plans a dictionary or a run as such, or sees that it cannot stay and sets `*kept` to false. */
int presto_plan_encoded(struct seam_presto_writer *writer, const struct presto_type *type,
                        const struct seam_node *node, const struct presto_rows *rows,
                        struct presto_plan *out, bool *kept, struct seam_error *error);
/* The values behind a dictionary or a run, and their rows for `*rows`; rewrites both. */
int presto_unwrap(struct seam_presto_writer *writer, const struct seam_node **node,
                  struct presto_rows *rows, struct seam_error *error);
/* Marks of the column that is planned now, in the order in which columns begin in the page. */
int presto_take_mark(struct seam_presto_writer *writer, uint8_t *mark, struct seam_error *error);
/* Adds up a plan whose children and parts are known. */
int presto_finish_plan(struct presto_plan *plan, int64_t content_bytes, struct seam_error *error);

/* Fills the slots of a map column's hash table, two for each entry. */
void presto_fill_hash_table(const struct presto_plan *plan, uint8_t *slots);

#endif
