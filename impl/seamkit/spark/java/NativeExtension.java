package seamkit;

import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import org.apache.spark.TaskContext;
import org.apache.spark.api.java.function.FlatMapFunction;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.SparkSessionExtensions;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.execution.ColumnarRule;
import org.apache.spark.sql.execution.ColumnarToRowExec;
import org.apache.spark.sql.execution.SQLExecution;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.datasources.v2.BatchScanExec;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import scala.collection.JavaConverters;
import scala.runtime.AbstractFunction0;
import scala.runtime.AbstractFunction1;

/** What a session is told of: the rule that puts native operators where batches are native. */
public final class NativeExtension extends AbstractFunction1 {
    public Object apply(Object extensions) {
        ((SparkSessionExtensions) extensions).injectColumnar(new NativeRuleBuilder());
        return scala.runtime.BoxedUnit.UNIT;
    }
}

/** Makes the rule of a session. */
final class NativeRuleBuilder extends AbstractFunction1 {
    public Object apply(Object session) {
        return new NativeRule();
    }
}

/** Spark puts its own transition over columns; over native batches it becomes the native one. */
final class NativeRule extends ColumnarRule {
    public Rule postColumnarTransitions() {
        return new NativeTransitions();
    }
}

/** The change to a plan. */
final class NativeTransitions extends Rule {
    public TreeNode apply(TreeNode plan) {
        return changed((SparkPlan) plan);
    }

    private static SparkPlan changed(SparkPlan plan) {
        List before = JavaConverters.seqAsJavaList(plan.children());
        ArrayList after = new ArrayList();
        boolean same = true;
        for (int i = 0; i < before.size(); i++) {
            SparkPlan child = changed((SparkPlan) before.get(i));
            same = same && child == before.get(i);
            after.add(child);
        }
        SparkPlan whole = plan;
        if (!same) {
            whole = (SparkPlan) plan.withNewChildren(JavaConverters.asScalaBuffer(after).toList());
        }
        if (whole instanceof ColumnarToRowExec && isNative(((ColumnarToRowExec) whole).child())) {
            return new NativeColumnarToRowExec(((ColumnarToRowExec) whole).child());
        }
        return whole;
    }

    private static boolean isNative(SparkPlan plan) {
        return plan instanceof NativeRowToColumnarExec
                || plan instanceof BatchScanExec && ((BatchScanExec) plan).scan() instanceof NativeScan;
    }
}

/** Results of queries as native batches. */
public final class NativeOutput {
    private NativeOutput() {}

    /** The plan of a frame with the operator on top that makes native batches. */
    public static SparkPlan plan(Dataset frame) {
        // Operators belong to the session that the thread which makes them works for.
        SparkSession.setActiveSession(frame.sparkSession());
        return new NativeRowToColumnarExec(frame.queryExecution().executedPlan());
    }

    /**
     * Runs a frame: handles of its batches in their order, between commas; of a batch without
     * columns the number of its rows, below zero. The handles are kept for the collection.
     */
    public static String collect(Dataset frame, long collection) {
        OutputRun run = new OutputRun(plan(frame), collection);
        scala.Option name = new scala.Some("native output");
        return (String) SQLExecution.withNewExecutionId(frame.queryExecution(), name, run);
    }
}

/** Executes a plan. */
final class OutputRun extends AbstractFunction0 {
    private final SparkPlan plan;
    private final long collection;

    OutputRun(SparkPlan plan, long collection) {
        this.plan = plan;
        this.collection = collection;
    }

    public Object apply() {
        FlatMapFunction keep = new KeptHandles(collection);
        List found = plan.executeColumnar().toJavaRDD().mapPartitions(keep, true).collect();
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < found.size(); i++) {
            text.append(i > 0 ? "," : "").append(found.get(i));
        }
        return text.toString();
    }
}

/** What a task does with the batches of its partition. */
final class KeptHandles implements FlatMapFunction {
    private final long collection;

    KeptHandles(long collection) {
        this.collection = collection;
    }

    public Iterator call(Object input) {
        Iterator batches = (Iterator) input;
        ArrayList handles = new ArrayList();
        while (batches.hasNext()) {
            ColumnarBatch batch = (ColumnarBatch) batches.next();
            long handle = NativeBatches.handle(batch);
            if (handle != 0) {
                NativeBatches.calls.keep(collection, handle);
            }
            handles.add(Long.valueOf(handle != 0 ? handle : -batch.numRows()));
        }
        return handles.iterator();
    }
}
