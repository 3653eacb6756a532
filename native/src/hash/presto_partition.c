/* Selections of one batch appended to many streams at once. */
#include "stream/presto_stream.h"

int presto_rows_check(const struct seam_presto_rows *selection, int64_t rows,
                      struct seam_error *error) {
    int64_t begin = selection->begin;
    bool good = selection->count >= 0;
    if (selection->rows == NULL) {
        good &= begin >= 0 && begin <= rows && selection->count <= rows - begin;
    } else {
        bool inside = true;
        for (int64_t i = 0; i < selection->count; i++) {
            inside &= selection->rows[i] >= 0 && selection->rows[i] < rows;
        }
        good &= inside;
    }
    return good ? SEAM_OK
                : seam_fail(error, SEAM_BAD_ARGUMENT, -1,
                            "a selection asks for rows that a batch of %lld rows does not have",
                            (long long)rows);
}

/* Before anything is changed: programs, states and selections. */
static int check_append(struct seam_presto_stream *const *streams,
                        const struct seam_presto_source *source,
                        const struct seam_presto_rows *selections, int64_t n,
                        struct seam_error *error) {
    for (int64_t i = 0; i < n; i++) {
        if (streams[i]->program != source->program || streams[i]->broken) {
            return seam_fail(error, SEAM_BAD_ARGUMENT, -1, "serializer %lld %s", (long long)i,
                             streams[i]->broken ? "failed half-way in an append: clear it first"
                                                : "is of other types than the batch");
        }
        SEAM_TRY(presto_rows_check(&selections[i], source->batch->view.length, error));
    }
    return SEAM_OK;
}

int seam_presto_stream_append(struct seam_presto_stream *const *streams,
                              const struct seam_presto_source *source,
                              const struct seam_presto_rows *selections, int64_t n,
                              struct seam_error *error) {
    SEAM_TRY(check_append(streams, source, selections, n, error));
    int code = SEAM_OK;
    for (int64_t i = 0; i < n; i++) {
        streams[i]->broken = true; /* until it is done */
    }
    /* All rows of a column at once: windows of rows keep the batch in the cache, but open each
     * stream's ranges again and again, which costs more. */
    int32_t at = 0;
    for (int32_t c = 0; c < source->program->n_columns; c++) {
        const struct seam_node *node = &source->batch->children[c];
        for (int64_t i = 0; i < n && code == SEAM_OK; i++) {
            const struct presto_rows rows = {.rows = selections[i].rows,
                                             .begin = selections[i].begin,
                                             .count = selections[i].count};
            code =
                presto_append_rows(&streams[i]->columns[at], node, &rows, streams[i]->flags, error);
        }
        at += source->program->types[at].span;
    }
    for (int64_t i = 0; i < n && code == SEAM_OK; i++) {
        streams[i]->rows += selections[i].count;
        streams[i]->broken = false;
    }
    return code;
}
