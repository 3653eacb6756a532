/* The iterative writer of Presto payloads: rows are appended in many small steps, then flushed once
 * or more often.
 *
 * A stream keeps a few growing byte streams for each column, over an arena; dictionaries and runs
 * are written out as values. Each selection of an append takes values straight from the batch into
 * the ranges of one stream, column by column over all streams, so that a batch that is spread over
 * many destinations stays in the cache. As Velox's PrestoIterativeVectorSerializer.
 *
 * One thread at a time for streams over one arena.
 */
#ifndef SEAM_PRESTO_STREAM_H
#define SEAM_PRESTO_STREAM_H

#include "seam/arrow.h"
#include "seam/error.h"
#include "seam/memory.h"
#include "seam/pieces.h"
#include "seam/presto_page.h"
#include "seam/stream_arena.h"

#include <stdint.h>

struct seam_presto_stream;

/* A stream of no rows. `program` and `arena` stay borrowed; of `flags` only
 * SEAM_PRESTO_NULLS_FIRST counts. What the stream itself takes comes from the arena's allocator,
 * one block. */
int seam_presto_stream_new(const struct seam_presto_program *program,
                           struct seam_stream_arena *arena, int32_t flags,
                           struct seam_presto_stream **out, struct seam_error *error);
/* Takes the first ranges of a stream of no rows for about so many of them, as Velox's numRows does:
 * their values (of texts 10 bytes each) and offsets, at every level. Flags come with the first
 * null. More rows or fewer may follow; after clear nothing is set aside. */
int seam_presto_stream_set_aside(struct seam_presto_stream *stream, int64_t rows,
                                 struct seam_error *error);
/* NULL is ignored. Like clear, to be called before the arena is cleared. */
void seam_presto_stream_free(struct seam_presto_stream *stream);
/* Back to no rows. The ranges stay the arena's until it is cleared. */
void seam_presto_stream_clear(struct seam_presto_stream *stream);

/* A batch whose columns fit the types of a program. */
struct seam_presto_source;

/* Borrows program, schema and batch. SEAM_BAD_ARGUMENT names a column that does not fit. */
int seam_presto_source_new(struct seam_allocator *allocator,
                           const struct seam_presto_program *program,
                           const struct ArrowSchema *schema, const struct ArrowArray *batch,
                           struct seam_presto_source **out, struct seam_error *error);
void seam_presto_source_free(struct seam_presto_source *source);

/* Appends selection i of the batch to `streams[i]`; all streams and the batch must be of one
 * program. SEAM_BAD_ARGUMENT: a row that the batch does not have, nothing is appended then.
 * SEAM_TOO_LARGE: a column beyond 2^31 - 1 bytes or rows; SEAM_BAD_INPUT: a null map key, a decimal
 * beyond its digits. After these, or when memory ran out, the streams refuse everything until they
 * are cleared. */
int seam_presto_stream_append(struct seam_presto_stream *const *streams,
                              const struct seam_presto_source *source,
                              const struct seam_presto_rows *selections, int64_t n,
                              struct seam_error *error);
/* For each row of the selection an upper bound of the bytes that it will take, values, lengths and
 * flags: the payload of rows appended to an empty stream is never larger than their sum and the
 * size of the empty stream. At most 1 byte a row and 1 bit a value above what is written. */
int seam_presto_stream_estimate(const struct seam_presto_source *source,
                                const struct seam_presto_rows *selection, int32_t flags,
                                int64_t *sizes_bytes, struct seam_error *error);

int64_t seam_presto_stream_rows(const struct seam_presto_stream *stream);
/* 1 after a failed append, until it is cleared. */
int32_t seam_presto_stream_broken(const struct seam_presto_stream *stream);
/* Bytes of the payload, exactly. SEAM_TOO_LARGE beyond 2^31 - 1, SEAM_BAD_ARGUMENT after a failed
 * append. */
int seam_presto_stream_size(const struct seam_presto_stream *stream, int64_t *size_bytes,
                            struct seam_error *error);
/* Writes the payload to `out`, which has exactly that room. The stream keeps its rows. */
void seam_presto_stream_write(const struct seam_presto_stream *stream, uint8_t *out);
/* How many pieces the payload has at most, and how many of its bytes are in ranges that are large
 * enough to leave from where they lie. */
int64_t seam_presto_stream_apart(const struct seam_presto_stream *stream, int64_t *apart_bytes);
/* Lists the payload as pieces: large ranges where they lie, the rest copied to `out`, which has
 * room for what is not apart. Returns their number. They are good until the stream is appended to
 * or cleared. */
int64_t seam_presto_stream_pieces(const struct seam_presto_stream *stream, uint8_t *out,
                                  struct seam_piece *pieces);
/* The same for one column alone, without the count of columns before it. */
int seam_presto_stream_column_size(const struct seam_presto_stream *stream, int32_t column,
                                   int64_t *size_bytes, struct seam_error *error);
void seam_presto_stream_write_column(const struct seam_presto_stream *stream, int32_t column,
                                     uint8_t *out);

#endif
