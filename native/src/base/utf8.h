/* UTF-8 as Unicode defines it: no surrogates, no overlong forms, nothing above U+10FFFF. */
#ifndef SEAM_UTF8_H
#define SEAM_UTF8_H

#include <stdint.h>

/* Whether `bytes` is valid. `*ascii` tells whether every byte was below 128. */
int seam_utf8_valid(const uint8_t *bytes, int64_t size_bytes, int *ascii);
/* The first of `rows` texts that is not valid, or `rows`. Text i lies between offsets i and i + 1,
 * of 32 bits at any address, which begin at 0 and never fall; it does not count where its bit in
 * `validity` (NULL: none is) is 0. */
int64_t seam_utf8_first_bad(const uint8_t *bytes, const uint8_t *offsets, int64_t rows,
                            const uint8_t *validity);

#endif
