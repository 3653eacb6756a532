package seambench;

import com.facebook.presto.common.Page;
import com.facebook.presto.common.block.Block;
import com.facebook.presto.common.block.Int128ArrayBlock;
import com.facebook.presto.common.block.RowBlock;
import com.facebook.presto.common.type.Decimals;
import com.facebook.presto.spi.page.PagesSerde;
import com.facebook.presto.spi.page.PagesSerdeUtil;
import com.facebook.presto.spi.page.SerializedPage;
import io.airlift.slice.BasicSliceInput;
import io.airlift.slice.DynamicSliceOutput;
import io.airlift.slice.Slice;
import io.airlift.slice.Slices;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * Loops over Presto's pages and blocks that would be too slow from outside the JVM.
 *
 * <p>Janino compiles it: no lambdas, no generic inference.
 */
public final class PrestoPages {
    private static long sink;

    private PrestoPages() {}

    /** Bytes of one page, header included. */
    public static byte[] write(PagesSerde serde, Page page) {
        SerializedPage serialized = serde.serialize(page);
        DynamicSliceOutput out = new DynamicSliceOutput(serialized.getSizeInBytes() + 21);
        PagesSerdeUtil.writeSerializedPage(out, serialized);
        return out.slice().getBytes();
    }

    /** A page of blocks. */
    public static Page page(int rows, List blocks) {
        return new Page(rows, (Block[]) blocks.toArray(new Block[0]));
    }

    /** A block of rows, whose fields hold only the rows that are not null. */
    public static Block rowBlock(int rows, boolean[] nulls, List fields) {
        Block[] blocks = (Block[]) fields.toArray(new Block[0]);
        return RowBlock.fromFieldBlocks(rows, Optional.ofNullable(nulls), blocks);
    }

    /** Pages that stand end to end. The offset of the page being read is in {@code at[0]}. */
    public static List read(PagesSerde serde, byte[] data, long[] at) {
        BasicSliceInput input = Slices.wrappedBuffer(data).getInput();
        ArrayList pages = new ArrayList();
        while (input.isReadable()) {
            at[0] = input.position();
            SerializedPage serialized = PagesSerdeUtil.readSerializedPage(input);
            if (!PagesSerdeUtil.isChecksumValid(serialized)) {
                throw new IllegalArgumentException("the checksum is not that of the page");
            }
            pages.add(serde.deserialize(serialized));
        }
        return pages;
    }

    /** Which rows are null; null if none is. */
    public static boolean[] nulls(Block block) {
        boolean[] nulls = new boolean[block.getPositionCount()];
        boolean any = false;
        for (int i = 0; i < nulls.length; i++) {
            nulls[i] = block.isNull(i);
            any |= nulls[i];
        }
        return any ? nulls : null;
    }

    public static byte[] bytes(Block block) {
        byte[] values = new byte[block.getPositionCount()];
        for (int i = 0; i < values.length; i++) {
            values[i] = block.isNull(i) ? (byte) 0 : block.getByte(i);
        }
        return values;
    }

    public static short[] shorts(Block block) {
        short[] values = new short[block.getPositionCount()];
        for (int i = 0; i < values.length; i++) {
            values[i] = block.isNull(i) ? (short) 0 : block.getShort(i);
        }
        return values;
    }

    public static int[] ints(Block block) {
        int[] values = new int[block.getPositionCount()];
        for (int i = 0; i < values.length; i++) {
            values[i] = block.isNull(i) ? 0 : block.getInt(i);
        }
        return values;
    }

    public static long[] longs(Block block) {
        long[] values = new long[block.getPositionCount()];
        for (int i = 0; i < values.length; i++) {
            values[i] = block.isNull(i) ? 0 : block.getLong(i);
        }
        return values;
    }

    /** Both words of each 16-byte value, as they stand. */
    public static long[] pairs(Block block) {
        long[] values = new long[2 * block.getPositionCount()];
        for (int i = 0; i < block.getPositionCount(); i++) {
            if (!block.isNull(i)) {
                values[2 * i] = block.getLong(i, 0);
                values[2 * i + 1] = block.getLong(i, 8);
            }
        }
        return values;
    }

    /** Unscaled values of long decimals in two's complement, low word first. */
    public static long[] decimals(Block block) {
        long[] values = pairs(block);
        for (int i = 0; i < values.length; i += 2) {
            Slice slice = Slices.allocate(16);
            slice.setLong(0, values[i]);
            slice.setLong(8, values[i + 1]);
            BigInteger unscaled = Decimals.decodeUnscaledValue(slice);
            values[i] = unscaled.longValue();
            values[i + 1] = unscaled.shiftRight(64).longValue();
        }
        return values;
    }

