/* Byte and bit streams over scattered ranges of memory.
 *
 * An output stream takes its ranges from an arena as it grows; an input stream reads a list of
 * ranges that others own, wherever the borders between them fall. Source of the rules: Velox,
 * ByteOutputStream and ByteInputStream (snapshot 4d16851 of August 2026).
 */
#ifndef SEAM_BYTE_STREAM_H
#define SEAM_BYTE_STREAM_H

#include "seam/error.h"
#include "seam/memory.h"
#include "seam/stream_arena.h"

#include <stdbool.h>
#include <stdint.h>

/* Writes bytes, or bits. All ranges but the last are full; the stream ends at the greatest position
 * that was ever written, so going back and overwriting does not shorten it.
 *
 * Bits are collected with the lowest bit of a byte first. The copies that leave the stream have
 * them the other way round (the first bit is the highest of the first byte), as often as one is
 * asked for: what is held does not change.
 *
 * Clear every stream before its arena is cleared. */
struct seam_byte_output {
    struct seam_stream_arena *arena; /* borrowed; gives the list of ranges its memory, too */
    struct seam_byte_range *more;    /* the ranges, once `first` is not enough */
    struct seam_byte_range first;
    int32_t n_ranges;
    int32_t capacity; /* of `more` */
    int32_t current;  /* the range that is written next */
    int32_t is_bits;
    int64_t before;     /* size of the ranges before the current one, bytes or bits */
    int64_t size;       /* of the stream, bytes or bits */
    int64_t room_bytes; /* of all ranges */
};

void seam_byte_output_init(struct seam_byte_output *stream, struct seam_stream_arena *arena,
                           int32_t is_bits);
/* Forgets everything written; the memory of the ranges stays the arena's until it is cleared. */
void seam_byte_output_clear(struct seam_byte_output *stream);

/* The size of the next range of a stream that has ranges of `held` bytes and wants `asked` more:
 * under 128 bytes in all 128; under 512 `asked` rounded up to 128s; under a page to 512s; else to
 * pages. With `tiny` ranges those under 128 bytes in all are 16, 16, 32, 64 bytes, or more where
 * one step asks for it. */
int64_t seam_byte_output_growth(int64_t held_bytes, int64_t asked_bytes, int32_t tiny);

/* Takes the first range now, of as many bytes as append would for so many; nothing if there is one.
 * The arena may give less. */
int seam_byte_output_set_aside(struct seam_byte_output *stream, int64_t size_bytes,
                               struct seam_error *error);
int seam_byte_output_append(struct seam_byte_output *stream, const void *bytes, int64_t size_bytes,
                            struct seam_error *error);
/* Bits [begin, end) of a bitmap with the lowest bit first. The stream must be one of bits. */
int seam_byte_output_append_bits(struct seam_byte_output *stream, const uint8_t *bits,
                                 int64_t begin, int64_t end, struct seam_error *error);
/* `count` times the same bit. */
int seam_byte_output_append_bit(struct seam_byte_output *stream, bool bit, int64_t count,
                                struct seam_error *error);
/* For those who write in place: `*space` has room for `*room` bytes, at least one and at most
 * `wanted_bytes`; they count as written on return. Bytes only. */
int seam_byte_output_space(struct seam_byte_output *stream, int64_t wanted_bytes, uint8_t **space,
                           int64_t *room_bytes, struct seam_error *error);

/* Where the next byte or bit goes. */
int64_t seam_byte_output_tell(const struct seam_byte_output *stream);
/* Goes to a position that was written already, or to the end. */
int seam_byte_output_seek(struct seam_byte_output *stream, int64_t position,
                          struct seam_error *error);
/* Bytes of the whole stream; bits are rounded up, the unused ones of the last byte are 0. */
int64_t seam_byte_output_bytes(const struct seam_byte_output *stream);
/* Copies all of them to `out`; those of bits are turned round. */
void seam_byte_output_copy(const struct seam_byte_output *stream, uint8_t *out);

/* Reads ranges as if they were one. */
struct seam_byte_input {
    struct seam_byte_range *ranges; /* a copy of the list; the bytes are borrowed */
    int64_t *starts;                /* where each range begins, and the end of the last */
    int64_t n_ranges;
    int64_t current; /* the range with the next byte, n_ranges at the end */
};

/* `ranges` are read from their beginnings to their sizes; empty ones are legal. */
int seam_byte_input_init(struct seam_byte_input *stream, struct seam_allocator *allocator,
                         const struct seam_byte_range *ranges, int64_t n_ranges,
                         struct seam_error *error);
void seam_byte_input_reset(struct seam_byte_input *stream);
int64_t seam_byte_input_size(const struct seam_byte_input *stream);
int64_t seam_byte_input_tell(const struct seam_byte_input *stream);
/* What truly remains, in all ranges. */
int64_t seam_byte_input_remaining(const struct seam_byte_input *stream);
/* SEAM_BAD_INPUT when fewer bytes remain, nothing is read then. */
int seam_byte_input_read(struct seam_byte_input *stream, void *out, int64_t size_bytes,
                         struct seam_error *error);
/* A little-endian signed number of 1, 2, 4 or 8 bytes. */
int seam_byte_input_number(struct seam_byte_input *stream, int32_t width_bytes, int64_t *out,
                           struct seam_error *error);
/* The next bytes without copying: at most `wanted_bytes`, fewer at the end of a range, none at the
 * end of the stream. They count as read. */
int64_t seam_byte_input_view(struct seam_byte_input *stream, int64_t wanted_bytes,
                             const uint8_t **bytes);
int seam_byte_input_skip(struct seam_byte_input *stream, int64_t size_bytes,
                         struct seam_error *error);
int seam_byte_input_seek(struct seam_byte_input *stream, int64_t position_bytes,
                         struct seam_error *error);

#endif
