#include "presto/presto_values.h"

#include "base/bits.h"
#include "base/wide.h"
#include "presto/presto_wide.h"

#include <string.h>

/* --- bits --- */

uint64_t presto_load_bits(const uint8_t *bits, int64_t first, int64_t count) {
    const uint8_t *at = bits + (first >> 3);
    int shift = (int)(first & 7);
    int64_t bytes = (shift + count + 7) / 8; /* up to 9 */
    uint64_t low = 0;
    memcpy(&low, at, (size_t)(bytes > 8 ? 8 : bytes));
    low >>= shift;
    if (bytes > 8) {
        low |= (uint64_t)at[8] << (64 - shift);
    }
    return count == 64 ? low : low & ((UINT64_C(1) << count) - 1);
}

/* Turns the bits of each byte round. */
static inline uint64_t reverse_bits(uint64_t x) {
    x = ((x >> 1) & UINT64_C(0x5555555555555555)) | ((x & UINT64_C(0x5555555555555555)) << 1);
    x = ((x >> 2) & UINT64_C(0x3333333333333333)) | ((x & UINT64_C(0x3333333333333333)) << 2);
    return ((x >> 4) & UINT64_C(0x0F0F0F0F0F0F0F0F)) | ((x & UINT64_C(0x0F0F0F0F0F0F0F0F)) << 4);
}

static inline uint64_t low_bits(int64_t count) {
    return count >= 64 ? ~UINT64_C(0) : (UINT64_C(1) << count) - 1;
}

int64_t presto_flags_to_validity(const uint8_t *flags, int64_t rows, uint8_t *validity) {
    int64_t valid = 0;
    for (int64_t row = 0; row < rows; row += 64) {
        int64_t count = rows - row < 64 ? rows - row : 64;
        uint64_t word = 0;
        memcpy(&word, flags + row / 8, (size_t)presto_flag_bytes(count));
        word = ~reverse_bits(word) & low_bits(count);
        memcpy(validity + row / 8, &word, sizeof word);
        valid += __builtin_popcountll(word);
    }
    return valid;
}

void presto_validity_to_flags(const uint8_t *validity, int64_t first, int64_t rows,
                              uint8_t *flags) {
    for (int64_t row = 0; row < rows; row += 64) {
        int64_t count = rows - row < 64 ? rows - row : 64;
        uint64_t word = ~presto_load_bits(validity, first + row, count) & low_bits(count);
        word = reverse_bits(word);
        memcpy(flags + row / 8, &word, (size_t)presto_flag_bytes(count));
    }
}

/* --- one value --- */

static const uint64_t SIGN_BIT = UINT64_C(1) << 63;
static const int64_t DAY_MILLIS = 86400000;
static const int64_t SECOND_NANOS = 1000000000;

struct wide {
    uint64_t low;
    uint64_t high;
};

/* 10 to the power of up to 38, as two words. */
static struct wide wide_power(int32_t digits) {
    seam_uint128 power = (seam_uint128)seam_power_of_ten(digits);
    return (struct wide){(uint64_t)power, (uint64_t)(power >> 64)};
}

static inline struct wide negate(struct wide value) {
    uint64_t low = ~value.low + 1;
    return (struct wide){low, ~value.high + (low == 0)};
}

/* Whether a magnitude is below a power of ten. */
static inline bool below(struct wide magnitude, struct wide power) {
    return magnitude.high < power.high ||
           (magnitude.high == power.high && magnitude.low < power.low);
}

/* --- from a page --- */

/* Bytes that are not 0 as bits, eight at a time. */
static void decode_booleans(const uint8_t *wire, int64_t n, uint8_t *arrow) {
    for (int64_t i = 0; i < n; i += 8) {
        uint64_t word = 0;
        memcpy(&word, wire + i, (size_t)(n - i < 8 ? n - i : 8));
        const uint64_t lower = UINT64_C(0x7F7F7F7F7F7F7F7F);
        word = (((word & lower) + lower) | word) & ~lower; /* the top bit of each byte not 0 */
        arrow[i / 8] = seam_pack8(word >> 7);
    }
}

static int64_t decode_times(const uint8_t *wire, int64_t n, uint8_t *arrow) {
    for (int64_t i = 0; i < n; i++) {
        uint64_t millis = seam_load64(wire + i * 8);
        if (millis >= (uint64_t)DAY_MILLIS) {
            return i;
        }
        seam_store32(arrow + i * 4, (int64_t)millis);
    }
    return n;
}

