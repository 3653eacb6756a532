#include "seam/ipc_message.h"

#include "base/words.h"
#include "seam/arrow_build.h"
#include "seam/node.h"

#include <string.h>

/* Where things are in the metadata (Message.fbs, written out by hand): tables of one shape, whose
 * fields are always all there. Positions count from the beginning of the flatbuffer. */
enum {
    ALIGNMENT = 64,
    PREFIX_BYTES = 8, /* a continuation of ones, then the size of the metadata */
    MESSAGE_VTABLE = 4,
    MESSAGE = 16, /* behind its vtable of 12 bytes: a version, a type, a length, a header */
    MESSAGE_BYTES = 24,
    BATCH_VTABLE = 40,
    BATCH = 56, /* behind its vtable of 10 bytes: nodes, a length, buffers */
    BATCH_BYTES = 24,
    NODES = 84, /* a count; then the nodes, aligned to 8 */
    NODE_BYTES = 16,
    BUFFER_BYTES = 16,
};
enum { VERSION_5 = 4, HEADER_RECORD_BATCH = 3 };

static const uint8_t ZEROS[ALIGNMENT];

struct seam_ipc_message {
    struct ArrowArray batch; /* its buffers are the pieces */
    struct seam_piece *pieces;
    int64_t n_pieces;
    int64_t size_bytes;
};

/* Nodes and buffers of a column and what is below it. */
struct counts {
    int64_t nodes;
    int64_t buffers;
};

struct writing {
    uint8_t *nodes;   /* where the next one goes */
    uint8_t *buffers; /* the same */
    int64_t body_bytes;
    struct seam_piece *pieces;
    int64_t n_pieces;
};

