/* Dates, datetimes and decimals that crossed as formatted texts, read strictly: a text that is none
 * is an error, never a NULL. */
#include "offheap/engine_buffers.h"

#include "base/words.h"

#include <string.h>

enum { DECIMAL_DIGITS = 38, FRACTION_DIGITS = 9, EXPONENT_DIGITS = 4 };

struct text {
    const uint8_t *at;
    const uint8_t *end;
};

static bool is_digit(uint8_t byte) {
    return byte >= '0' && byte <= '9';
}

static bool at_digit(const struct text *text) {
    return text->at < text->end && is_digit(*text->at);
}

static bool take(struct text *text, uint8_t sign) {
    if (text->at == text->end || *text->at != sign) {
        return false;
    }
    text->at++;
    return true;
}

/* A number of exactly so many digits. */
static bool take_digits(struct text *text, int count, int64_t *out) {
    int64_t value = 0;
    for (int i = 0; i < count; i++) {
        if (!at_digit(text)) {
            return false;
        }
        value = value * 10 + (*text->at++ - '0');
    }
    *out = value;
    return true;
}

static int64_t days_of_month(int64_t year, int64_t month) {
    static const int8_t days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    return days[month - 1] + (month == 2 && leap);
}

/* yyyy-MM-dd as a Julian day; the year begins in March, so that a leap day is its last. */
static bool take_date(struct text *text, int64_t *julian) {
    int64_t year, month, day;
    if (!take_digits(text, 4, &year) || !take(text, '-') || !take_digits(text, 2, &month) ||
        !take(text, '-') || !take_digits(text, 2, &day) || month < 1 || month > 12 || day < 1 ||
        day > days_of_month(year, month)) {
        return false;
    }
    int64_t y = year + 4800 - (month <= 2);
    int64_t m = month + (month <= 2 ? 9 : -3);
    *julian = day + (153 * m + 2) / 5 + 365 * y + y / 4 - y / 100 + y / 400 - 32045;
    return true;
}

/* HH:mm:ss, and digits behind a point, of which those below a microsecond are cut off. */
static bool take_clock(struct text *text, int64_t *micros) {
    int64_t hour, minute, second, fraction = 0;
    if (!take_digits(text, 2, &hour) || !take(text, ':') || !take_digits(text, 2, &minute) ||
        !take(text, ':') || !take_digits(text, 2, &second) || hour > 23 || minute > 59 ||
        second > 59) {
        return false;
    }
    if (take(text, '.')) {
        int digits = 0;
        for (; at_digit(text) && digits < FRACTION_DIGITS; digits++) {
            fraction = digits < 6 ? fraction * 10 + (*text->at - '0') : fraction;
            text->at++;
        }
        for (int i = digits; i < 6; i++) {
            fraction *= 10;
        }
        if (digits == 0) {
            return false;
        }
    }
    *micros = ((hour * 60 + minute) * 60 + second) * 1000000 + fraction;
    return true;
}

static bool take_datetime(struct text *text, int64_t *packed) {
    int64_t day, micros;
    if (!take_date(text, &day) || !take(text, ' ') || !take_clock(text, &micros)) {
        return false;
    }
    *packed = day << SEAM_DATETIME_SHIFT | micros;
    return true;
}

/* Digits with a point among them or none; how many of them stand behind it. */
static bool take_number(struct text *text, seam_uint128 *out, int64_t *behind) {
    seam_uint128 value = 0;
    int digits = 0, counted = 0;
    *behind = 0;
    for (bool point = false;; text->at++) {
        if (!point && digits > 0 && text->at < text->end && *text->at == '.') {
            point = true;
            text->at++;
        }
        if (!at_digit(text)) {
            *out = value;
            return digits > 0 && !(point && *behind == 0);
        }
        counted += value > 0 || *text->at != '0';
        if (counted > DECIMAL_DIGITS) {
            return false;
        }
        value = value * 10 + (uint64_t)(*text->at - '0');
        digits++;
        *behind += point;
    }
}

/* What Java writes behind small and large numbers, as `E-10`; nothing is 0. */
static bool take_exponent(struct text *text, int64_t *out) {
    *out = 0;
    if (!take(text, 'E')) {
        return true;
    }
    bool negative = take(text, '-');
    if (!negative) {
        take(text, '+');
    }
    int digits = 0;
    for (; at_digit(text) && digits < EXPONENT_DIGITS; digits++) {
        *out = *out * 10 + (*text->at++ - '0');
    }
    *out = negative ? -*out : *out;
    return digits > 0;
}

/* A decimal's unscaled number. No digit is lost, and none may be too many. */
static bool take_decimal(struct text *text, int32_t scale, seam_uint128 limit, seam_uint128 *out) {
    bool negative = take(text, '-');
    seam_uint128 value;
    int64_t behind, exponent;
    if (!take_number(text, &value, &behind) || !take_exponent(text, &exponent)) {
        return false;
    }
    int64_t power = scale - behind + exponent;
    for (; power > 0 && value > 0; power--) {
        if (value >= limit / 10) {
            return false;
        }
        value *= 10;
    }
    for (; power < 0 && value > 0; power++) {
        if (value % 10 != 0) {
            return false;
        }
        value /= 10;
    }
    *out = negative ? -value : value;
    return value < limit;
}

bool seam_engine_has_texts(int32_t kind) {
    return kind == SEAM_COLUMN_DATE || seam_column_is_decimal(kind) ||
           (kind >= SEAM_COLUMN_DATETIME && kind <= SEAM_COLUMN_DATETIME_MILLIS);
}

static bool read_text(const struct seam_engine_texts *texts, seam_uint128 limit, struct text text,
                      uint8_t *out) {
    int32_t width = seam_column_width(texts->kind);
    seam_uint128 unscaled = 0;
    int64_t value = 0;
    bool right;
    if (texts->kind == SEAM_COLUMN_DATE) {
        right = take_date(&text, &value);
    } else if (seam_column_is_decimal(texts->kind)) {
        right = take_decimal(&text, texts->scale, limit, &unscaled);
    } else {
        right = take_datetime(&text, &value);
    }
    unscaled = seam_column_is_decimal(texts->kind) ? unscaled : (seam_uint128)value;
    memcpy(out, &unscaled, (size_t)width); /* the lower bytes come first */
    return right && text.at == text.end;
}

int64_t seam_engine_texts_read(const struct seam_engine_texts *texts) {
    int32_t width = seam_column_width(texts->kind);
    seam_uint128 limit = (seam_uint128)seam_power_of_ten(texts->precision);
    /* Without a letter in any text there are no bytes, and nothing may be added to NULL. */
    const uint8_t *bytes = texts->bytes != NULL ? texts->bytes : (const uint8_t *)"";
    int32_t begin = 0, end;
    for (int64_t i = 0; i < texts->rows; i++, begin = end) {
        memcpy(&end, texts->offsets + 4 * (i + 1), sizeof end);
        uint8_t *out = texts->out + width * i;
        struct text text = {bytes + begin, bytes + end};
        if (texts->nulls != NULL && texts->nulls[i]) {
            memset(out, 0, (size_t)width);
        } else if (!read_text(texts, limit, text, out)) {
            return i;
        }
    }
    return -1;
}

const char *seam_engine_texts_form(int32_t kind) {
    if (kind == SEAM_COLUMN_DATE) {
        return "date (yyyy-MM-dd)";
    }
    return seam_column_is_decimal(kind) ? "decimal that its column holds"
                                        : "datetime (yyyy-MM-dd HH:mm:ss, a fraction or none)";
}
