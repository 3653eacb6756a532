package com.starrocks.trips;

import java.io.IOException;
import java.util.Arrays;
import java.util.Iterator;
import java.util.Map;

import com.starrocks.jni.connector.ColumnType;
import com.starrocks.jni.connector.ColumnValue;
import com.starrocks.jni.connector.ConnectorScanner;
import com.starrocks.utils.loader.ThreadContextClassLoader;

/** Trips that are not in any file, by a scanner in the words of StarRocks' package. */
public class TripScanner extends ConnectorScanner {
    private static final String[] NAMES = {
        "id", "rider", "paid", "tip", "day", "begin", "stars", "raw", "stops", "seats", "from"
    };
    private static final String[] TYPES = {
        "bigint", "string", "decimal(9,2)", "double", "date", "timestamp-millis", "tinyint", "binary",
        "array<date>", "map<string,int>", "struct<city:string,at:timestamp-millis>"
    };

    private final int fetchSize;
    private final String[] requiredFields;
    private final ClassLoader classLoader;
    private ColumnType[] requiredTypes;
    private Iterator<Object[]> trips;

    public TripScanner(int fetchSize, Map<String, String> params) {
        this.fetchSize = fetchSize;
        String fields = (String) params.get("required_fields");
        this.requiredFields = fields == null ? NAMES : fields.split(",");
        this.classLoader = this.getClass().getClassLoader();
    }

    @Override
    public void open() throws IOException {
        try (ThreadContextClassLoader ignored = new ThreadContextClassLoader(classLoader)) {
            requiredTypes = new ColumnType[requiredFields.length];
            for (int i = 0; i < requiredFields.length; i++) {
                requiredTypes[i] = new ColumnType(TYPES[placeOf(requiredFields[i])]);
            }
            initOffHeapTableWriter(requiredTypes, requiredFields, fetchSize);
            trips = Trips.all().iterator();
        } catch (Exception e) {
            close();
            throw new IOException("Trips cannot be opened.", e);
        }
    }

    @Override
    public int getNext() throws IOException {
        int rows = 0;
        while (rows < getTableSize() && trips.hasNext()) {
            Object[] trip = (Object[]) trips.next();
            for (int i = 0; i < requiredFields.length; i++) {
                Object item = trip[placeOf(requiredFields[i])];
                if (item == null) {
                    appendData(i, null);
                } else {
                    ColumnValue value = new TripValue(item);
                    appendData(i, value);
                }
            }
            rows++;
        }
        return rows;
    }

    @Override
    public void close() throws IOException {
        trips = null;
    }

    private static int placeOf(String field) {
        int place = Arrays.asList(NAMES).indexOf(field);
        if (place < 0) {
            throw new RuntimeException("no trip has a field " + field);
        }
        return place;
    }
}
