/* Numbers as Hive's lazy types read them: what is no number is null. */
#include "text/text_internal.h"

#include <locale.h>
#include <stdlib.h>

/* Hive looks at short texts before it parses them (LazyUtils.isNumberMaybe). */
static bool may_be_number(struct piece text) {
    int64_t size = piece_size(text);
    if (size == 0) {
        return false;
    }
    if (size == 1) {
        return is_digit(text.begin[0]);
    }
    if (size == 2) {
        return is_digit(text.begin[0]) || is_digit(text.begin[1]);
    }
    return size != 4 || (text.begin[0] != 'N' && text.begin[0] != 'n');
}

static bool equal_letters(struct piece text, const char *word) {
    for (int64_t i = 0; i < piece_size(text); i++) {
        if ((text.begin[i] & 0xdf) != (uint8_t)word[i]) {
            return false;
        }
    }
    return true;
}

bool seam_text_bool(struct piece text, uint8_t *out) {
    *out = piece_size(text) == 4;
    return (piece_size(text) == 4 && equal_letters(text, "TRUE")) ||
           (piece_size(text) == 5 && equal_letters(text, "FALSE"));
}

/* Digits, with what stands behind a point checked and cut off. */
bool seam_text_int(struct piece text, int64_t least, int64_t most, int64_t *out) {
    if (!may_be_number(text)) {
        return false;
    }
    const uint8_t *at = text.begin;
    bool negative = *at == '-';
    at += negative || *at == '+';
    uint64_t value = 0;
    int64_t n = 0;
    for (; at < text.end && is_digit(*at); at++) {
        uint64_t digit = (uint64_t)(*at - '0');
        if (++n > 18 && value > (UINT64_MAX - digit) / 10) {
            return false;
        }
        value = value * 10 + digit;
    }
    if (at < text.end && *at == '.') {
        for (at++; at < text.end && is_digit(*at); at++) {
        }
    }
    uint64_t bound = negative ? (uint64_t)0 - (uint64_t)least : (uint64_t)most;
    if (at < text.end || value > bound) {
        return false;
    }
    *out = (int64_t)(negative ? (uint64_t)0 - value : value);
    return true;
}

/* A number in its parts: what Java's and Hive's grammars share. */
struct parts {
    bool negative;
    bool is_decimal;  /* there is a digit, and nothing behind the number */
    int32_t dropped;  /* the first digit that `digits` has no room for, or -1 */
    int64_t stated;   /* the power of ten behind an `e`, or 0 */
    int64_t exponent; /* the value is digits * 10^exponent */
    seam_uint128 digits;
    int32_t n_digits; /* of `digits`, without leading zeros */
};

/* Reads an exponent's digits; far from 64 bits, so that sums of it do not overflow. */
static const uint8_t *read_exponent(const uint8_t *at, const uint8_t *end, int64_t *out) {
    bool negative = at < end && *at == '-';
    at += at < end && (*at == '-' || *at == '+');
    if (at == end || !is_digit(*at)) {
        return NULL;
    }
    int64_t value = 0;
    for (; at < end && is_digit(*at); at++) {
        value = value < INT32_MAX ? value * 10 + (*at - '0') : value;
    }
    *out = negative ? -value : value;
    return at;
}

static void read_parts(struct piece text, struct parts *parts) {
    enum { MOST_DIGITS = 38 };
    *parts = (struct parts){.dropped = -1};
    const uint8_t *at = text.begin, *end = text.end;
    parts->negative = at < end && *at == '-';
    at += at < end && (*at == '-' || *at == '+');
    bool any = false, behind = false;
    int64_t decimals = 0; /* digits behind the point */
    for (; at < end; at++) {
        if (*at == '.' && !behind) {
            behind = true;
            continue;
        }
        if (!is_digit(*at)) {
            break;
        }
        any = true;
        bool zero = parts->n_digits == 0 && *at == '0';
        if (decimals == MOST_DIGITS || (parts->n_digits == MOST_DIGITS && !zero)) {
            parts->dropped = parts->dropped < 0 ? *at - '0' : parts->dropped;
            parts->exponent += !behind;
            continue;
        }
        parts->digits = parts->digits * 10 + (uint64_t)(*at - '0');
        parts->n_digits += !zero;
        parts->exponent -= behind;
        decimals += behind;
    }
    if (any && at < end && (*at | 0x20) == 'e') {
        at = read_exponent(at + 1, end, &parts->stated);
        parts->exponent += parts->stated;
    }
    parts->is_decimal = any && at == end;
}

static seam_uint128 divided_half_up(seam_uint128 value, int64_t by_power) {
    if (by_power >= 38) { /* Hive does not look at the first digit that is gone */
        return 0;
    }
    for (; by_power > 1; by_power--) {
        value /= 10;
    }
    return by_power == 1 ? (value + 5) / 10 : value;
}

