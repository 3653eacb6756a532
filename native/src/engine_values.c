/* Values of off-heap columns into Arrow's. A block of rows is first looked at, then turned: both
 * loops are free of branches, and a block that means nothing is still there to be searched. */
#include "engine_buffers.h"

#include <string.h>

enum { BLOCK = 1024 };

/* A loop in which row i depends on no other row, whether its result goes to a block apart or to
 * the place it was read from. Without it GCC asks whether the two overlap, and they do. */
#if defined(__GNUC__) && !defined(__clang__)
#define EACH_ROW_ALONE _Pragma("GCC ivdep")
#else
#define EACH_ROW_ALONE
#endif

__extension__ typedef __int128 wide;

/* What the loops of a kind need. */
struct limits {
    int64_t most64; /* largest decimal of the precision, where it has 18 digits or fewer */
    wide most;
};

static uint64_t load64(const uint8_t *in) {
    uint64_t value;
    memcpy(&value, in, sizeof value);
    return value;
}

static uint32_t load32(const uint8_t *in) {
    uint32_t value;
    memcpy(&value, in, sizeof value);
    return value;
}

/* All ones where row i is not null. */
static uint64_t kept(const uint8_t *nulls, int64_t i) {
    return nulls == NULL ? ~UINT64_C(0) : (uint64_t)nulls[i] - 1;
}

/* Faults: the sign bit of the result is set where the value means nothing. Sums and differences
 * may wrap; those of wrong values do so into the sign bit. */

static uint64_t date_fault(uint32_t days) {
    uint32_t moved = days - SEAM_JULIAN_EPOCH;
    return (uint64_t)(days & ~moved) << 32; /* negative before, not so behind */
}

static uint64_t datetime_fault(uint64_t packed) {
    uint64_t micros = packed & ((UINT64_C(1) << SEAM_DATETIME_SHIFT) - 1);
    return packed | ((uint64_t)SEAM_MICROS_PER_DAY - 1 - micros);
}

static uint64_t decimal_fault(uint64_t unscaled, int64_t most) {
    return (unscaled + (uint64_t)most) | ((uint64_t)most - unscaled);
}

static uint64_t time_fault(double seconds) {
    return (uint64_t)!(seconds >= 0.0 && seconds * 1000.0 + 0.5 < 86400000.0) << 63;
}

static double seconds_at(const uint8_t *in) {
    double value;
    memcpy(&value, in, sizeof value);
    return value;
}

static wide wide_at(const uint8_t *in) {
    wide value;
    memcpy(&value, in, sizeof value);
    return value;
}

static uint64_t extended(uint32_t narrow) {
    return (uint64_t)(int64_t)(int32_t)narrow;
}

/* The faults of rows [begin, end), one or-ed to the other. */
static uint64_t faults(const struct seam_engine_values *values, const struct limits *limits,
                       int64_t begin, int64_t end) {
    const uint8_t *in = values->in;
    const uint8_t *nulls = values->nulls;
    uint64_t all = 0;
    switch (values->kind) {
    case SEAM_COLUMN_BOOLEAN:
        for (int64_t i = begin; i < end; i++) {
            all |= (uint64_t)(in[i] >> 1) & kept(nulls, i);
        }
        return all == 0 ? 0 : UINT64_C(1) << 63;
    case SEAM_COLUMN_DATE:
        for (int64_t i = begin; i < end; i++) {
            all |= date_fault(load32(in + 4 * i)) & kept(nulls, i);
        }
        break;
    case SEAM_COLUMN_TIME:
        for (int64_t i = begin; i < end; i++) {
            all |= time_fault(seconds_at(in + 8 * i)) & kept(nulls, i);
        }
        break;
    case SEAM_COLUMN_DECIMAL32:
        for (int64_t i = begin; i < end; i++) {
            all |= decimal_fault(extended(load32(in + 4 * i)), limits->most64) & kept(nulls, i);
        }
        break;
    case SEAM_COLUMN_DECIMAL64:
        for (int64_t i = begin; i < end; i++) {
            all |= decimal_fault(load64(in + 8 * i), limits->most64) & kept(nulls, i);
        }
        break;
    case SEAM_COLUMN_DECIMAL128:
        for (int64_t i = begin; i < end; i++) {
            wide value = wide_at(in + 16 * i);
            uint64_t fault = (uint64_t)(value > limits->most || value < -limits->most) << 63;
            all |= fault & kept(nulls, i);
        }
        break;
    default: /* the three datetimes */
        for (int64_t i = begin; i < end; i++) {
            all |= datetime_fault(load64(in + 8 * i)) & kept(nulls, i);
        }
        break;
    }
    return all >> 63;
}

