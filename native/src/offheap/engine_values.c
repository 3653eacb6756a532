/* Values of off-heap columns into Arrow's, block by block. Where a value could take the place of
 * the one it was made of, the block is first looked at, then turned; where it cannot, both at once.
 * The loops are free of branches, and a block that means nothing is still there to be searched. */
#include "offheap/engine_buffers.h"

#include "base/bits.h"
#include "base/wide.h"
#include "base/words.h"

#include <string.h>

enum { BLOCK = 1024 };

/* Values of a chain: they may lie anywhere. */
typedef int32_t loose32 __attribute__((aligned(1), may_alias));
typedef int64_t loose64 __attribute__((aligned(1), may_alias));
typedef double loose_double __attribute__((aligned(1), may_alias));

/* All ones where row i is not null. */
static inline uint64_t kept(const uint8_t *nulls, int64_t i) {
    return nulls == NULL ? ~UINT64_C(0) : (uint64_t)nulls[i] - 1;
}

static seam_int128 wide_at(const uint8_t *in) {
    seam_int128 value;
    memcpy(&value, in, sizeof value);
    return value;
}

/* Whether a value in rows [begin, end) means nothing. The loops gather sign bits: sums and
 * differences may wrap, and those of wrong values do so into the sign bit. */

static bool booleans_wrong(const struct seam_engine_values *values, int64_t begin, int64_t end) {
    uint8_t all = 0;
    for (int64_t i = begin; i < end; i++) {
        all |= values->in[i] & (uint8_t)kept(values->nulls, i);
    }
    return all > 1;
}

static bool times_wrong(const struct seam_engine_values *values, int64_t begin, int64_t end) {
    const loose_double *in = (const void *)values->in;
    uint64_t all = 0;
    for (int64_t i = begin; i < end; i++) {
        uint64_t right = in[i] >= 0.0 && in[i] * 1000.0 + 0.5 < 86400000.0;
        all |= (right - 1) & kept(values->nulls, i);
    }
    return all != 0;
}

static bool datetimes_wrong(const struct seam_engine_values *values, int64_t begin, int64_t end) {
    const loose64 *in = (const void *)values->in;
    const uint64_t mask = (UINT64_C(1) << SEAM_DATETIME_SHIFT) - 1;
    uint64_t all = 0;
    for (int64_t i = begin; i < end; i++) {
        uint64_t packed = (uint64_t)in[i];
        uint64_t left = (uint64_t)SEAM_MICROS_PER_DAY - 1 - (packed & mask);
        all |= (packed | left) & kept(values->nulls, i);
    }
    return all >> 63 != 0;
}

/* Decimals that widen are looked at under way; this finds the row. */
static bool decimals_wrong(const struct seam_engine_values *values, int64_t begin, int64_t end) {
    const loose32 *narrow = (const void *)values->in;
    const loose64 *in = (const void *)values->in;
    const int64_t most = (int64_t)(seam_power_of_ten(values->precision) - 1);
    bool found = false;
    for (int64_t i = begin; i < end; i++) {
        int64_t unscaled = values->kind == SEAM_COLUMN_DECIMAL32 ? narrow[i] : in[i];
        found |= (unscaled > most || unscaled < -most) && kept(values->nulls, i) != 0;
    }
    return found;
}

/* Whether the upper halves alone show all values to be small enough. */
static bool decimals128_small(const struct seam_engine_values *values, seam_int128 most,
                              int64_t begin, int64_t end) {
    const loose64 *in = (const void *)values->in;
    const uint64_t high = (uint64_t)(most >> 64) - 1;
    uint64_t all = 0;
    for (int64_t i = begin; i < end; i++) {
        uint64_t half = (uint64_t)in[2 * i + 1];
        all |= ((half + high) | (high - half)) & kept(values->nulls, i);
    }
    return all >> 63 == 0;
}

static bool decimals128_wrong(const struct seam_engine_values *values, int64_t begin, int64_t end) {
    seam_int128 most = seam_power_of_ten(values->precision) - 1;
    if (most >> 64 > 0 && decimals128_small(values, most, begin, end)) {
        return false;
    }
    uint64_t all = 0;
    for (int64_t i = begin; i < end; i++) {
        seam_int128 value = wide_at(values->in + 16 * i);
        all |= (uint64_t)(value > most || value < -most) & kept(values->nulls, i);
    }
    return all != 0;
}

