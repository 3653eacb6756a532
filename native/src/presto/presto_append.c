/* Rows of one column appended to its streams.
 *
 * Work goes piece by piece: a piece is at most PIECE_ROWS rows of one column, with its nulls found
 * and its other rows listed. Pieces live on the stack, so appending allocates nothing but ranges.
 */
#include "stream/presto_stream.h"

enum { PIECE_ROWS = 512 };

/* Elements of at least this many neighbours are appended as a range, fewer are listed. */
enum { RANGE_ELEMENTS = 64 };

struct appender {
    int32_t flags;
    struct seam_error *error;
};

struct piece {
    struct presto_rows rows;    /* all of them */
    struct presto_rows present; /* those without nulls */
    bool any_null;
    uint8_t nulls[PIECE_ROWS / 8]; /* with any_null: a bit a row, the lowest first, 1 = null */
    int32_t kept[PIECE_ROWS];      /* with any_null: the present rows */
};

static int append(const struct appender *appender, struct stream_column *column,
                  const struct seam_node *node, const struct presto_rows *rows);

static struct presto_rows part_of(const struct presto_rows *rows, int64_t begin, int64_t count) {
    if (rows->rows == NULL) {
        return (struct presto_rows){.begin = rows->begin + begin, .count = count};
    }
    return (struct presto_rows){.rows = rows->rows + begin, .count = count, .gaps = rows->gaps};
}

/* --- nulls --- */

/* Whether `count` neighbours are all valid; with them the flags of a piece need no work. */
static bool all_valid(const struct seam_view *view, const struct presto_rows *rows) {
    for (int64_t i = 0; i < rows->count; i += 64) {
        int64_t count = rows->count - i < 64 ? rows->count - i : 64;
        uint64_t bits = presto_load_bits(view->validity, view->offset + rows->begin + i, count);
        if (bits != (count == 64 ? ~UINT64_C(0) : (UINT64_C(1) << count) - 1)) {
            return false;
        }
    }
    return true;
}

/* Finds the nulls of a piece, whose rows are set. */
static void find_nulls(struct piece *piece, const struct seam_node *node) {
    const struct presto_rows *rows = &piece->rows;
    const struct seam_view *view = &node->view;
    bool bare = node->kind == SEAM_NODE_NULLS;
    piece->present = *rows;
    piece->any_null = false;
    if (!bare && view->validity == NULL && !rows->gaps) {
        return;
    }
    if (!bare && rows->rows == NULL && (view->validity == NULL || all_valid(view, rows))) {
        return;
    }
    int64_t kept = 0;
    for (int64_t i = 0; i < rows->count; i++) {
        int64_t row = presto_row(rows, i);
        bool null = bare || row < 0 || !seam_view_valid(view, row);
        uint8_t *byte = &piece->nulls[i / 8];
        *byte = (uint8_t)((i % 8 == 0 ? 0 : *byte) | (unsigned)null << (i % 8));
        piece->kept[kept] = (int32_t)row;
        kept += !null;
    }
    if (kept < rows->count) {
        piece->any_null = true;
        piece->present = (struct presto_rows){.rows = piece->kept, .count = kept};
    }
}

/* The first null: flags of the rows before it are caught up on. */
static int start_flags(const struct appender *appender, struct stream_column *column) {
    struct seam_stream_arena *arena = column->values.arena;
    void *block;
    SEAM_TRY(seam_alloc(arena->runs.allocator, sizeof *column->nulls, &block, appender->error));
    column->nulls = block;
    seam_byte_output_init(column->nulls, arena, 1);
    return seam_byte_output_append_bit(column->nulls, false, column->rows, appender->error);
}

static int append_flags(const struct appender *appender, struct stream_column *column,
                        const struct piece *piece) {
    int code = SEAM_OK;
    if (piece->any_null && column->nulls == NULL) {
        code = start_flags(appender, column);
    }
    if (column->nulls == NULL || code != SEAM_OK) {
        return code;
    }
    return piece->any_null ? seam_byte_output_append_bits(column->nulls, piece->nulls, 0,
                                                          piece->rows.count, appender->error)
                           : seam_byte_output_append_bit(column->nulls, false, piece->rows.count,
                                                         appender->error);
}

/* --- where rows end --- */

