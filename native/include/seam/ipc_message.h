/* A record batch as an encapsulated message of Arrow's IPC format (columnar format 1.5, metadata
 * version V5), its buffers where they are: what a socket sends without joining anything.
 *
 * Only arrays that begin with their first row are taken, without dictionaries, runs or views: what
 * a partitioner hands out. */
#ifndef SEAM_IPC_MESSAGE_H
#define SEAM_IPC_MESSAGE_H

#include "seam/arrow.h"
#include "seam/error.h"
#include "seam/memory.h"
#include "seam/pieces.h"

#include <stdint.h>

struct seam_ipc_message;

/* Takes over `*batch`, a struct array, whose buffers the message's pieces lie in; `schema` is
 * borrowed for the call. Each buffer begins at a multiple of 64 bytes. SEAM_UNSUPPORTED: another
 * array than those above. On failure the batch stays the caller's and `*out` is NULL. */
int seam_ipc_message_new(struct seam_allocator *allocator, const struct ArrowSchema *schema,
                         struct ArrowArray *batch, struct seam_ipc_message **out,
                         struct seam_error *error);
/* Gives message and batch back; NULL is ignored. */
void seam_ipc_message_free(struct seam_ipc_message *message);

/* Bytes of all pieces: a multiple of 64. */
int64_t seam_ipc_message_bytes(const struct seam_ipc_message *message);
/* The message in order; the pieces belong to it. */
const struct seam_piece *seam_ipc_message_pieces(const struct seam_ipc_message *message,
                                                 int64_t *n_pieces);

#endif
