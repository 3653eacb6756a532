#include "seam/pieces.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>

/* Pieces that one call takes: systems allow 1024 and more. */
#define AT_ONCE 256

#ifdef MSG_NOSIGNAL
#define SENDING_FLAGS MSG_NOSIGNAL /* a peer that is gone is an error and no signal */
#else
#define SENDING_FLAGS 0
#endif

void seam_pieces_join(const struct seam_piece *pieces, int64_t n_pieces, uint8_t *out) {
    for (int64_t i = 0; i < n_pieces; i++) {
        if (pieces[i].size_bytes > 0) {
            memcpy(out, pieces[i].data, (size_t)pieces[i].size_bytes);
            out += pieces[i].size_bytes;
        }
    }
}

/* One call; the number of bytes that were taken, or -1. */
static ssize_t send_some(int socket, const struct seam_piece *pieces, int64_t n_pieces) {
    struct iovec vectors[AT_ONCE];
    int64_t n = n_pieces < AT_ONCE ? n_pieces : AT_ONCE;
    for (int64_t i = 0; i < n; i++) {
        union {
            const void *given;
            void *wanted; /* sendmsg only reads */
        } base = {.given = pieces[i].data};
        vectors[i] =
            (struct iovec){.iov_base = base.wanted, .iov_len = (size_t)pieces[i].size_bytes};
    }
    struct msghdr header = {.msg_iov = vectors};
    header.msg_iovlen = n;
    return sendmsg(socket, &header, SENDING_FLAGS);
}

int seam_pieces_send(int socket, struct seam_piece *pieces, int64_t n_pieces) {
    int64_t at = 0;
    for (;;) {
        while (at < n_pieces && pieces[at].size_bytes == 0) {
            at++;
        }
        if (at == n_pieces) {
            return 0;
        }
        int64_t sent = send_some(socket, pieces + at, n_pieces - at);
        if (sent < 0 && errno != EINTR) {
            return errno;
        }
        for (; sent > 0 && sent >= pieces[at].size_bytes; at++) {
            sent -= pieces[at].size_bytes;
            if (at + 1 == n_pieces) {
                return 0;
            }
        }
        if (sent > 0) {
            pieces[at].data = (const uint8_t *)pieces[at].data + sent;
            pieces[at].size_bytes -= sent;
        }
    }
}