/* Whether all values are within their digits; the others are found by whoever asks. */
SEAM_WIDE static bool widen_decimals(int64_t most, const uint8_t *wire, int64_t n, uint8_t *arrow) {
    uint64_t bad = 0;
    SEAM_EACH_ROW_ALONE
    for (int64_t i = 0; i < n; i++) {
        int64_t value = (int64_t)seam_load64(wire + i * 8);
        int64_t words[2] = {value, value >> 63};
        /* One comparison for both ends: the sum wraps round for what is too small. */
        bad |= (uint64_t)((uint64_t)value + (uint64_t)most > 2 * (uint64_t)most);
        memcpy(arrow + i * 16, words, sizeof words);
    }
    return bad == 0;
}

static int64_t decode_short_decimals(int32_t digits, const uint8_t *wire, int64_t n,
                                     uint8_t *arrow) {
    const int64_t most = (int64_t)(seam_power_of_ten(digits) - 1);
    bool good = widen_decimals(most, wire, n, arrow);
    for (int64_t i = 0; !good && i < n; i++) {
        int64_t value = (int64_t)seam_load64(wire + i * 8);
        if (value > most || value < -most) {
            return i;
        }
    }
    return n;
}

static int64_t decode_long_decimals(int32_t digits, const uint8_t *wire, int64_t n,
                                    uint8_t *arrow) {
    const struct wide power = wide_power(digits);
    for (int64_t i = 0; i < n; i++) {
        struct wide value;
        memcpy(&value, wire + i * 16, sizeof value);
        bool negative = (value.high & SIGN_BIT) != 0;
        value.high &= ~SIGN_BIT;
        if (!below(value, power)) {
            return i;
        }
        value = negative ? negate(value) : value;
        memcpy(arrow + i * 16, &value, sizeof value);
    }
    return n;
}

static int64_t decode_nanos(const uint8_t *wire, int64_t n, uint8_t *arrow) {
    for (int64_t i = 0; i < n; i++) {
        int64_t seconds = (int64_t)seam_load64(wire + i * 16);
        uint64_t nanos = seam_load64(wire + i * 16 + 8);
        if (nanos >= (uint64_t)SECOND_NANOS) {
            return i;
        }
        /* Before 1970 the product alone may be out of range where the sum is not. */
        bool early = seconds < 0 && nanos > 0;
        int64_t part = early ? (int64_t)nanos - SECOND_NANOS : (int64_t)nanos;
        int64_t value;
        if (__builtin_mul_overflow(early ? seconds + 1 : seconds, SECOND_NANOS, &value) ||
            __builtin_add_overflow(value, part, &value)) {
            return i;
        }
        memcpy(arrow + i * 8, &value, sizeof value);
    }
    return n;
}

int64_t presto_decode(const struct presto_type *type, const uint8_t *wire, int64_t n,
                      uint8_t *arrow) {
    switch (type->kind) {
    case SEAM_PRESTO_BOOLEAN:
        decode_booleans(wire, n, arrow);
        return n;
    case SEAM_PRESTO_TIME:
        return decode_times(wire, n, arrow);
    case SEAM_PRESTO_SHORT_DECIMAL:
        return decode_short_decimals(type->size, wire, n, arrow);
    case SEAM_PRESTO_LONG_DECIMAL:
        return decode_long_decimals(type->size, wire, n, arrow);
    case SEAM_PRESTO_NANOS:
        return decode_nanos(wire, n, arrow);
    default:
        memcpy(arrow, wire, (size_t)(n * type->wire_bytes));
        return n;
    }
}

/* Spreads values over the set bits of a word. Reads at most one value beyond those it takes, and
 * only if there are `left` of them. */
#define EXPAND(T)                                                                                  \
    static inline void expand_##T(uint64_t bits, int64_t rows, const uint8_t *wire, int64_t left,  \
                                  uint8_t *out) {                                                  \
        int64_t taken = 0;                                                                         \
        for (int64_t i = 0; i < rows; i++) {                                                       \
            T value = {0};                                                                         \
            if (taken < left) {                                                                    \
                memcpy(&value, wire + taken * (int64_t)sizeof value, sizeof value);                \
            }                                                                                      \
            const bool set = (bits >> i) & 1;                                                      \
            value = set ? value : (T){0};                                                          \
            memcpy(out + i * (int64_t)sizeof value, &value, sizeof value);                         \
            taken += set;                                                                          \
        }                                                                                          \
    }

