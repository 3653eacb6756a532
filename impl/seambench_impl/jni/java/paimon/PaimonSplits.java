package seambench.paimon;

import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

import org.apache.paimon.io.DataFileMeta;
import org.apache.paimon.table.source.DataSplit;
import org.apache.paimon.table.source.DeletionFile;

import seamkit.offheap.RefusedException;

/**
 * What a planner hands a scanner: a table as one of its snapshots shows it, and splits of the files
 * that the planner chose for them.
 */
public final class PaimonSplits {
    private final PaimonPlan plan;
    private final Map<String, DataSplit> splits = new HashMap<String, DataSplit>();
    private final Map<String, DataFileMeta> files = new HashMap<String, DataFileMeta>();
    private final Map<String, DeletionFile> vectors = new HashMap<String, DeletionFile>();

    /**
     * Plans a snapshot.
     *
     * @param path of the table, on a local disk
     * @param branch its name; empty for the main one
     * @param point name and value of the option that chooses the snapshot
     * @param travels whether the snapshot's schema counts, in place of the newest
     */
    public PaimonSplits(String path, String branch, String[] point, boolean travels) {
        plan = new PaimonPlan(path, branch, point, travels, false);
        List<Object> planned = (List) plan.splits();
        for (int i = 0; i < planned.size(); i++) {
            if (!(planned.get(i) instanceof DataSplit)) {
                throw new RefusedException(path + ": a split of " + planned.get(i).getClass().getName());
            }
            add((DataSplit) planned.get(i));
        }
    }

    private void add(DataSplit split) {
        List<DataFileMeta> metas = split.dataFiles();
        List<DeletionFile> deletions = (List<DeletionFile>) split.deletionFiles().orElse(null);
        for (int i = 0; i < metas.size(); i++) {
            DataFileMeta meta = (DataFileMeta) metas.get(i);
            splits.put(meta.fileName(), split);
            files.put(meta.fileName(), meta);
            vectors.put(meta.fileName(), deletions == null ? null : (DeletionFile) deletions.get(i));
        }
    }

    /** The parameter `native_table`. */
    public String table() throws IOException {
        return plan.table();
    }

    /**
     * The parameter `predicate_info`.
     *
     * @param json a test; see `PaimonPredicates`
     */
    public String predicates(String json) throws IOException {
        return plan.predicates(json);
    }

    /**
     * Whether files were written with the schema that rows are shown in.
     *
     * @param names of files of the plan
     */
    public boolean haveSchemaOfTable(String[] names) {
        for (int i = 0; i < names.length; i++) {
            DataFileMeta meta = (DataFileMeta) files.get(names[i]);
            if (meta == null || meta.schemaId() != plan.schemaId()) {
                return false;
            }
        }
        return true;
    }

    /**
     * The parameter `split_info`.
     *
     * @param names of files of one bucket
     * @param raw whether their rows stand as they are, but for deletion vectors
     * @throws RefusedException Paimon's own plan has not all of these files
     */
    public String split(String[] names, boolean raw) throws IOException {
        List<DataFileMeta> own = new ArrayList<DataFileMeta>();
        List<DeletionFile> deletions = new ArrayList<DeletionFile>();
        for (int i = 0; i < names.length; i++) {
            if (!files.containsKey(names[i])) {
                throw new RefusedException("Paimon does not plan to read the file " + names[i]);
            }
            own.add(files.get(names[i]));
            deletions.add(vectors.get(names[i]));
        }
        DataSplit like = (DataSplit) splits.get(names[0]);
        DataSplit.Builder builder =
                DataSplit.builder()
                        .withSnapshot(like.snapshotId())
                        .withPartition(like.partition())
                        .withBucket(like.bucket())
                        .withBucketPath(like.bucketPath())
                        .withDataFiles(own)
                        .rawConvertible(raw);
        return Encoded.text(builder.withDataDeletionFiles(deletions).build());
    }
}
