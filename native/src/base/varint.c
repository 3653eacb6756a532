#include "base/varint.h"

#include <stddef.h>

const uint8_t *seam_varint_until(const uint8_t *p, const uint8_t *end, uint64_t *out) {
    uint64_t value = 0;
    for (int i = 0; i < SEAM_VARINT_BYTES && p < end; i++, p++) {
        value |= (uint64_t)(*p & 0x7f) << (7 * i);
        if (*p < 0x80) {
            *out = value;
            return i == SEAM_VARINT_BYTES - 1 && *p > 1 ? NULL : p + 1;
        }
    }
    return NULL;
}