EXPAND(uint8_t)
EXPAND(uint16_t)
EXPAND(uint32_t)
EXPAND(uint64_t)
typedef struct wide wide_t;
EXPAND(wide_t)

static void expand(int32_t width, uint64_t bits, int64_t rows, const uint8_t *wire, int64_t left,
                   uint8_t *out) {
    switch (width) {
    case 1:
        expand_uint8_t(bits, rows, wire, left, out);
        return;
    case 2:
        expand_uint16_t(bits, rows, wire, left, out);
        return;
    case 4:
        expand_uint32_t(bits, rows, wire, left, out);
        return;
    case 8:
        expand_uint64_t(bits, rows, wire, left, out);
        return;
    default:
        expand_wide_t(bits, rows, wire, left, out);
    }
}

/* Whether values lie in Arrow as they lie in a page. */
static bool is_same(const struct presto_type *type) {
    return type->kind == SEAM_PRESTO_FIXED || type->kind == SEAM_PRESTO_DOUBLE;
}

/* Values that need no conversion go straight to their places. */
static void expand_same(int64_t width, const uint8_t *wire, const uint8_t *validity, int64_t rows,
                        uint8_t *arrow) {
    for (int64_t row = 0; row < rows; row += 64, arrow += 64 * width) {
        uint64_t bits = seam_load64(validity + row / 8);
        int64_t count = rows - row < 64 ? rows - row : 64;
        presto_wide_expand((int32_t)width, bits, count, wire, arrow);
        wire += width * __builtin_popcountll(bits);
    }
}

int64_t presto_decode_sparse(const struct presto_type *type, const uint8_t *wire, int64_t present,
                             const uint8_t *validity, int64_t rows, uint8_t *arrow) {
    const int64_t width = type->wire_bytes;
    const int64_t stride = type->kind == SEAM_PRESTO_BOOLEAN ? 8 : 64 * (int64_t)type->arrow_bytes;
    int64_t taken = 0;
    if (is_same(type) && presto_wide_available()) {
        expand_same(width, wire, validity, rows, arrow);
        return present;
    }
    for (int64_t row = 0; row < rows; row += 64, arrow += stride) {
        int64_t count = rows - row < 64 ? rows - row : 64;
        uint64_t bits = seam_load64(validity + row / 8);
        const uint8_t *at = wire + taken * width;
        uint8_t chunk[64 * 16];
        if (bits != low_bits(count)) {
            expand((int32_t)width, bits, count, at, present - taken, chunk);
            at = chunk;
        }
        int64_t good = presto_decode(type, at, count, arrow);
        if (good < count) {
            return taken + __builtin_popcountll(bits & low_bits(good));
        }
        taken += __builtin_popcountll(bits);
    }
    return present;
}

/* --- into a page --- */

/* Runs a block with `row` set to each row of `rows` in turn and `i` to its number. Two loops, so
 * that the one over neighbours can be vectorised. */
#define EACH_ROW(rows, ...)                                                                        \
    if ((rows)->rows == NULL) {                                                                    \
        for (int64_t i = 0; i < (rows)->count; i++) {                                              \
            const int64_t row = (rows)->begin + i;                                                 \
            __VA_ARGS__                                                                            \
        }                                                                                          \
    } else {                                                                                       \
        for (int64_t i = 0; i < (rows)->count; i++) {                                              \
            const int64_t row = (rows)->rows[i];                                                   \
            __VA_ARGS__                                                                            \
        }                                                                                          \
    }

/* The list is taken out of `rows` first: for all that the compiler knows, `wire` may hold it. */
static inline void gather(const int64_t width, const uint8_t *data, const struct presto_rows *rows,
                          uint8_t *restrict wire) {
    const int32_t *restrict list = rows->rows;
    const int64_t count = rows->count;
    for (int64_t i = 0; i < count; i++) {
        memcpy(wire + i * width, data + list[i] * width, (size_t)width);
    }
}

void presto_copy_values(int64_t width, const uint8_t *data, const struct presto_rows *rows,
                        uint8_t *wire) {
    if (rows->rows == NULL) {
        memcpy(wire, data + rows->begin * width, (size_t)(rows->count * width));
        return;
    }
    switch (width) { /* a constant size each, so that a copy is one move */
    case 1:
        gather(1, data, rows, wire);
        return;
    case 2:
        gather(2, data, rows, wire);
        return;
    case 4:
        gather(4, data, rows, wire);
        return;
    case 8:
        gather(8, data, rows, wire);
        return;
    case 16:
        gather(16, data, rows, wire);
        return;
    default:
        gather(width, data, rows, wire);
    }
}

