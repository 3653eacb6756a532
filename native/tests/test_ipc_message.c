/* Batches as messages of Arrow's IPC format: sizes, alignment, what is refused, and bytes that
 * leave in pieces. What the message says is read by Arrow itself in the tests of the formats. */
#include "seam/ipc_message.h"

#include "seam/arrow_build.h"

#include "check.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

static struct seam_error error;

enum { ROWS = 5, TEXT_BYTES = 7 };

static struct ArrowSchema NUMBER = {.format = "l", .name = "number"};
static struct ArrowSchema TEXT = {.format = "u", .name = "text"};
static struct ArrowSchema *const COLUMNS[] = {&NUMBER, &TEXT};

static int buffer_of(struct seam_allocator *allocator, const void *bytes, size_t size, void **out,
                     struct seam_error *failure) {
    int code = seam_alloc(allocator, size, out, failure);
    if (code == SEAM_OK) {
        memcpy(*out, bytes, size);
    }
    return code;
}

/* Five numbers, the second one null, and five texts. */
static int make_batch(struct seam_allocator *allocator, struct ArrowArray *out,
                      struct seam_error *failure) {
    static const int64_t NUMBERS[ROWS] = {1, 0, 3, 4, 5};
    static const int32_t OFFSETS[ROWS + 1] = {0, 1, 1, 3, 6, 7};
    static const uint8_t VALID[1] = {0x1d};
    void *buffers[5] = {NULL};
    struct ArrowArray columns[2] = {{.release = NULL}, {.release = NULL}};
    int code = buffer_of(allocator, VALID, sizeof VALID, &buffers[0], failure);
    code = code ? code : buffer_of(allocator, NUMBERS, sizeof NUMBERS, &buffers[1], failure);
    code = code ? code : buffer_of(allocator, OFFSETS, sizeof OFFSETS, &buffers[3], failure);
    code = code ? code : buffer_of(allocator, "abcdefg", TEXT_BYTES, &buffers[4], failure);
    if (code == SEAM_OK) {
        code = seam_array_build(allocator, ROWS, -1, 2, buffers, 0, NULL, &columns[0], failure);
    }
    if (code == SEAM_OK) {
        memset(buffers, 0, 2 * sizeof *buffers);
        code = seam_array_build(allocator, ROWS, 0, 3, buffers + 2, 0, NULL, &columns[1], failure);
    }
    if (code == SEAM_OK) {
        memset(buffers, 0, sizeof buffers);
        void *root[1] = {NULL};
        code = seam_array_build(allocator, ROWS, 0, 1, root, 2, columns, out, failure);
    }
    if (code != SEAM_OK) {
        for (int i = 0; i < 5; i++) {
            seam_free(buffers[i]);
        }
        seam_array_release(&columns[0]);
        seam_array_release(&columns[1]);
    }
    return code;
}

static struct ArrowSchema schema_of(struct ArrowSchema **columns) {
    memcpy(columns, COLUMNS, sizeof COLUMNS);
    return (struct ArrowSchema){.format = "+s", .name = "", .n_children = 2, .children = columns};
}

static int make_message(struct seam_allocator *allocator, struct seam_ipc_message **out,
                        struct seam_error *failure) {
    struct ArrowSchema *columns[2];
    struct ArrowSchema schema = schema_of(columns);
    struct ArrowArray batch;
    *out = NULL;
    int code = make_batch(allocator, &batch, failure);
    if (code == SEAM_OK) {
        code = seam_ipc_message_new(allocator, &schema, &batch, out, failure);
        seam_array_release(&batch); /* does nothing once it was taken over */
    }
    return code;
}

/* Where the n-th piece begins in the message. */
static int64_t begin_of(const struct seam_piece *pieces, int64_t n) {
    int64_t at = 0;
    for (int64_t i = 0; i < n; i++) {
        at += pieces[i].size_bytes;
    }
    return at;
}