SEAM_WIDE static bool wrong(const struct seam_engine_values *values, int64_t begin, int64_t end) {
    switch (values->kind) {
    case SEAM_COLUMN_BOOLEAN:
        return booleans_wrong(values, begin, end);
    case SEAM_COLUMN_TIME:
        return times_wrong(values, begin, end);
    case SEAM_COLUMN_DECIMAL32:
    case SEAM_COLUMN_DECIMAL64:
        return decimals_wrong(values, begin, end);
    case SEAM_COLUMN_DECIMAL128:
        return decimals128_wrong(values, begin, end);
    default:
        return datetimes_wrong(values, begin, end);
    }
}

static void turn_booleans(const struct seam_engine_values *values, int64_t begin, int64_t end) {
    int64_t i = begin; /* a multiple of 8 */
    uint64_t bytes = 0, nulls = 0;
    for (; i + 8 <= end; i += 8) {
        memcpy(&bytes, values->in + i, 8);
        if (values->nulls != NULL) {
            memcpy(&nulls, values->nulls + i, 8);
        }
        values->out[i / 8] = seam_pack8(bytes & ~nulls);
    }
    if (i < end) {
        bytes = nulls = 0;
        memcpy(&bytes, values->in + i, (size_t)(end - i));
        if (values->nulls != NULL) {
            memcpy(&nulls, values->nulls + i, (size_t)(end - i));
        }
        values->out[i / 8] = seam_pack8(bytes & ~nulls);
    }
}

static void turn_datetimes(const struct seam_engine_values *values, int64_t begin, int64_t end) {
    const loose64 *in = (const void *)values->in;
    const uint8_t *nulls = values->nulls;
    loose64 *out = (void *)values->out;
    const uint64_t mask = (UINT64_C(1) << SEAM_DATETIME_SHIFT) - 1;
    const uint64_t per_day = (uint64_t)SEAM_MICROS_PER_DAY;
    SEAM_EACH_ROW_ALONE
    for (int64_t i = begin; i < end; i++) {
        uint64_t packed = (uint64_t)in[i];
        uint64_t days = packed >> SEAM_DATETIME_SHIFT;
        uint64_t micros = days * per_day + (packed & mask) - SEAM_JULIAN_EPOCH * per_day;
        out[i] = (int64_t)(micros & kept(nulls, i));
    }
}

/* Seconds back to the milliseconds they were made of; in place only the first half is used. */
static void turn_times(const struct seam_engine_values *values, int64_t begin, int64_t end) {
    const loose_double *in = (const void *)values->in;
    loose32 *out = (void *)values->out;
    for (int64_t i = begin; i < end; i++) {
        double seconds = values->nulls != NULL && values->nulls[i] ? 0.0 : in[i];
        out[i] = (int32_t)(seconds * 1000.0 + 0.5);
    }
}

/* Decimals of `width` bytes, a constant, into Arrow's of 16. False if a value means nothing. */
static inline __attribute__((always_inline)) bool widen(const struct seam_engine_values *values,
                                                        int64_t begin, int64_t end, int width) {
    const loose32 *in32 = (const void *)values->in;
    const loose64 *in64 = (const void *)values->in;
    const uint8_t *nulls = values->nulls;
    const uint64_t most = (uint64_t)(seam_power_of_ten(values->precision) - 1);
    loose64 *out = (void *)values->out;
    uint64_t all = 0;
    SEAM_EACH_ROW_ALONE
    for (int64_t i = begin; i < end; i++) {
        uint64_t low = (uint64_t)(width == 4 ? in32[i] : in64[i]) & kept(nulls, i);
        all |= (low + most) | (most - low);
        out[2 * i] = (int64_t)low;
        out[2 * i + 1] = (int64_t)low >> 63;
    }
    return all >> 63 == 0;
}

/* Arrow keeps them as they are; only what stands under nulls goes. */
static void keep128(const struct seam_engine_values *values, int64_t begin, int64_t end) {
    if (values->out != values->in) {
        memcpy(values->out + 16 * begin, values->in + 16 * begin, (size_t)(16 * (end - begin)));
    }
    for (int64_t i = begin; i < end && values->nulls != NULL; i++) {
        if (values->nulls[i]) {
            memset(values->out + 16 * i, 0, 16);
        }
    }
}

