/* UTF-8 as Unicode defines it: no surrogates, no overlong forms, nothing above U+10FFFF. */
#ifndef SEAM_UTF8_H
#define SEAM_UTF8_H

#include <stdint.h>

/* Whether `bytes` is valid. `*ascii` tells whether every byte was below 128. */
int seam_utf8_valid(const uint8_t *bytes, int64_t size_bytes, int *ascii);

#endif
