/* Bytes that lie in several places and belong together. */
#ifndef SEAM_PIECES_H
#define SEAM_PIECES_H

#include <stdint.h>

struct seam_piece {
    const void *data;
    int64_t size_bytes;
};

/* Copies pieces one behind the other into `out`, which has room for all of them. */
void seam_pieces_join(const struct seam_piece *pieces, int64_t n_pieces, uint8_t *out);

/* Sends pieces over a connected socket that blocks, all of them, and changes them on the way.
 * Returns 0, or the errno of the call that failed; a time-out of the socket is EAGAIN. */
int seam_pieces_send(int socket, struct seam_piece *pieces, int64_t n_pieces);

#endif