/* False if a value means nothing that was not looked at before. */
SEAM_WIDE static bool turn(const struct seam_engine_values *values, int64_t begin, int64_t end) {
    switch (values->kind) {
    case SEAM_COLUMN_BOOLEAN:
        turn_booleans(values, begin, end);
        return true;
    case SEAM_COLUMN_TIME:
        turn_times(values, begin, end);
        return true;
    case SEAM_COLUMN_DECIMAL32:
        return widen(values, begin, end, 4);
    case SEAM_COLUMN_DECIMAL64:
        return widen(values, begin, end, 8);
    case SEAM_COLUMN_DECIMAL128:
        keep128(values, begin, end);
        return true;
    default:
        turn_datetimes(values, begin, end);
        return true;
    }
}

/* Dates need no look beforehand: a day that wraps is one that Arrow's dates otherwise cannot be. */
SEAM_WIDE static int64_t turn_dates(const struct seam_engine_values *values) {
    const loose32 *in = (const void *)values->in;
    const uint8_t *nulls = values->nulls;
    loose32 *out = (void *)values->out;
    const int64_t rows = values->rows;
    uint32_t all = 0;
    SEAM_EACH_ROW_ALONE
    for (int64_t i = 0; i < rows; i++) {
        uint32_t days = (uint32_t)in[i];
        uint32_t moved = (days - SEAM_JULIAN_EPOCH) & (uint32_t)kept(nulls, i);
        all |= days & ~moved & (uint32_t)kept(nulls, i);
        out[i] = (int32_t)moved;
    }
    for (int64_t i = 0; all >> 31 != 0 && i < rows; i++) {
        if (out[i] > INT32_MAX - SEAM_JULIAN_EPOCH) {
            return i;
        }
    }
    return -1;
}

int64_t seam_engine_values_turn(const struct seam_engine_values *values) {
    if (values->kind == SEAM_COLUMN_DATE) {
        return turn_dates(values);
    }
    bool widens = values->kind == SEAM_COLUMN_DECIMAL32 || values->kind == SEAM_COLUMN_DECIMAL64;
    for (int64_t begin = 0; begin < values->rows; begin += BLOCK) {
        int64_t end = begin + BLOCK < values->rows ? begin + BLOCK : values->rows;
        if ((!widens && wrong(values, begin, end)) || !turn(values, begin, end)) {
            while (!wrong(values, begin, begin + 1)) {
                begin += 1;
            }
            return begin;
        }
    }
    return -1;
}

int64_t seam_engine_arrow_bytes(int32_t kind, int64_t rows) {
    switch (kind) {
    case SEAM_COLUMN_BOOLEAN:
        return (rows + 7) / 8;
    case SEAM_COLUMN_TIME:
        return rows * (int64_t)sizeof(int32_t);
    default:
        return rows * (seam_column_is_decimal(kind) ? 16 : seam_column_width(kind));
    }
}

bool seam_engine_arrow_agrees(int32_t kind) {
    switch (kind) {
    case SEAM_COLUMN_TINYINT:
    case SEAM_COLUMN_SHORT:
    case SEAM_COLUMN_INT:
    case SEAM_COLUMN_LONG:
    case SEAM_COLUMN_FLOAT:
    case SEAM_COLUMN_DOUBLE:
    case SEAM_COLUMN_DECIMALV2: /* only ever all NULL */
        return true;
    default:
        return false;
    }
}

const char *seam_engine_values_fault(int32_t kind) {
    switch (kind) {
    case SEAM_COLUMN_BOOLEAN:
        return "is neither 0 nor 1";
    case SEAM_COLUMN_DATE:
        return "has no 32-bit day count";
    case SEAM_COLUMN_TIME:
        return "is no time of day";
    case SEAM_COLUMN_DECIMAL32:
    case SEAM_COLUMN_DECIMAL64:
    case SEAM_COLUMN_DECIMAL128:
        return "has more digits than its type";
    default:
        return "is no Julian day and microsecond of a day";
    }
}