static int64_t length_of(const struct presto_type *type, const struct seam_node *node,
                         int64_t row) {
    if (type->encoding == PRESTO_ROW) {
        return 1;
    }
    if (type->kind == SEAM_PRESTO_SLICE) {
        return type->size;
    }
    return seam_node_start(node, row + 1) - seam_node_start(node, row);
}

/* Of strings with offsets of 32 bits, which are read most. */
static int64_t ends_of_strings(const int32_t *restrict offsets, const struct presto_rows *rows,
                               int64_t end, uint8_t *restrict ends) {
    const int32_t *restrict list = rows->rows;
    const int64_t count = rows->count;
    if (list == NULL) { /* as they are, moved */
        offsets += rows->begin;
        const int64_t shift = end - offsets[0];
        for (int64_t i = 0; i < count; i++) {
            seam_store32(ends + i * 4, offsets[i + 1] + shift);
        }
        return offsets[count] + shift;
    }
    for (int64_t i = 0; i < count; i++) {
        end += offsets[list[i] + 1] - offsets[list[i]];
        seam_store32(ends + i * 4, end);
    }
    return end;
}

/* Where rows without nulls end, behind `end`, into 4 bytes each; returns where the last one does.
 */
static int64_t ends_of_present(const struct presto_type *type, const struct seam_node *node,
                               const struct presto_rows *rows, int64_t end, uint8_t *ends) {
    if (type->kind != SEAM_PRESTO_SLICE && node->view.layout == SEAM_LAYOUT_VAR32 &&
        type->encoding != PRESTO_ROW) {
        const int32_t *offsets = (const int32_t *)node->view.offsets + node->view.offset;
        return ends_of_strings(offsets, rows, end, ends);
    }
    for (int64_t i = 0; i < rows->count; i++) {
        end += length_of(type, node, presto_row(rows, i));
        seam_store32(ends + i * 4, end);
    }
    return end;
}

static int check_end(const struct appender *appender, const struct stream_column *column,
                     int64_t end) {
    if (end <= INT32_MAX) {
        return SEAM_OK;
    }
    return seam_fail(appender->error, SEAM_TOO_LARGE, -1,
                     "column '%s' grows to %lld bytes or elements, a page holds at most %d",
                     column->type->name, (long long)end, INT32_MAX);
}

/* Ends of many rows without nulls, straight into the ranges; one may straddle two. */
static int append_many_ends(const struct appender *appender, struct stream_column *column,
                            const struct seam_node *node, const struct presto_rows *rows) {
    int64_t end = column->end;
    for (int64_t done = 0; done < rows->count;) {
        uint8_t *to;
        int64_t room;
        SEAM_TRY(seam_byte_output_space(column->offsets, (rows->count - done) * 4, &to, &room,
                                        appender->error));
        const int64_t rest = room % 4;
        struct presto_rows part = part_of(rows, done, room / 4);
        end = part.count == 0 ? end : ends_of_present(column->type, node, &part, end, to);
        done += part.count;
        if (rest > 0) {
            uint8_t word[4];
            part = part_of(rows, done++, 1);
            end = ends_of_present(column->type, node, &part, end, word);
            memcpy(to + room - rest, word, (size_t)rest);
            SEAM_TRY(
                seam_byte_output_append(column->offsets, word + rest, 4 - rest, appender->error));
        }
    }
    column->end = end;
    return check_end(appender, column, end);
}

static int append_ends(const struct appender *appender, struct stream_column *column,
                       const struct seam_node *node, const struct piece *piece) {
    const struct presto_type *type = column->type;
    int32_t ends[PIECE_ROWS];
    int64_t end = column->end;
    if (!piece->any_null) {
        end = ends_of_present(type, node, &piece->rows, end, (uint8_t *)ends);
    } else {
        int64_t present = 0;
        for (int64_t i = 0; i < piece->rows.count; i++) {
            if (!seam_bit(piece->nulls, i)) {
                end += length_of(type, node, piece->kept[present++]);
            }
            ends[i] = (int32_t)end;
        }
    }
    SEAM_TRY(check_end(appender, column, end));
    column->end = end;
    if (type->encoding == PRESTO_ROW && (appender->flags & SEAM_PRESTO_NULLS_FIRST)) {
        return SEAM_OK; /* written without offsets */
    }
    return seam_byte_output_append(column->offsets, ends, piece->rows.count * 4, appender->error);
}

