package seamkit.offheap;

import java.time.LocalDate;

/** Dates and datetimes as formatted texts. */
final class FormattedText {
    static final long MICROS_A_DAY = 86400L * 1000000L;
    private static final long FIRST_DAY = LocalDate.of(0, 1, 1).toEpochDay();
    private static final long LAST_DAY = LocalDate.of(9999, 12, 31).toEpochDay();

    private FormattedText() {}

    /** Whether four digits spell the year of a day since 1970-01-01, and no sign. */
    static boolean hasYear(long days) {
        return days >= FIRST_DAY && days <= LAST_DAY;
    }

    /** yyyy-MM-dd of days since 1970-01-01. */
    static String date(long days) {
        return LocalDate.ofEpochDay(days).toString();
    }

    /** yyyy-MM-dd HH:mm:ss of microseconds since then, and six digits more where they are not all 0. */
    static String dateTime(long micros) {
        long ofDay = Math.floorMod(micros, MICROS_A_DAY);
        int second = (int) (ofDay / 1000000);
        int fraction = (int) (ofDay % 1000000);
        StringBuilder out = new StringBuilder(26).append(date(Math.floorDiv(micros, MICROS_A_DAY)));
        digits(out.append(' '), second / 3600, 10);
        digits(out.append(':'), second / 60 % 60, 10);
        digits(out.append(':'), second % 60, 10);
        if (fraction > 0) {
            digits(out.append('.'), fraction, 100000);
        }
        return out.toString();
    }

    /** The digits of a number from that of the given power of ten on, zeros too. */
    private static void digits(StringBuilder out, int number, int power) {
        for (; power > 0; power /= 10) {
            out.append((char) ('0' + number / power % 10));
        }
    }
}
