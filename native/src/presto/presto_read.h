/* What the readers of a payload's columns share. */
#ifndef SEAM_PRESTO_READ_H
#define SEAM_PRESTO_READ_H

#include "presto/presto_column.h"

#include "seam/presto_page.h"

struct presto_reader {
    const uint8_t *payload;
    int64_t size_bytes;
    int64_t position;
    const struct seam_presto_read_options *options;
    struct presto_budget budget;
    struct seam_presto_trace *trace;
    struct seam_error *error;
    bool alone; /* one column or value, not a page */
};

/* The code stands outside the call, so that the compiler sees that it is not 0. */
#define PRESTO_FAIL(reader, at, ...)                                                               \
    (seam_fail((reader)->error, SEAM_BAD_INPUT, (reader)->options->base_bytes + (at),              \
               __VA_ARGS__),                                                                       \
     SEAM_BAD_INPUT)

static inline bool presto_reads(const struct presto_reader *reader, int32_t wanted) {
    return (reader->options->flags & wanted) != 0;
}

static inline int64_t presto_remaining(const struct presto_reader *reader) {
    return reader->size_bytes - reader->position;
}

/* `size` more bytes, or a refusal that says what they were to be. */
int presto_need(struct presto_reader *reader, const struct presto_type *type, int64_t size,
                const char *what, const uint8_t **out);
int presto_read_i32(struct presto_reader *reader, const struct presto_type *type, const char *what,
                    int32_t *out);
/* A number of rows, fields or bytes, which is held to the size limit. */
int presto_read_count(struct presto_reader *reader, const struct presto_type *type,
                      const char *what, int64_t *out);
/* A place for the marks of the column that begins here, and what stands there. */
int presto_open_mark(struct presto_reader *reader, int64_t *mark);
void presto_set_mark(struct presto_reader *reader, int64_t mark, int32_t bits);

/* The first of `rows` rows that ends before it begins, or `rows`. */
int64_t presto_first_fall(const int32_t *offsets, int64_t rows);
/* Null flags of out->length rows; sets validity and null count. */
int presto_read_flags(struct presto_reader *reader, int64_t mark, struct presto_column *out);

/* Each of these reads what follows the name of a column's encoding. */
int presto_read_fixed(struct presto_reader *reader, int64_t mark, struct presto_column *out);
int presto_read_bare_nulls(struct presto_reader *reader, int64_t mark, struct presto_column *out);
int presto_read_variable(struct presto_reader *reader, int64_t mark, struct presto_column *out);
int presto_read_array(struct presto_reader *reader, int64_t mark, int depth,
                      struct presto_column *out);
int presto_read_map(struct presto_reader *reader, int64_t mark, int depth,
                    struct presto_column *out);
int presto_read_row(struct presto_reader *reader, int64_t mark, int depth,
                    struct presto_column *out);
/* One map or row alone. */
int presto_read_element(struct presto_reader *reader, int64_t mark, int depth,
                        struct presto_column *out);

/* A whole column, its name first. */
int presto_read_column(struct presto_reader *reader, const struct presto_type *type, int depth,
                       struct presto_column *out);

#endif