static void encode_booleans(const struct seam_view *view, const struct presto_rows *rows,
                            uint8_t *wire) {
    if (rows->rows != NULL) {
        for (int64_t i = 0; i < rows->count; i++) {
            wire[i] = seam_bit(view->data, view->offset + rows->rows[i]);
        }
        return;
    }
    int64_t first = view->offset + rows->begin;
    for (int64_t i = 0; i < rows->count; i += 8) {
        int64_t count = rows->count - i < 8 ? rows->count - i : 8;
        uint64_t bits = presto_load_bits(view->data, first + i, count);
        uint64_t word = seam_spread((uint8_t)bits);
        memcpy(wire + i, &word, (size_t)count);
    }
}

/* One value; returns 0 if it is within its digits. */
static inline uint64_t narrow_decimal(int64_t most, const uint8_t *from, uint8_t *to) {
    int64_t words[2];
    memcpy(words, from, sizeof words);
    memcpy(to, words, sizeof words[0]);
    return (uint64_t)((uint64_t)words[0] + (uint64_t)most > 2 * (uint64_t)most) |
           (uint64_t)(words[1] ^ (words[0] >> 63));
}

SEAM_WIDE static bool narrow_decimals(int64_t most, const uint8_t *data, int64_t n, uint8_t *wire) {
    uint64_t bad = 0;
    SEAM_EACH_ROW_ALONE
    for (int64_t i = 0; i < n; i++) {
        bad |= narrow_decimal(most, data + i * 16, wire + i * 8);
    }
    return bad == 0;
}

static bool encode_short_decimals(int32_t digits, const uint8_t *data,
                                  const struct presto_rows *rows, uint8_t *wire) {
    const int64_t most = (int64_t)(seam_power_of_ten(digits) - 1);
    if (rows->rows == NULL) {
        return narrow_decimals(most, data + rows->begin * 16, rows->count, wire);
    }
    const int32_t *restrict list = rows->rows;
    const int64_t count = rows->count;
    uint64_t bad = 0;
    for (int64_t i = 0; i < count; i++) {
        bad |= narrow_decimal(most, data + (int64_t)list[i] * 16, wire + i * 8);
    }
    return bad == 0;
}

static bool encode_long_decimals(int32_t digits, const uint8_t *data,
                                 const struct presto_rows *rows, uint8_t *wire) {
    const struct wide power = wide_power(digits);
    bool good = true;
    EACH_ROW(rows, {
        struct wide value;
        memcpy(&value, data + row * 16, sizeof value);
        uint64_t sign = value.high & SIGN_BIT;
        value = sign != 0 ? negate(value) : value;
        good &= below(value, power);
        value.high |= sign;
        memcpy(wire + i * 16, &value, sizeof value);
    })
    return good;
}

static void encode_doubles(const uint8_t *data, const struct presto_rows *rows, uint8_t *wire) {
    const uint64_t nan = UINT64_C(0x7FF8000000000000);
    const uint64_t infinite = UINT64_C(0x7FF0000000000000);
    EACH_ROW(rows, {
        uint64_t bits = seam_load64(data + row * 8);
        bits = (bits & ~SIGN_BIT) > infinite ? nan : bits;
        memcpy(wire + i * 8, &bits, sizeof bits);
    })
}

static bool encode_times(const uint8_t *data, const struct presto_rows *rows, uint8_t *wire) {
    bool good = true;
    EACH_ROW(rows, {
        int64_t millis = (int32_t)seam_load32(data + row * 4);
        good &= millis >= 0 && millis < DAY_MILLIS;
        memcpy(wire + i * 8, &millis, sizeof millis);
    })
    return good;
}

static void encode_nanos(const uint8_t *data, const struct presto_rows *rows, uint8_t *wire) {
    EACH_ROW(rows, {
        int64_t value = (int64_t)seam_load64(data + row * 8);
        int64_t nanos = value % SECOND_NANOS;
        int64_t words[2] = {value / SECOND_NANOS - (nanos < 0),
                            nanos + (nanos < 0 ? SECOND_NANOS : 0)};
        memcpy(wire + i * 16, words, sizeof words);
    })
}