    /** A block of long decimals out of unscaled values in two's complement, low word first. */
    public static Block decimalBlock(long[] values, boolean[] nulls) {
        long[] words = new long[values.length];
        BigInteger low = BigInteger.ONE.shiftLeft(64).subtract(BigInteger.ONE);
        for (int i = 0; i < values.length; i += 2) {
            BigInteger unscaled = BigInteger.valueOf(values[i + 1]).shiftLeft(64);
            unscaled = unscaled.or(BigInteger.valueOf(values[i]).and(low));
            Slice slice = Decimals.encodeUnscaledValue(unscaled);
            words[i] = slice.getLong(0);
            words[i + 1] = slice.getLong(8);
        }
        return new Int128ArrayBlock(values.length / 2, Optional.ofNullable(nulls), words);
    }

    /** End of each text within {@link #content}. */
    public static int[] ends(Block block) {
        int[] ends = new int[block.getPositionCount()];
        int at = 0;
        for (int i = 0; i < ends.length; i++) {
            at += block.isNull(i) ? 0 : block.getSliceLength(i);
            ends[i] = at;
        }
        return ends;
    }

    /** Bytes of all texts, end to end. */
    public static byte[] content(Block block) {
        int[] ends = ends(block);
        byte[] content = new byte[ends.length == 0 ? 0 : ends[ends.length - 1]];
        int start = 0;
        for (int i = 0; i < ends.length; i++) {
            if (ends[i] > start) {
                block.getSlice(i, 0, ends[i] - start).getBytes(0, content, start, ends[i] - start);
            }
            start = ends[i];
        }
        return content;
    }

    /** Seconds of each of some passes of {@code serialize} with the header, into a reused buffer. */
    public static double[] timeSerialize(PagesSerde serde, List list, int bytes, int passes) {
        Page[] pages = (Page[]) list.toArray(new Page[0]);
        DynamicSliceOutput reused = new DynamicSliceOutput(bytes);
        double[] seconds = new double[passes];
        for (int pass = 0; pass < passes; pass++) {
            long begin = System.nanoTime();
            for (int i = 0; i < pages.length; i++) {
                reused.reset();
                PagesSerdeUtil.writeSerializedPage(reused, serde.serialize(pages[i]));
                sink += reused.size();
            }
            seconds[pass] = (System.nanoTime() - begin) / 1e9;
        }
        return seconds;
    }

    /** Seconds of each of some passes of {@code deserialize}, checksum included. */
    public static double[] timeDeserialize(
            PagesSerde serde, byte[][] wires, boolean touch, int passes) {
        double[] seconds = new double[passes];
        for (int pass = 0; pass < passes; pass++) {
            long begin = System.nanoTime();
            for (int i = 0; i < wires.length; i++) {
                BasicSliceInput input = Slices.wrappedBuffer(wires[i]).getInput();
                SerializedPage serialized = PagesSerdeUtil.readSerializedPage(input);
                if (!PagesSerdeUtil.isChecksumValid(serialized)) {
                    throw new IllegalStateException("the checksum is not that of the page");
                }
                Page page = serde.deserialize(serialized);
                sink += page.getPositionCount();
                for (int c = 0; touch && c < page.getChannelCount(); c++) {
                    sink += touch(page.getBlock(c));
                }
            }
            seconds[pass] = (System.nanoTime() - begin) / 1e9;
        }
        return seconds;
    }

    /** Visits every value once: blocks of texts only point into the page until then. */
    private static long touch(Block block) {
        int rows = block.getPositionCount();
        String encoding = block.getEncodingName();
        long sum = 0;
        if (encoding.equals("LONG_ARRAY")) {
            for (int i = 0; i < rows; i++) {
                sum += block.isNull(i) ? 1 : block.getLong(i);
            }
        } else if (encoding.equals("INT_ARRAY")) {
            for (int i = 0; i < rows; i++) {
                sum += block.isNull(i) ? 1 : block.getInt(i);
            }
        } else if (encoding.equals("VARIABLE_WIDTH")) {
            for (int i = 0; i < rows; i++) {
                int length = block.isNull(i) ? 0 : block.getSliceLength(i);
                sum += length == 0 ? 1 : (int) block.getSlice(i, 0, length).getByte(length - 1);
            }
        } else {
            throw new IllegalArgumentException("values of " + encoding + " are not touched here");
        }
        return sum;
    }
}
