#include "base/offsets.h"

#include "base/wide.h"

#include <string.h>

#define DEFINE_RISE(NAME, TYPE)                                                                    \
    SEAM_WIDE bool NAME(const uint8_t *offsets, int64_t rows) {                                    \
        TYPE falls = 0;                                                                            \
        for (int64_t i = 0; i < rows; i++) {                                                       \
            TYPE start, end;                                                                       \
            memcpy(&start, offsets + (int64_t)sizeof start * i, sizeof start);                     \
            memcpy(&end, offsets + (int64_t)sizeof end * (i + 1), sizeof end);                     \
            falls |= end < start;                                                                  \
        }                                                                                          \
        return falls == 0;                                                                         \
    }

DEFINE_RISE(seam_offsets_rise_32, int32_t)
DEFINE_RISE(seam_offsets_rise_64, int64_t)
