/* Batches as messages of Arrow's IPC format, read again by the rules of flatbuffers and of the
 * format: every row is as it was, nulls are counted, buffers begin where they should.
 *
 * Input: a byte of options, one for the rows, then the columns. */
#include "seam/ipc_message.h"

#include "columns.h"

enum { COLUMNS = 2, MESSAGE_LENGTH = 3, MESSAGE_HEADER = 2, BATCH_NODES = 1, BATCH_BUFFERS = 2 };

static void no_release(struct ArrowArray *array) {
    array->release = NULL;
}

/* The metadata of a message, and what of its nodes and buffers was read. */
struct message {
    const uint8_t *flat;
    int64_t flat_bytes;
    const uint8_t *body;
    int64_t body_bytes;
    int64_t nodes, buffers; /* where the next one is */
};

static int64_t number(const struct message *message, int64_t at, int width) {
    expect(at >= 0 && at + width <= message->flat_bytes && at % width == 0);
    return word_at(message->flat + at, 0, width);
}

/* Where a field of a table is; every one is there. */
static int64_t field(const struct message *message, int64_t table, int which) {
    int64_t vtable = table - number(message, table, 4);
    expect(number(message, vtable, 2) >= 4 + 2 * (which + 1));
    int64_t at = number(message, vtable + 4 + 2 * which, 2);
    expect(at > 0 && at < number(message, vtable + 2, 2));
    return table + at;
}

static int64_t follow(const struct message *message, int64_t at) {
    return at + number(message, at, 4);
}

static const void *next_buffer(struct pool *pool, struct message *message, int64_t least_bytes) {
    int64_t offset = number(message, message->buffers, 8);
    int64_t size_bytes = number(message, message->buffers + 8, 8);
    message->buffers += 16;
    expect(offset % 64 == 0 && size_bytes >= 0 && offset + size_bytes <= message->body_bytes);
    expect(size_bytes >= least_bytes);
    void *copy = size_bytes == 0 ? NULL : keep(pool, (size_t)size_bytes);
    if (copy != NULL) {
        memcpy(copy, message->body + offset, (size_t)size_bytes);
    }
    return copy;
}

/* The next column, as the format lays its nodes and buffers out. */
static struct ArrowArray *next_column(struct pool *pool, struct message *message,
                                      const struct ArrowSchema *schema) {
    int is_list = strcmp(schema->format, "+l") == 0 || strcmp(schema->format, "+L") == 0;
    int is_struct = strcmp(schema->format, "+s") == 0;
    int width = is_list ? (schema->format[1] == 'L' ? -8 : -4) : width_of(schema->format);
    int n_buffers = is_struct ? 1 : is_list || width >= 0 ? 2 : 3;
    struct column made = new_column(pool, schema->format, 0, n_buffers, (int)schema->n_children);
    int64_t rows = made.array->length = number(message, message->nodes, 8);
    made.array->null_count = number(message, message->nodes + 8, 8);
    message->nodes += 16;
    int64_t nulls = made.array->null_count;
    made.array->buffers[0] = next_buffer(pool, message, nulls > 0 ? (rows + 7) / 8 : 0);
    if (!is_struct) {
        int64_t least = width == 0 ? (rows + 7) / 8 : width > 0 ? rows * width : 0;
        least = width < 0 && rows > 0 ? (rows + 1) * -width : least;
        made.array->buffers[1] = next_buffer(pool, message, least);
    }
    if (n_buffers == 3) {
        int64_t end = rows > 0 ? word_at(made.array->buffers[1], rows, -width) : 0;
        made.array->buffers[2] = next_buffer(pool, message, end);
    }
    for (int64_t row = 0; row < rows; row++) {
        nulls -= !is_valid(made.array, row);
    }
    expect(nulls == 0);
    for (int64_t i = 0; i < schema->n_children; i++) {
        made.array->children[i] = next_column(pool, message, schema->children[i]);
    }
    return made.array;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct input input = {data, size};
    uint8_t options = take(&input);
    struct pool pool = {.n = 0, .from_first_row = (options & 3) != 3};
    struct seam_error error;
    int rows = take(&input) & 15;
    struct column columns[COLUMNS];
    for (int i = 0; i < COLUMNS; i++) {
        columns[i] = random_column(&pool, &input, rows, 2, options >> 2 == 63);
    }
    struct column batch = batch_of(&pool, columns, COLUMNS, rows);
    struct ArrowArray given = *batch.array;
    given.release = no_release;
    struct seam_allocator *allocator = seam_allocator_new(0);
    struct seam_ipc_message *made;
    int code = seam_ipc_message_new(allocator, batch.schema, &given, &made, &error);
    expect(code == SEAM_OK || (code == SEAM_UNSUPPORTED && made == NULL && given.release != NULL));
    expect(code == SEAM_OK || !pool.from_first_row || options >> 2 == 63);
    if (code == SEAM_OK) {
        int64_t n;
        const struct seam_piece *pieces = seam_ipc_message_pieces(made, &n);
        int64_t all_bytes = seam_ipc_message_bytes(made), at = 0;
        for (int64_t i = 0; i < n; i++) {
            at += pieces[i].size_bytes;
        }
        expect(at == all_bytes && all_bytes % 64 == 0);
        uint8_t *bytes = keep(&pool, (size_t)all_bytes);
        seam_pieces_join(pieces, n, bytes);
        expect(word_at(bytes, 0, 4) == -1);
        struct message message = {.flat = bytes + 8, .flat_bytes = word_at(bytes, 1, 4)};
        expect((message.flat_bytes + 8) % 64 == 0);
        message.body = message.flat + message.flat_bytes;
        message.body_bytes = all_bytes - 8 - message.flat_bytes;
        int64_t root = follow(&message, 0);
        expect(number(&message, field(&message, root, MESSAGE_LENGTH), 8) == message.body_bytes);
        expect(number(&message, field(&message, root, 0), 2) == 4); /* V5 */
        int64_t record = follow(&message, field(&message, root, MESSAGE_HEADER));
        expect(number(&message, field(&message, record, 0), 8) == rows);
        message.nodes = follow(&message, field(&message, record, BATCH_NODES)) + 4;
        message.buffers = follow(&message, field(&message, record, BATCH_BUFFERS)) + 4;
        for (int i = 0; i < COLUMNS; i++) {
            const struct ArrowArray *found = next_column(&pool, &message, columns[i].schema);
            expect(found->length == rows);
            for (int64_t row = 0; row < rows; row++) {
                expect_same_row(columns[i].schema, found, row, columns[i].schema, columns[i].array,
                                row);
            }
        }
        seam_ipc_message_free(made);
    }
    seam_allocator_release(allocator);
    drop(&pool);
    return 0;
}
