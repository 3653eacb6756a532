package seambench.paimon;

import java.io.IOException;
import java.time.ZoneId;
import java.util.List;
import java.util.Map;

import org.apache.paimon.data.InternalRow;
import org.apache.paimon.disk.IOManager;
import org.apache.paimon.predicate.Predicate;
import org.apache.paimon.reader.RecordReaderIterator;
import org.apache.paimon.table.Table;
import org.apache.paimon.table.source.ReadBuilder;
import org.apache.paimon.table.source.Split;
import org.apache.paimon.types.DataType;
import org.apache.paimon.types.RowType;

import seamkit.offheap.ColumnType;
import seamkit.offheap.ConnectorScanner;
import seamkit.offheap.Parameters;
import seamkit.offheap.RefusedException;
import seamkit.offheap.SelectedFields;

/**
 * One split of a Paimon table by Paimon's own core (0.9.0 or 1.4.2).
 *
 * <p>Parameters: `native_table`, `split_info` and `predicate_info` (may be empty), objects of the same
 * version of Paimon as `Encoded` writes them; `required_fields`, `nested_fields`, `time_zone`;
 * `retracts`, `drop` where a split of changes shall give no rows that take others back. Rows for
 * which a predicate is not true are left out.
 */
public final class PaimonSplitScanner extends ConnectorScanner {
    private final Parameters parameters;
    private final ZoneId zone;
    private final int fetchSize;
    private final boolean dropsRetracts;
    private RecordReaderIterator<InternalRow> rows;
    private IOManager spilled;
    private DataType[] types;
    private InternalRow.FieldGetter[] getters;

    public PaimonSplitScanner(int fetchSize, Map<String, String> parameters) {
        this.fetchSize = fetchSize;
        this.parameters = new Parameters(parameters);
        zone = this.parameters.zone();
        dropsRetracts = this.parameters.text("retracts").equals("drop");
    }

    @Override
    public void open() throws IOException {
        Table table = (Table) Encoded.object(parameters.needed("native_table"), "native_table", Table.class);
        Split split = (Split) Encoded.object(parameters.needed("split_info"), "split_info", Split.class);
        RowType row = table.rowType();
        List<String> names = row.getFieldNames();
        String[] required = parameters.required();
        SelectedFields selected = parameters.nested();
        ColumnType[] pruned = new ColumnType[required.length];
        int[] places = new int[required.length];
        types = new DataType[required.length];
        getters = new InternalRow.FieldGetter[required.length];
        for (int i = 0; i < required.length; i++) {
            places[i] = names.indexOf(required[i]);
            if (places[i] < 0) {
                throw new RefusedException("the table has no column '" + required[i] + "', but " + names);
            }
            types[i] = row.getTypeAt(places[i]);
            getters[i] = InternalRow.createFieldGetter(types[i], i);
            ColumnType whole = new ColumnType(PaimonTypes.text(types[i], required[i]));
            pruned[i] = whole.prune(selected.child(required[i]), required[i]);
        }
        initOffHeapTableWriter(pruned, required, fetchSize);
        ReadBuilder builder = table.newReadBuilder().withProjection(places);
        String predicates = parameters.text("predicate_info");
        if (!predicates.isEmpty()) {
            List<Predicate> all = (List<Predicate>) Encoded.object(predicates, "predicate_info", List.class);
            builder = builder.withFilter(all);
        }
        spilled = IOManager.create(System.getProperty("java.io.tmpdir"));
        rows =
                new RecordReaderIterator<InternalRow>(
                        builder.newRead().executeFilter().withIOManager(spilled).createReader(split));
    }

    @Override
    public int getNext() throws IOException {
        int count = 0;
        while (count < fetchSize && rows.hasNext()) {
            InternalRow row = (InternalRow) rows.next();
            if (dropsRetracts && row.getRowKind().isRetract()) {
                continue;
            }
            rowBegins();
            for (int i = 0; i < types.length; i++) {
                appendData(i, PaimonValue.of(getters[i].getFieldOrNull(row), types[i], zone));
            }
            rowEnds();
            count++;
        }
        return count;
    }

    @Override
    public void close() throws IOException {
        try {
            if (rows != null) {
                rows.close();
            }
            if (spilled != null) {
                spilled.close();
            }
        } catch (IOException error) {
            throw error;
        } catch (Exception error) {
            throw new IOException("the split's reader does not close", error);
        } finally {
            rows = null;
            spilled = null;
        }
    }
}
