/* Stream VByte: 32-bit words in one to four bytes each, their lengths apart from their bytes.
 *
 * First the lengths, two bits a word, the first word in the lowest bits of a byte: the number of
 * bytes less one. Then the bytes of the words, lowest first. In the delta variant each word is
 * written as its difference, modulo 2^32, from the one before it; the first from 0. Source of the
 * rules: Lemire, Kurz, Rupp, "Stream VByte" (2018), as its reference library writes it. Nothing
 * here keeps state or reads beyond what it is told.
 *
 * Input need not be a whole number of words: what is missing of the last is taken as 0, and dropped
 * when reading (StarRocks, column_array_serde: integers of any width are taken as such words).
 *
 * Why no library: the packages there are (libstreamvbyte 0.3.8) know no differences, and read
 * beyond the end of a stream whose lengths ask for more than there is.
 */
#ifndef SEAM_STREAMVBYTE_H
#define SEAM_STREAMVBYTE_H

#include "seam/error.h"

#include <stdint.h>

/* Most bytes that `size_bytes` bytes can become, and the fewest. */
int64_t seam_streamvbyte_most(int64_t size_bytes);
int64_t seam_streamvbyte_least(int64_t size_bytes);

/* Writes the words to `out`, which has room for seam_streamvbyte_most; returns the bytes written.
 * Neither buffer need be aligned. */
int64_t seam_streamvbyte_encode(const uint8_t *words, int64_t size_bytes, int32_t delta,
                                uint8_t *out);
/* Reads exactly `size_bytes` bytes of words from exactly `data_bytes` bytes. SEAM_BAD_INPUT: the
 * words take another number of bytes; the error's offset is `base_bytes` more than that in `data`.
 * What was written to `out` until then is of no use. */
int seam_streamvbyte_decode(const uint8_t *data, int64_t data_bytes, int64_t base_bytes,
                            int32_t delta, uint8_t *out, int64_t size_bytes,
                            struct seam_error *error);

#endif
