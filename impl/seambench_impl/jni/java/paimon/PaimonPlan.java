package seambench.paimon;

import java.io.IOException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

import org.apache.paimon.fs.Path;
import org.apache.paimon.fs.local.LocalFileIO;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.table.FileStoreTableFactory;
import org.apache.paimon.table.Table;
import org.apache.paimon.table.source.Split;
import org.apache.paimon.table.system.ReadOptimizedTable;

/** What Paimon's own core plans to read: a table by its options, and the splits it cuts it into. */
public final class PaimonPlan {
    private final FileStoreTable whole;
    private final Table table;
    private final List<Split> splits;

    /**
     * Plans a read.
     *
     * @param path of the table, on a local disk
     * @param branch its name; empty for the main one
     * @param options names and values in turns: Paimon's options that choose what is read
     * @param travels whether a chosen snapshot's schema counts, in place of the newest
     * @param readOptimized whether the files of the highest level alone are meant
     */
    public PaimonPlan(
            String path, String branch, String[] options, boolean travels, boolean readOptimized) {
        FileStoreTable found = FileStoreTableFactory.create(LocalFileIO.create(), new Path(path));
        if (!branch.isEmpty()) {
            found = found.switchToBranch(branch);
        }
        Map<String, String> named = new HashMap<String, String>();
        for (int i = 0; i < options.length; i += 2) {
            named.put(options[i], options[i + 1]);
        }
        whole = travels ? found.copy(named) : found.copyWithoutTimeTravel(named);
        table = readOptimized ? (Table) new ReadOptimizedTable(whole) : (Table) whole;
        splits = (List<Split>) (List) table.newReadBuilder().newScan().plan().splits();
    }

    /** The parameter `native_table`. */
    public String table() throws IOException {
        return Encoded.text(table);
    }

    /** The schema in whose columns rows are shown, as JSON in the form of the table's own. */
    public String schema() {
        return whole.schema().toString();
    }

    /** The number of that schema. */
    long schemaId() {
        return whole.schema().id();
    }

    /** How many splits there are. */
    public int size() {
        return splits.size();
    }

    /** The parameter `split_info` of a split, by its number. */
    public String split(int number) throws IOException {
        return Encoded.text(splits.get(number));
    }

    /**
     * The parameter `predicate_info`.
     *
     * @param json a test; see `PaimonPredicates`
     */
    public String predicates(String json) throws IOException {
        return Encoded.text(PaimonPredicates.of(json, table.rowType()));
    }

    List<Split> splits() {
        return splits;
    }
}
