package seamkit;

import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import org.apache.spark.api.java.function.FlatMapFunction;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.SparkSessionExtensions;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.execution.ColumnarRule;
import org.apache.spark.sql.execution.ColumnarToRowExec;
import org.apache.spark.sql.execution.InputAdapter;
import org.apache.spark.sql.execution.RowToColumnarExec;
import org.apache.spark.sql.execution.SQLExecution;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.UnionExec;
import org.apache.spark.sql.execution.WholeStageCodegenExec;
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanExec;
import org.apache.spark.sql.execution.datasources.v2.BatchScanExec;
import org.apache.spark.sql.types.StructType;
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

/** Spark puts its own transitions between columns and rows; the backend's come in their place. */
final class NativeRule extends ColumnarRule {
    public Rule postColumnarTransitions() {
        return new NativeTransitions();
    }
}

/** The change to a plan. */
final class NativeTransitions extends Rule {
    public TreeNode apply(TreeNode plan) {
        SparkPlan root = (SparkPlan) plan;
        // Where a plan as a whole gives batches, they are those that `NativeOutput` asks for.
        return root instanceof RowToColumnarExec ? ownColumns(root) : changed(root);
    }

    private static SparkPlan changed(SparkPlan plan) {
        boolean mixed = plan instanceof UnionExec && anyOwn(plan) && plan.supportsColumnar();
        List before = JavaConverters.seqAsJavaList(plan.children());
        ArrayList after = new ArrayList();
        boolean same = true;
        for (int i = 0; i < before.size(); i++) {
            SparkPlan child = (SparkPlan) before.get(i);
            SparkPlan own = mixed && !isOwn(child) ? ownColumns(child) : changed(child);
            same = same && own == child;
            after.add(own);
        }
        SparkPlan whole = plan;
        if (!same) {
            whole = (SparkPlan) plan.withNewChildren(JavaConverters.asScalaBuffer(after).toList());
        }
        if (whole instanceof ColumnarToRowExec && isOwn(((ColumnarToRowExec) whole).child())) {
            return NativeBatches.backend.columnarToRow(((ColumnarToRowExec) whole).child());
        }
        return whole;
    }

    /** A plan whose batches are the backend's: its rows are turned into them, if it has others. */
    private static SparkPlan ownColumns(SparkPlan plan) {
        if (plan instanceof RowToColumnarExec) {
            return NativeBatches.backend.rowToColumnar(changed(((RowToColumnarExec) plan).child()));
        }
        SparkPlan whole = changed(plan);
        return isOwn(whole)
                ? whole
                : NativeBatches.backend.rowToColumnar(new ColumnarToRowExec(whole));
    }

    /** Whether a plan's batches are the backend's. */
    private static boolean isOwn(SparkPlan plan) {
        if (plan instanceof UnionExec) {
            return plan.supportsColumnar() && anyOwn(plan);
        }
        return plan instanceof RowToBatchesExec
                || plan instanceof BatchScanExec && ((BatchScanExec) plan).scan() instanceof NativeScan;
    }

    /** Whether any child's batches are: those of the others become so. */
    private static boolean anyOwn(SparkPlan plan) {
        List children = JavaConverters.seqAsJavaList(plan.children());
        for (int i = 0; i < children.size(); i++) {
            if (isOwn((SparkPlan) children.get(i))) {
                return true;
            }
        }
        return false;
    }

    /** A plan that Spark made, changed to give the backend's batches. */
    static SparkPlan toColumns(SparkPlan plan) {
        if (plan instanceof AdaptiveSparkPlanExec) {
            AdaptiveSparkPlanExec adaptive = (AdaptiveSparkPlanExec) plan;
            return new AdaptiveSparkPlanExec(
                    adaptive.inputPlan(), adaptive.context(), adaptive.preprocessingRules(),
                    adaptive.isSubquery(), true);
        }
        SparkPlan below = belowRows(plan);
        return below != null ? below : NativeBatches.backend.rowToColumnar(plan);
    }

    /** The plan of the backend's batches of which another one makes rows and nothing else. */
    private static SparkPlan belowRows(SparkPlan plan) {
        SparkPlan top = plan;
        if (top instanceof WholeStageCodegenExec) {
            top = ((WholeStageCodegenExec) top).child();
        }
        if (top.supportsColumnar() || top.children().size() != 1) {
            return null;
        }
        // Whatever gives rows right above batches does nothing else.
        SparkPlan below = (SparkPlan) top.children().apply(0);
        if (below instanceof InputAdapter) {
            below = ((InputAdapter) below).child();
        }
        return isOwn(below) ? below : null;
    }
}

/** Results of queries as batches of the backend. */
public final class NativeOutput {
    private NativeOutput() {}

    /** The plan of a frame that gives batches. */
    public static SparkPlan plan(Dataset frame) {
        // Operators belong to the session that the thread which makes them works for.
        SparkSession.setActiveSession(frame.sparkSession());
        return NativeTransitions.toColumns(frame.queryExecution().executedPlan());
    }

    /**
     * Runs a plan of a frame: handles of its batches in their order, between commas; of a batch
     * without columns the number of its rows, below zero. The handles are kept for the collection.
     */
    public static String collect(Dataset frame, SparkPlan plan, long collection) {
        OutputRun run = new OutputRun(plan, collection);
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
        FlatMapFunction keep = new KeptHandles(plan.schema(), collection);
        List found = plan.executeColumnar().toJavaRDD().mapPartitions(keep, true).collect();
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < found.size(); i++) {
            text.append(i > 0 ? "," : "").append(found.get(i));
        }
        return text.toString();
    }
}

/** What a task does with the batches of its partition. */
public final class KeptHandles implements FlatMapFunction {
    private final StructType schema;
    private final long collection;

    /** Keeps batches of a schema. */
    public KeptHandles(StructType schema, long collection) {
        this.schema = schema;
        this.collection = collection;
    }

    public Iterator call(Object input) {
        scala.collection.Iterator batches = JavaConverters.asScalaIterator((Iterator) input);
        return keep(batches, schema, NativeBatches.backend, collection).iterator();
    }

    /** Keeps batches: their handles, or below zero numbers of rows, in their order. */
    public static List keep(
            scala.collection.Iterator batches, StructType schema, Backend backend,
            long collection) {
        ArrayList found = new ArrayList();
        ArrayList handles = new ArrayList();
        boolean kept = false;
        try {
            while (batches.hasNext()) {
                ColumnarBatch batch = (ColumnarBatch) batches.next();
                long told = -batch.numRows();
                if (batch.numCols() > 0) {
                    told = backend.handle(batch, schema);
                    handles.add(Long.valueOf(told));
                }
                found.add(Long.valueOf(told));
            }
            long[] all = new long[handles.size()];
            for (int i = 0; i < all.length; i++) {
                all[i] = ((Long) handles.get(i)).longValue();
            }
            NativeBatches.calls.keep(collection, all);
            kept = true;
        } finally {
            for (int i = 0; !kept && i < handles.size(); i++) {
                NativeCode.release(NativeCode.handles(), ((Long) handles.get(i)).longValue());
            }
        }
        return found;
    }
}