static void turn_booleans(const struct seam_engine_values *values, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i += 8) { /* blocks begin at multiples of 8 */
        size_t count = end - i < 8 ? (size_t)(end - i) : 8;
        uint64_t bytes = 0, nulls = 0;
        memcpy(&bytes, values->in + i, count);
        if (values->nulls != NULL) {
            memcpy(&nulls, values->nulls + i, count);
        }
        values->out[i / 8] = seam_gather_bits(bytes & ~nulls);
    }
}

static void turn_dates(const struct seam_engine_values *values, int64_t begin, int64_t end) {
    const uint8_t *in = values->in;
    const uint8_t *nulls = values->nulls;
    uint8_t *out = values->out;
    EACH_ROW_ALONE
    for (int64_t i = begin; i < end; i++) {
        uint32_t days = (load32(in + 4 * i) - SEAM_JULIAN_EPOCH) & (uint32_t)kept(nulls, i);
        memcpy(out + 4 * i, &days, sizeof days);
    }
}

static void turn_datetimes(const struct seam_engine_values *values, int64_t begin, int64_t end) {
    const uint8_t *in = values->in;
    const uint8_t *nulls = values->nulls;
    uint8_t *out = values->out;
    const uint64_t mask = (UINT64_C(1) << SEAM_DATETIME_SHIFT) - 1;
    const uint64_t per_day = (uint64_t)SEAM_MICROS_PER_DAY;
    EACH_ROW_ALONE
    for (int64_t i = begin; i < end; i++) {
        uint64_t packed = load64(in + 8 * i);
        uint64_t days = packed >> SEAM_DATETIME_SHIFT;
        uint64_t micros = days * per_day + (packed & mask) - SEAM_JULIAN_EPOCH * per_day;
        micros &= kept(nulls, i);
        memcpy(out + 8 * i, &micros, sizeof micros);
    }
}

/* Seconds back to the milliseconds they were made of; in place only the first half is used. */
static void turn_times(const struct seam_engine_values *values, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i++) {
        double seconds =
            values->nulls != NULL && values->nulls[i] ? 0.0 : seconds_at(values->in + 8 * i);
        int32_t millis = (int32_t)(seconds * 1000.0 + 0.5);
        memcpy(values->out + 4 * i, &millis, sizeof millis);
    }
}

static void widen32(const struct seam_engine_values *values, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i++) {
        uint64_t low = extended(load32(values->in + 4 * i)) & kept(values->nulls, i);
        uint64_t halves[2] = {low, (uint64_t)((int64_t)low >> 63)};
        memcpy(values->out + 16 * i, halves, sizeof halves);
    }
}

static void widen64(const struct seam_engine_values *values, int64_t begin, int64_t end) {
    const uint8_t *in = values->in;
    const uint8_t *nulls = values->nulls;
    uint8_t *out = values->out;
    EACH_ROW_ALONE
    for (int64_t i = begin; i < end; i++) {
        uint64_t low = load64(in + 8 * i) & kept(nulls, i);
        uint64_t halves[2] = {low, (uint64_t)((int64_t)low >> 63)};
        memcpy(out + 16 * i, halves, sizeof halves);
    }
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

static void turn(const struct seam_engine_values *values, int64_t begin, int64_t end) {
    switch (values->kind) {
    case SEAM_COLUMN_BOOLEAN:
        turn_booleans(values, begin, end);
        break;
    case SEAM_COLUMN_DATE:
        turn_dates(values, begin, end);
        break;
    case SEAM_COLUMN_TIME:
        turn_times(values, begin, end);
        break;
    case SEAM_COLUMN_DECIMAL32:
        widen32(values, begin, end);
        break;
    case SEAM_COLUMN_DECIMAL64:
        widen64(values, begin, end);
        break;
    case SEAM_COLUMN_DECIMAL128:
        keep128(values, begin, end);
        break;
    default:
        turn_datetimes(values, begin, end);
        break;
    }
}

static struct limits limits_of(const struct seam_engine_values *values) {
    struct limits limits = {.most64 = 0, .most = 1};
    for (int32_t i = 0; i < values->precision; i++) {
        limits.most *= 10;
    }
    limits.most -= 1;
    limits.most64 = values->precision <= 18 ? (int64_t)limits.most : 0;
    return limits;
}

int64_t seam_engine_values_turn(const struct seam_engine_values *values) {
    struct limits limits = limits_of(values);
    for (int64_t begin = 0; begin < values->rows; begin += BLOCK) {
        int64_t end = begin + BLOCK < values->rows ? begin + BLOCK : values->rows;
        if (faults(values, &limits, begin, end) != 0) {
            while (faults(values, &limits, begin, begin + 1) == 0) {
                begin += 1;
            }
            return begin;
        }
        turn(values, begin, end);
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