/* --- values --- */

static int encode(const struct appender *appender, const struct stream_column *column,
                  const struct seam_node *node, const struct presto_rows *rows, uint8_t *to) {
    if (presto_encode(column->type, &node->view, rows, false, to)) { /* NaNs stay as they are */
        return SEAM_OK;
    }
    return seam_fail(appender->error, SEAM_BAD_INPUT, -1,
                     "column '%s' holds a value that its type cannot have", column->type->name);
}

/* Straight into the ranges; a value may straddle two. */
static int append_fixed(const struct appender *appender, struct stream_column *column,
                        const struct seam_node *node, const struct presto_rows *rows) {
    const int64_t width = column->type->wire_bytes;
    int64_t done = 0;
    while (done < rows->count) {
        uint8_t *to;
        int64_t room;
        SEAM_TRY(seam_byte_output_space(&column->values, (rows->count - done) * width, &to, &room,
                                        appender->error));
        struct presto_rows part = part_of(rows, done, room / width);
        SEAM_TRY(encode(appender, column, node, &part, to));
        done += part.count;
        int64_t rest = room % width;
        if (rest > 0) {
            uint8_t value[16];
            part = part_of(rows, done++, 1);
            SEAM_TRY(encode(appender, column, node, &part, value));
            memcpy(to + room - rest, value, (size_t)rest);
            SEAM_TRY(seam_byte_output_append(&column->values, value + rest, width - rest,
                                             appender->error));
        }
    }
    return SEAM_OK;
}

/* --- columns in columns --- */

/* The same rows for the element of an array, or for key and value of a map. */
static int append_entries(const struct appender *appender, struct stream_column *column,
                          const struct seam_node *node, const struct presto_rows *rows) {
    struct stream_column *child = stream_child(column);
    if (node->kind == SEAM_NODE_LIST) {
        return append(appender, child, &node->children[0], rows);
    }
    SEAM_TRY(append(appender, child, stream_entry(node, 0), rows));
    if (child->nulls != NULL) {
        return seam_fail(appender->error, SEAM_BAD_INPUT, -1, "a key of map '%s' is null",
                         column->type->name);
    }
    return append(appender, stream_next(child), stream_entry(node, 1), rows);
}

/* Elements waiting for others, and their number. */
struct waiting {
    int32_t rows[PIECE_ROWS];
    int64_t count;
};

static int append_waiting(const struct appender *appender, struct stream_column *column,
                          const struct seam_node *node, struct waiting *waiting) {
    struct presto_rows rows = {.rows = waiting->rows, .count = waiting->count};
    waiting->count = 0;
    return rows.count == 0 ? SEAM_OK : append_entries(appender, column, node, &rows);
}

/* One row's elements: listed when they are few, appended as a range when they are many. */
static int append_range(const struct appender *appender, struct stream_column *column,
                        const struct seam_node *node, struct waiting *waiting, int64_t begin,
                        int64_t end) {
    int code = SEAM_OK;
    if (waiting->count + end - begin > PIECE_ROWS || end - begin >= RANGE_ELEMENTS) {
        code = append_waiting(appender, column, node, waiting);
    }
    if (end - begin >= RANGE_ELEMENTS) {
        struct presto_rows range = {.begin = begin, .count = end - begin};
        return code == SEAM_OK ? append_entries(appender, column, node, &range) : code;
    }
    for (int64_t row = begin; row < end; row++) {
        waiting->rows[waiting->count++] = (int32_t)row;
    }
    return code;
}

static int append_elements(const struct appender *appender, struct stream_column *column,
                           const struct seam_node *node, const struct presto_rows *rows) {
    if (rows->rows == NULL) {
        struct presto_rows range = {.begin = seam_node_start(node, rows->begin)};
        range.count = seam_node_start(node, rows->begin + rows->count) - range.begin;
        return append_entries(appender, column, node, &range);
    }
    struct waiting waiting = {.count = 0};
    for (int64_t i = 0; i < rows->count; i++) {
        int64_t row = rows->rows[i];
        SEAM_TRY(append_range(appender, column, node, &waiting, seam_node_start(node, row),
                              seam_node_start(node, row + 1)));
    }
    return append_waiting(appender, column, node, &waiting);
}

