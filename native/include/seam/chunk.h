/* StarRocks' chunk bytes into a meta chain: the parts of columns, one after the other.
 *
 * A part is its size in bytes (32 bits; 64 of large text), then its bytes. From 256 bytes on a
 * column's encode level may say that another size (64 bits) follows and the bytes are encoded:
 * integers, null flags and offsets by Stream VByte, 32-bit offsets by their differences; text as
 * one LZ4 block, unless it is too long for one. Source of the rules: StarRocks (June 2025),
 * column_array_serde.cpp, which believes what it is told; here every size, flag and offset is held
 * to what is there and to what the rows need. See seam/table.h for the chain and seam/engine.h for
 * who reads it: values are not looked at before that.
 *
 * LZ4 is a library's work outside of this core: such text is listed, and the chain lacks its
 * address until the caller has put it there.
 */
#ifndef SEAM_CHUNK_H
#define SEAM_CHUNK_H

#include "seam/column_type.h"
#include "seam/error.h"
#include "seam/memory.h"
#include "seam/table.h"

#include <stdint.h>

/* Bits of an encode level. */
enum { SEAM_CHUNK_INTEGERS = 2, SEAM_CHUNK_TEXT = 4 };
/* What one LZ4 block may hold (LZ4_MAX_INPUT_SIZE), and how many times its size. */
#define SEAM_CHUNK_LZ4_BYTES 0x7E000000
#define SEAM_CHUNK_LZ4_RATIO 255

/* How a column lies in a chunk, a tree: an array's element; a map's key and value; a struct's
 * fields. What is nested always has null flags. */
struct seam_chunk_column {
    int32_t kind;     /* enum seam_column_kind; none that is unknown, a byte or a variant */
    int32_t large;    /* of text: sizes and offsets of 64 bits */
    int32_t required; /* no row may be NULL */
    int32_t n_children;
    const struct seam_chunk_column *children; /* borrowed, or NULL */
    const char *path;                         /* for messages; borrowed */
};

/* A column at the top of one chunk: what the chunk says of it, and where it was found. */
struct seam_chunk_place {
    int32_t level;
    int32_t nullable; /* null flags come first */
    int64_t at;       /* set by reading: its first byte */
    int64_t word;     /* set by reading: its first word of the chain */
};

/* Text that is one LZ4 block of the chunk. */
struct seam_chunk_text {
    int64_t word; /* of the chain, which waits for the address */
    int64_t at;
    int64_t encoded_bytes;
    int64_t size_bytes;
    const char *path; /* of its column; borrowed */
};

/* A chunk that is read; a zeroed one is empty. The chain lies in the chunk's bytes and in blocks of
 * the allocator; it is the reader's and lives until the next call or reset. */
struct seam_chunk_reader {
    const uint8_t *data; /* not compressed; borrowed */
    int64_t size_bytes;
    int64_t at;            /* the next byte */
    int64_t limit_bytes;   /* most bytes that parts may be decoded to */
    int64_t decoded_bytes; /* so far */
    int64_t *words;        /* the chain; the first word is the number of rows */
    int64_t *extents;
    int64_t n_words;
    struct seam_chunk_text *texts;
    int64_t n_texts;
    void **blocks;
    int64_t n_blocks;
    struct seam_allocator *allocator; /* borrowed */
};

/* Harmless when repeated. */
void seam_chunk_reader_reset(struct seam_chunk_reader *reader);
/* Reads `n_columns` columns of `rows` rows each from the next byte on; the chain is that of these
 * alone. SEAM_BAD_INPUT: the bytes break a rule; SEAM_UNSUPPORTED: the limit. The error names the
 * column, its offset is that in the chunk. Afterwards only a reset makes sense then. */
int seam_chunk_read(struct seam_chunk_reader *reader, const struct seam_chunk_column *columns,
                    struct seam_chunk_place *places, int64_t n_columns, int64_t rows,
                    struct seam_error *error);

#endif