static int64_t aligned(int64_t size_bytes) {
    return (size_bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static void put16(uint8_t *at, uint16_t value) {
    memcpy(at, &value, sizeof value);
}
static int64_t buffers_of(const struct seam_node *node) {
    if (node->kind == SEAM_NODE_NULLS) {
        return 0;
    }
    if (node->kind == SEAM_NODE_STRUCT) {
        return 1;
    }
    bool counted = node->view.layout == SEAM_LAYOUT_VAR32 || node->view.layout == SEAM_LAYOUT_VAR64;
    return counted && node->kind == SEAM_NODE_FLAT ? 3 : 2;
}

static int count(const struct seam_node *node, struct counts *counts, struct seam_error *error) {
    if (node->kind == SEAM_NODE_DICTIONARY || node->kind == SEAM_NODE_RUNS ||
        node->view.offset != 0) {
        return seam_fail(error, SEAM_UNSUPPORTED, -1,
                         "column '%s' of format '%s' that begins at row %lld cannot be sent as it "
                         "lies",
                         node->name, node->format, (long long)node->view.offset);
    }
    counts->nodes += 1;
    counts->buffers += buffers_of(node);
    for (int64_t i = 0; i < node->n_children; i++) {
        SEAM_TRY(count(&node->children[i], counts, error));
    }
    return SEAM_OK;
}

static void put_piece(struct writing *writing, const void *data, int64_t size_bytes) {
    if (size_bytes > 0) {
        writing->pieces[writing->n_pieces] =
            (struct seam_piece){.data = data, .size_bytes = size_bytes};
        writing->n_pieces += 1;
    }
}

static void put_buffer(struct writing *writing, const void *data, int64_t size_bytes) {
    seam_store64(writing->buffers, writing->body_bytes);
    seam_store64(writing->buffers + 8, size_bytes);
    writing->buffers += BUFFER_BYTES;
    put_piece(writing, data, size_bytes);
    put_piece(writing, ZEROS, aligned(size_bytes) - size_bytes);
    writing->body_bytes += aligned(size_bytes);
}

static int64_t nulls_of(const struct seam_node *node, const struct ArrowArray *array) {
    if (node->kind == SEAM_NODE_NULLS) {
        return node->view.length;
    }
    if (node->view.validity == NULL || array->null_count >= 0) {
        return node->view.validity == NULL ? 0 : array->null_count;
    }
    int64_t nulls = 0;
    for (int64_t row = 0; row < node->view.length; row++) {
        nulls += !seam_bit(node->view.validity, row);
    }
    return nulls;
}

/* Offsets and, of strings, bytes. Where there are no rows there may be no offsets either. */
static void put_counted(struct writing *writing, const struct seam_node *node) {
    const struct seam_view *view = &node->view;
    int64_t width = view->layout == SEAM_LAYOUT_VAR32 ? 4 : 8;
    int64_t rows = view->length;
    put_buffer(writing, view->offsets, rows > 0 ? (rows + 1) * width : 0);
    if (node->kind == SEAM_NODE_FLAT) {
        int64_t end = 0;
        if (rows > 0) {
            end = width == 4 ? ((const int32_t *)view->offsets)[rows]
                             : ((const int64_t *)view->offsets)[rows];
        }
        put_buffer(writing, view->data, end);
    }
}

static void put_node(struct writing *writing, const struct seam_node *node,
                     const struct ArrowArray *array) {
    const struct seam_view *view = &node->view;
    int64_t nulls = nulls_of(node, array);
    seam_store64(writing->nodes, view->length);
    seam_store64(writing->nodes + 8, nulls);
    writing->nodes += NODE_BYTES;
    if (node->kind != SEAM_NODE_NULLS) {
        put_buffer(writing, view->validity, nulls > 0 ? (view->length + 7) / 8 : 0);
    }
    switch (buffers_of(node)) {
    case 2:
        if (node->kind == SEAM_NODE_FLAT) {
            bool bits = view->layout == SEAM_LAYOUT_BITS;
            put_buffer(writing, view->data,
                       bits ? (view->length + 7) / 8 : view->length * view->width_bytes);
            break;
        }
        put_counted(writing, node);
        break;
    case 3:
        put_counted(writing, node);
        break;
    default:
        break;
    }
    for (int64_t i = 0; i < node->n_children; i++) {
        put_node(writing, &node->children[i], array->children[i]);
    }
}

/* A table's vtable: its size, the table's size, where each field is in it (0: not there). */
static void put_vtable(uint8_t *at, uint16_t table_bytes, const uint16_t *fields, int n) {
    put16(at, (uint16_t)(4 + 2 * n));
    put16(at + 2, table_bytes);
    for (int i = 0; i < n; i++) {
        put16(at + 4 + 2 * i, fields[i]);
    }
}

/* All but nodes and buffers; `flat` is zeroed. */
static void put_tables(uint8_t *flat, const struct counts *counts, int64_t rows,
                       int64_t body_bytes) {
    const uint16_t message[4] = {4, 6, 16, 8}; /* version, header's type, header, body's length */
    const uint16_t batch[3] = {8, 4, 16};      /* length, nodes, buffers */
    int64_t buffers = NODES + 4 + counts->nodes * NODE_BYTES + 4;
    seam_store32(flat, MESSAGE);
    put_vtable(flat + MESSAGE_VTABLE, MESSAGE_BYTES, message, 4);
    seam_store32(flat + MESSAGE, MESSAGE - MESSAGE_VTABLE);
    put16(flat + MESSAGE + 4, VERSION_5);
    flat[MESSAGE + 6] = HEADER_RECORD_BATCH;
    seam_store64(flat + MESSAGE + 8, body_bytes);
    seam_store32(flat + MESSAGE + 16, BATCH - (MESSAGE + 16));
    put_vtable(flat + BATCH_VTABLE, BATCH_BYTES, batch, 3);
    seam_store32(flat + BATCH, BATCH - BATCH_VTABLE);
    seam_store32(flat + BATCH + 4, NODES - (BATCH + 4));
    seam_store64(flat + BATCH + 8, rows);
    seam_store32(flat + BATCH + 16, buffers - (BATCH + 16));
    seam_store32(flat + NODES, counts->nodes);
    seam_store32(flat + buffers, counts->buffers);
}

/* The message of a batch whose columns were counted; everything it needs is one block. */
static int write_message(struct seam_allocator *allocator, const struct seam_node *root,
                         const struct ArrowArray *batch, const struct counts *counts,
                         struct seam_ipc_message **out, struct seam_error *error) {
    int64_t flat_bytes =
        NODES + 4 + counts->nodes * NODE_BYTES + 8 + counts->buffers * BUFFER_BYTES;
    int64_t head_bytes = aligned(PREFIX_BYTES + flat_bytes);
    int64_t pieces_bytes = (1 + 2 * counts->buffers) * (int64_t)sizeof(struct seam_piece);
    void *block;
    SEAM_TRY(
        seam_alloc(allocator, (size_t)(head_bytes + pieces_bytes) + sizeof **out, &block, error));
    uint8_t *head = block;
    memset(head, 0, (size_t)head_bytes);
    struct seam_ipc_message *message = (void *)(head + head_bytes + pieces_bytes);
    uint8_t *flat = head + PREFIX_BYTES;
    struct writing writing = {.nodes = flat + NODES + 4,
                              .buffers = flat + NODES + 4 + counts->nodes * NODE_BYTES + 8,
                              .pieces = (void *)(head + head_bytes)};
    put_piece(&writing, head, head_bytes);
    for (int64_t i = 0; i < root->n_children; i++) {
        put_node(&writing, &root->children[i], batch->children[i]);
    }
    seam_store32(head, -1);
    seam_store32(head + 4, head_bytes - PREFIX_BYTES);
    put_tables(flat, counts, batch->length, writing.body_bytes);
    message->pieces = writing.pieces;
    message->n_pieces = writing.n_pieces;
    message->size_bytes = head_bytes + writing.body_bytes;
    *out = message;
    return SEAM_OK;
}

int seam_ipc_message_new(struct seam_allocator *allocator, const struct ArrowSchema *schema,
                         struct ArrowArray *batch, struct seam_ipc_message **out,
                         struct seam_error *error) {
    struct seam_node *root;
    struct counts counts = {0, 0};
    *out = NULL;
    SEAM_TRY(seam_node_open(allocator, schema, batch, &root, error));
    int code = SEAM_OK;
    for (int64_t i = 0; code == SEAM_OK && i < root->n_children; i++) {
        code = count(&root->children[i], &counts, error);
    }
    if (code == SEAM_OK) {
        code = write_message(allocator, root, batch, &counts, out, error);
    }
    if (code == SEAM_OK) {
        (*out)->batch = *batch;
        batch->release = NULL;
    }
    seam_node_close(root);
    return code;
}

void seam_ipc_message_free(struct seam_ipc_message *message) {
    if (message != NULL) {
        union {
            const void *given;
            void *block; /* the first piece is where it begins */
        } begin = {.given = message->pieces[0].data};
        seam_array_release(&message->batch);
        seam_free(begin.block);
    }
}

int64_t seam_ipc_message_bytes(const struct seam_ipc_message *message) {
    return message->size_bytes;
}

const struct seam_piece *seam_ipc_message_pieces(const struct seam_ipc_message *message,
                                                 int64_t *n_pieces) {
    *n_pieces = message->n_pieces;
    return message->pieces;
}
