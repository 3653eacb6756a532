package com.starrocks.trips;

import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** The rows: a day is a number of days, a moment one of milliseconds. */
final class Trips {
    private static final long MOMENT = 951827696789L; // 2000-02-29 12:34:56.789

    static List<Object[]> all() {
        Map<String, Integer> seats = new LinkedHashMap<String, Integer>();
        seats.put("front", Integer.valueOf(1));
        seats.put("back", null);
        List<Object[]> rows = new ArrayList<Object[]>();
        rows.add(new Object[] {
            Long.valueOf(1), "Zoë", new BigDecimal("-12.30"), Double.valueOf(0.5), Integer.valueOf(11016),
            Long.valueOf(MOMENT), Byte.valueOf((byte) 5), new byte[] {0, -1},
            Arrays.asList(new Object[] {Integer.valueOf(-1), null}), seats,
            new Object[] {"Köln", Long.valueOf(-1)}
        });
        rows.add(new Object[11]);
        rows.add(new Object[] {
            Long.valueOf(3), "", new BigDecimal("0.00"), Double.valueOf(-0.0), Integer.valueOf(0),
            Long.valueOf(0), Byte.valueOf((byte) -1), new byte[0], new ArrayList<Object>(),
            new LinkedHashMap<String, Integer>(), new Object[] {null, null}
        });
        return rows;
    }
}