/* Rounded twice, as Hive does: to 38 digits, then to the scale. */
bool seam_text_decimal(struct piece text, int32_t scale, seam_uint128 limit, seam_int128 *out) {
    struct parts parts;
    if (!may_be_number(text)) {
        return false;
    }
    read_parts(text, &parts);
    if (!parts.is_decimal || parts.stated > 99 || parts.stated < -99) {
        return false; /* powers of three digits are none to Hive */
    }
    seam_uint128 value = parts.digits + (parts.dropped >= 5);
    int64_t exponent = parts.exponent;
    if (parts.n_digits == 38 && value % 10 == 0) { /* it may have 39 digits now */
        value /= 10;
        exponent++;
    }
    if (exponent < -38) {
        value = divided_half_up(value, -38 - exponent);
        exponent = -38;
    }
    exponent += scale;
    if (exponent < 0) {
        value = divided_half_up(value, -exponent);
    }
    for (; exponent > 0 && value != 0; exponent--) {
        if (value >= limit) {
            return false;
        }
        value *= 10;
    }
    if (value >= limit) {
        return false;
    }
    *out = parts.negative ? -(seam_int128)value : (seam_int128)value;
    return true;
}

static bool is_word(struct piece text, const char *word) {
    size_t size = strlen(word);
    return (size_t)piece_size(text) == size && memcmp(text.begin, word, size) == 0;
}

/* Hexadecimal numbers as Java writes them: a power of two is a must. */
static bool is_hexadecimal(struct piece text) {
    const uint8_t *at = text.begin, *end = text.end;
    if (end - at < 2 || at[0] != '0' || (at[1] | 0x20) != 'x') {
        return false;
    }
    bool any = false, behind = false;
    for (at += 2; at < end; at++) {
        uint8_t letter = *at | 0x20;
        if (*at == '.' && !behind) {
            behind = true;
        } else if (is_digit(*at) || (letter >= 'a' && letter <= 'f')) {
            any = true;
        } else {
            break;
        }
    }
    int64_t ignored;
    return any && at < end && (*at | 0x20) == 'p' && read_exponent(at + 1, end, &ignored) == end;
}

/* What needs more care than a product: the C library's conversion, in its own locale. */
static int convert(struct seam_text_parser *parser, struct piece text, bool is_float, double *out,
                   struct seam_error *error) {
    struct seam_buffer *scratch = &parser->scratch;
    size_t size = (size_t)piece_size(text);
    /* Fields of a CSV row stay where they are: those are texts, and never come here. */
    scratch->size_bytes = 0;
    int code = seam_buffer_reserve(scratch, (int64_t)size + 1, error);
    locale_t plain = code == SEAM_OK ? newlocale(LC_NUMERIC_MASK, "C", (locale_t)0) : (locale_t)0;
    if (code == SEAM_OK && plain == (locale_t)0) {
        code = seam_fail(error, SEAM_NO_MEMORY, -1, "no memory for a locale");
    }
    SEAM_TRY(code);
    char *copy = (char *)scratch->data;
    memcpy(copy, text.begin, size);
    copy[size] = 0;
    locale_t before = uselocale(plain);
    *out = is_float ? (double)strtof(copy, NULL) : strtod(copy, NULL);
    uselocale(before);
    freelocale(plain);
    return SEAM_OK;
}

/* A number whose digits and power of ten are exact, so that one rounding makes it right. */
static bool short_cut(const struct parts *parts, bool is_float, double *out) {
    static const double doubles[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                     1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                     1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    int64_t exponent = parts->exponent, size = exponent < 0 ? -exponent : exponent;
    if (parts->digits > (is_float ? UINT64_C(1) << 24 : UINT64_C(1) << 53) ||
        size > (is_float ? 10 : 22)) {
        return false;
    }
    double value = (double)(uint64_t)parts->digits;
    if (is_float) {
        float power = (float)doubles[size];
        float single = (float)value;
        value = (double)(exponent < 0 ? single / power : single * power);
    } else {
        value = exponent < 0 ? value / doubles[size] : value * doubles[size];
    }
    *out = parts->negative ? -value : value;
    return true;
}

int seam_text_real(struct seam_text_parser *parser, struct piece text, bool is_float, double *out,
                   bool *valid, struct seam_error *error) {
    *valid = false;
    if (!may_be_number(text)) {
        return SEAM_OK;
    }
    while (text.begin < text.end && *text.begin <= ' ') {
        text.begin++;
    }
    while (text.begin < text.end && text.end[-1] <= ' ') {
        text.end--;
    }
    if (text.begin == text.end) {
        return SEAM_OK;
    }
    struct piece unsigned_text = text;
    unsigned_text.begin += *text.begin == '-' || *text.begin == '+';
    bool negative = *text.begin == '-';
    if (is_word(unsigned_text, "NaN") || is_word(unsigned_text, "Infinity")) {
        double value = *unsigned_text.begin == 'N' ? __builtin_nan("") : __builtin_inf();
        *out = negative && *unsigned_text.begin == 'I' ? -value : value;
        *valid = true;
        return SEAM_OK;
    }
    struct piece number = text;
    uint8_t suffix = text.end[-1] | 0x20;
    bool hexadecimal = piece_size(unsigned_text) > 1 && (unsigned_text.begin[1] | 0x20) == 'x';
    if (suffix == 'd' || suffix == 'f') { /* in Java's numbers; behind a `p`, too */
        number.end--;
    }
    if (hexadecimal) {
        struct piece digits = {unsigned_text.begin, number.end};
        *valid = is_hexadecimal(digits);
        return *valid ? convert(parser, number, is_float, out, error) : SEAM_OK;
    }
    struct parts parts;
    read_parts(number, &parts);
    *valid = parts.is_decimal;
    if (!*valid || (parts.dropped < 0 && short_cut(&parts, is_float, out))) {
        return SEAM_OK;
    }
    return convert(parser, number, is_float, out, error);
}