bool presto_encode(const struct presto_type *type, const struct seam_view *view,
                   const struct presto_rows *rows, bool one_nan, uint8_t *wire) {
    if (type->kind == SEAM_PRESTO_BOOLEAN) {
        encode_booleans(view, rows, wire);
        return true;
    }
    const uint8_t *data = view->data + view->offset * type->arrow_bytes;
    switch (type->kind) {
    case SEAM_PRESTO_TIME:
        return encode_times(data, rows, wire);
    case SEAM_PRESTO_SHORT_DECIMAL:
        return encode_short_decimals(type->size, data, rows, wire);
    case SEAM_PRESTO_LONG_DECIMAL:
        return encode_long_decimals(type->size, data, rows, wire);
    case SEAM_PRESTO_NANOS:
        encode_nanos(data, rows, wire);
        return true;
    case SEAM_PRESTO_DOUBLE:
        if (one_nan) {
            encode_doubles(data, rows, wire);
            return true;
        }
        __attribute__((fallthrough));
    default:
        presto_copy_values(type->wire_bytes, data, rows, wire);
        return true;
    }
}

bool presto_squeeze(const struct presto_type *type, const struct seam_view *view,
                    const struct presto_rows *rows, uint8_t *wire) {
    if (!is_same(type) || rows->rows != NULL || !presto_wide_available()) {
        return false;
    }
    const int64_t width = type->wire_bytes;
    const int64_t first = view->offset + rows->begin;
    const uint8_t *values = view->data + first * width;
    for (int64_t i = 0; i < rows->count; i += 64, values += 64 * width) {
        int64_t count = rows->count - i < 64 ? rows->count - i : 64;
        uint64_t bits = presto_load_bits(view->validity, first + i, count);
        presto_wide_squeeze((int32_t)width, bits, values, wire);
        wire += width * __builtin_popcountll(bits);
    }
    return true;
}

/* --- rows that are not null --- */

enum { PIECE_ROWS = 1024 };

static bool next_of_list(struct presto_pieces *pieces, struct presto_rows *out) {
    int64_t kept = 0;
    while (pieces->done < pieces->rows.count && kept < PIECE_ROWS) {
        int32_t row = pieces->rows.rows[pieces->done++];
        pieces->kept[kept] = row;
        kept += row >= 0 && seam_view_valid(pieces->view, row);
    }
    *out = (struct presto_rows){.rows = pieces->kept, .count = kept};
    return kept > 0;
}

/* Rows from `row` on, whole words of them, without a null between. */
static int64_t valid_run(const struct presto_pieces *pieces, int64_t row) {
    const int64_t end = pieces->rows.begin + pieces->rows.count;
    int64_t at = row;
    while (at < end) {
        int64_t count = end - at < 64 ? end - at : 64;
        const struct seam_view *view = pieces->view;
        if (presto_load_bits(view->validity, view->offset + at, count) != low_bits(count)) {
            break;
        }
        at += count;
    }
    return at - row;
}

/* Neighbours: words of 64 rows, those without nulls as they are. */
static bool next_of_range(struct presto_pieces *pieces, struct presto_rows *out) {
    int64_t kept = 0;
    while (pieces->done < pieces->rows.count && kept <= PIECE_ROWS - 64) {
        int64_t left = pieces->rows.count - pieces->done;
        int64_t count = left < 64 ? left : 64;
        int64_t row = pieces->rows.begin + pieces->done;
        uint64_t bits = presto_load_bits(pieces->view->validity, pieces->view->offset + row, count);
        if (bits == low_bits(count)) {
            if (kept == 0) {
                *out = (struct presto_rows){
                    .rows = NULL, .begin = row, .count = valid_run(pieces, row)};
                pieces->done += out->count;
                return true;
            }
            break;
        }
        for (; bits != 0; bits &= bits - 1) {
            pieces->kept[kept++] = (int32_t)(row + __builtin_ctzll(bits));
        }
        pieces->done += count;
    }
    *out = (struct presto_rows){.rows = pieces->kept, .count = kept};
    return kept > 0;
}

bool presto_pieces_next(struct presto_pieces *pieces, struct presto_rows *out) {
    if (pieces->whole) {
        *out = pieces->rows;
        bool first = pieces->done == 0 && pieces->rows.count > 0;
        pieces->done = pieces->rows.count;
        return first;
    }
    return pieces->rows.rows == NULL ? next_of_range(pieces, out) : next_of_list(pieces, out);
}