/* A null row has no fields. */
static int append_fields(const struct appender *appender, struct stream_column *column,
                         const struct seam_node *node, const struct presto_rows *rows) {
    struct stream_column *child = stream_child(column);
    for (int64_t i = 0; i < node->n_children; i++) {
        SEAM_TRY(append(appender, child, &node->children[i], rows));
        child = stream_next(child);
    }
    return SEAM_OK;
}

/* --- all of it --- */

static int append_piece(const struct appender *appender, struct stream_column *column,
                        const struct seam_node *node, const struct piece *piece) {
    const struct presto_rows *present = &piece->present;
    int64_t begin = column->end;
    int code = append_flags(appender, column, piece);
    if (code == SEAM_OK && piece->rows.count > PIECE_ROWS && !presto_is_fixed(column->type)) {
        code = append_many_ends(appender, column, node, &piece->rows);
    } else if (code == SEAM_OK && !presto_is_fixed(column->type)) {
        code = append_ends(appender, column, node, piece);
    }
    column->rows += piece->rows.count;
    if (code != SEAM_OK || present->count == 0) {
        return code;
    }
    switch (column->type->encoding) {
    case PRESTO_VARIABLE_WIDTH:
        return presto_append_strings(column, node, present, column->end - begin, appender->error);
    case PRESTO_ARRAY:
    case PRESTO_MAP:
        return append_elements(appender, column, node, present);
    case PRESTO_ROW:
        return append_fields(appender, column, node, present);
    default:
        return append_fixed(appender, column, node, present);
    }
}

/* Dictionaries and runs are written out: their rows become rows of the values. */
static int append_encoded(const struct appender *appender, struct stream_column *column,
                          const struct seam_node *node, const struct presto_rows *rows) {
    bool dictionary = node->kind == SEAM_NODE_DICTIONARY;
    const struct seam_node *values = &node->children[dictionary ? 0 : 1];
    int32_t mapped[PIECE_ROWS];
    for (int64_t done = 0; done < rows->count; done += PIECE_ROWS) {
        int64_t left = rows->count - done;
        struct presto_rows part = {.rows = mapped, .count = left < PIECE_ROWS ? left : PIECE_ROWS};
        for (int64_t i = 0; i < part.count; i++) {
            int64_t row = presto_row(rows, done + i);
            bool null = row < 0 || (dictionary && !seam_view_valid(&node->view, row));
            int64_t at = -1;
            if (!null) {
                at = dictionary ? seam_node_index(node, row) : seam_node_run(node, row);
            }
            part.gaps |= null;
            mapped[i] = (int32_t)at;
        }
        SEAM_TRY(append(appender, column, values, &part));
    }
    return SEAM_OK;
}

static int append(const struct appender *appender, struct stream_column *column,
                  const struct seam_node *node, const struct presto_rows *rows) {
    if (node->kind == SEAM_NODE_DICTIONARY || node->kind == SEAM_NODE_RUNS) {
        return append_encoded(appender, column, node, rows);
    }
    if (column->rows + rows->count > INT32_MAX) {
        return seam_fail(appender->error, SEAM_TOO_LARGE, -1,
                         "column '%s' grows to %lld rows, a page holds at most %d",
                         column->type->name, (long long)(column->rows + rows->count), INT32_MAX);
    }
    struct piece piece;
    /* Strings without nulls, too, need no lists of rows. */
    bool simple = presto_is_fixed(column->type) || column->type->encoding == PRESTO_VARIABLE_WIDTH;
    bool at_once =
        simple && node->kind == SEAM_NODE_FLAT && node->view.validity == NULL && !rows->gaps;
    int64_t most = at_once ? rows->count : PIECE_ROWS;
    for (int64_t done = 0; done < rows->count; done += most) {
        int64_t left = rows->count - done;
        piece.rows = part_of(rows, done, left < most ? left : most);
        find_nulls(&piece, node);
        SEAM_TRY(append_piece(appender, column, node, &piece));
    }
    return SEAM_OK;
}

int presto_append_rows(struct stream_column *column, const struct seam_node *node,
                       const struct presto_rows *rows, int32_t flags, struct seam_error *error) {
    const struct appender appender = {.flags = flags, .error = error};
    return append(&appender, column, node, rows);
}
