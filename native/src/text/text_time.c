/* Dates and times as java.sql.Date and Timestamp read them, in which Hive 2 trusts: days behind a
 * month's end, hours behind a day's end roll over, and the days that the Gregorian calendar left
 * out in 1582 are those ten later. */
#include "text/text_internal.h"

enum { MICROS = 1000000 };

static bool is_leap(int64_t year) {
    /* Up to 1582 each fourth year is. */
    return year % 4 == 0 && (year <= 1582 || year % 100 != 0 || year % 400 == 0);
}

/* Days since 1970 of a date of the proleptic Gregorian calendar. */
static int64_t days_of(int64_t year, int64_t month, int64_t day) {
    year -= month <= 2;
    int64_t era = (year >= 0 ? year : year - 399) / 400;
    int64_t of_era = year - era * 400;
    int64_t of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

static int64_t rolled_days(int64_t year, int64_t month, int64_t day) {
    static const int64_t lengths[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    int64_t length = lengths[month - 1] + (month == 2 && is_leap(year));
    if (day > length) { /* 31 at most, so never December */
        day -= length;
        month++;
    }
    if (year == 1582 && month == 10 && day > 4 && day < 15) {
        day += 10;
    }
    return days_of(year, month, day);
}

/* Java's Integer.parseInt: a sign and digits. */
static bool whole(const uint8_t *at, const uint8_t *end, int64_t *out) {
    bool negative = at < end && *at == '-';
    at += at < end && (*at == '-' || *at == '+');
    if (at == end) {
        return false;
    }
    int64_t value = 0;
    for (; at < end; at++) {
        if (!is_digit(*at) || value > INT32_MAX) {
            return false;
        }
        value = value * 10 + (*at - '0');
    }
    *out = negative ? -value : value;
    return value <= (int64_t)INT32_MAX + negative;
}

static const uint8_t *find(const uint8_t *at, const uint8_t *end, uint8_t byte) {
    return at < end ? memchr(at, byte, (size_t)(end - at)) : NULL;
}

/* yyyy-[m]m-[d]d, which must fill the text. */
static bool read_date(const uint8_t *at, const uint8_t *end, int64_t *days) {
    if (end - at == 10 && at[4] == '-' && at[7] == '-') { /* nearly all */
        static const uint8_t places[] = {0, 1, 2, 3, 5, 6, 8, 9};
        bool digits = true;
        for (size_t i = 0; i < sizeof places; i++) {
            digits = digits && is_digit(at[places[i]]);
        }
        if (digits) {
            int64_t year =
                (at[0] - '0') * 1000 + (at[1] - '0') * 100 + (at[2] - '0') * 10 + (at[3] - '0');
            int64_t month = (at[5] - '0') * 10 + (at[6] - '0');
            int64_t day = (at[8] - '0') * 10 + (at[9] - '0');
            if (month < 1 || month > 12 || day < 1 || day > 31) {
                return false;
            }
            *days = rolled_days(year, month, day);
            return true;
        }
    }
    const uint8_t *first = find(at, end, '-');
    const uint8_t *second = first == NULL ? NULL : find(first + 1, end, '-');
    int64_t year, month, day;
    if (second == NULL || first - at != 4 || second - first < 2 || second - first > 3 ||
        end - second < 2 || end - second > 3 || !whole(at, first, &year) ||
        !whole(first + 1, second, &month) || !whole(second + 1, end, &day) || month < 1 ||
        month > 12 || day < 1 || day > 31) {
        return false;
    }
    *days = rolled_days(year, month, day);
    return true;
}

bool seam_text_date(struct piece text, int64_t *days) {
    return read_date(text.begin, text.end, days);
}

/* Digits behind a point; those below a microsecond are cut off. */
static bool read_fraction(const uint8_t *at, const uint8_t *end, int64_t *micros) {
    int64_t n = end - at, value = 0;
    if (n < 1 || n > 9) {
        return false;
    }
    for (const uint8_t *digit = at; digit < end; digit++) {
        if (!is_digit(*digit)) {
            return false;
        }
        value = value * 10 + (*digit - '0');
    }
    *micros = value * (int64_t)POWERS_OF_TEN[9 - n] / 1000;
    return true;
}

bool seam_text_timestamp(struct piece text, int64_t *micros) {
    while (text.begin < text.end && *text.begin <= ' ') {
        text.begin++;
    }
    while (text.begin < text.end && text.end[-1] <= ' ') {
        text.end--;
    }
    const uint8_t *end = text.end;
    const uint8_t *space = find(text.begin, end, ' ');
    const uint8_t *colon = space == NULL ? NULL : find(space + 1, end, ':');
    const uint8_t *second_colon = colon == NULL ? NULL : find(colon + 1, end, ':');
    int64_t days, hour, minute, second, fraction = 0;
    if (second_colon == NULL || second_colon + 1 == end) {
        return false;
    }
    const uint8_t *point = find(second_colon + 1, end, '.');
    if (!read_date(text.begin, space, &days) || !whole(space + 1, colon, &hour) ||
        !whole(colon + 1, second_colon, &minute) ||
        !whole(second_colon + 1, point == NULL ? end : point, &second) ||
        (point != NULL && !read_fraction(point + 1, end, &fraction))) {
        return false;
    }
    seam_int128 seconds = ((seam_int128)days * 24 + hour) * 3600 + minute * 60 + second;
    seam_int128 whole_value = seconds * MICROS + fraction;
    *micros = (int64_t)whole_value;
    return whole_value == *micros;
}