static void test_pieces(void) {
    struct seam_allocator *allocator = seam_allocator_new(0);
    struct seam_ipc_message *message;
    CHECK_OK(make_message(allocator, &message, &error));
    int64_t n;
    const struct seam_piece *pieces = seam_ipc_message_pieces(message, &n);
    CHECK(n == 9); /* the metadata; validity, numbers, offsets and text, each with its padding */
    CHECK(begin_of(pieces, n) == seam_ipc_message_bytes(message));
    for (int64_t i = 1; i < n; i += 2) {
        CHECK(begin_of(pieces, i) % 64 == 0);
    }
    CHECK(memcmp(pieces[7].data, "abcdefg", TEXT_BYTES) == 0 && pieces[7].size_bytes == TEXT_BYTES);
    uint8_t *joined = malloc((size_t)seam_ipc_message_bytes(message));
    CHECK(joined != NULL);
    seam_pieces_join(pieces, n, joined);
    const uint8_t continuation[4] = {0xff, 0xff, 0xff, 0xff};
    CHECK(memcmp(joined, continuation, 4) == 0);
    CHECK(memcmp(joined + begin_of(pieces, 3), pieces[3].data, ROWS * 8) == 0);
    free(joined);
    seam_ipc_message_free(message);
    CHECK(live_blocks(allocator) == 0);
    seam_allocator_release(allocator);
}

static void test_what_begins_later_is_refused(void) {
    struct seam_allocator *allocator = seam_allocator_new(0);
    struct ArrowSchema *columns[2];
    struct ArrowSchema schema = schema_of(columns);
    struct ArrowArray batch;
    struct seam_ipc_message *message;
    CHECK_OK(make_batch(allocator, &batch, &error));
    batch.children[1]->offset = 1;
    batch.children[1]->length = ROWS - 1;
    batch.children[0]->length = ROWS - 1;
    batch.length = ROWS - 1;
    CHECK(seam_ipc_message_new(allocator, &schema, &batch, &message, &error) == SEAM_UNSUPPORTED);
    CHECK(strstr(error.message, "'text'") != NULL && message == NULL);
    seam_array_release(&batch); /* it is still the caller's */
    CHECK(live_blocks(allocator) == 0);
    seam_allocator_release(allocator);
}

static int make_and_free(struct seam_allocator *allocator, struct seam_error *failure) {
    struct seam_ipc_message *message;
    int code = make_message(allocator, &message, failure);
    seam_ipc_message_free(message);
    return code;
}

enum { PIECES = 1000, LARGEST = 3000 };

/* Reads what the other end sends; 0 if it is the bytes 0, 1, 2, ... modulo 251. */
static int read_numbers(int socket, int64_t total) {
    uint8_t bytes[4096];
    int64_t at = 0;
    ssize_t got;
    while ((got = read(socket, bytes, sizeof bytes)) > 0) {
        for (ssize_t i = 0; i < got; i++, at++) {
            if (bytes[i] != at % 251) {
                return 1;
            }
        }
    }
    return at == total ? 0 : 2;
}

static void test_all_pieces_leave(void) {
    static struct seam_piece pieces[PIECES];
    static uint8_t bytes[(int64_t)PIECES * LARGEST];
    int64_t total = 0;
    for (int64_t i = 0; i < PIECES; i++) {
        int64_t size = i * 37 % LARGEST; /* the first one, and others, have none */
        for (int64_t k = 0; k < size; k++) {
            bytes[total + k] = (uint8_t)((total + k) % 251);
        }
        pieces[i] = (struct seam_piece){.data = bytes + total, .size_bytes = size};
        total += size;
    }
    int ends[2];
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    int small = 5000; /* far less than is sent: most calls take a part of a piece */
    CHECK(setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &small, sizeof small) == 0);
    pid_t reader = fork();
    CHECK(reader >= 0);
    if (reader == 0) {
        close(ends[0]);
        _exit(read_numbers(ends[1], total));
    }
    close(ends[1]);
    CHECK(seam_pieces_send(ends[0], pieces, PIECES) == 0);
    close(ends[0]);
    int status = -1;
    CHECK(waitpid(reader, &status, 0) == reader && WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void test_a_peer_that_left_is_an_error(void) {
    int ends[2];
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    close(ends[1]);
    struct seam_piece piece = {.data = "x", .size_bytes = 1};
    CHECK(seam_pieces_send(ends[0], &piece, 1) == EPIPE);
    CHECK(seam_pieces_send(ends[0], &piece, 0) == 0);
    close(ends[0]);
}

int main(void) {
    test_pieces();
    test_what_begins_later_is_refused();
    check_every_allocation(make_and_free);
    test_all_pieces_leave();
    test_a_peer_that_left_is_an_error();
    return 0;
}
