package seamkit.offheap;

/** A value in an object of the standard library, which must be the one of its kind. */
public abstract class BoxedValue extends RawValue {
    protected final Object item;

    /** A value; NULL is a null reference, so there is none of null. */
    protected BoxedValue(Object item) {
        this.item = item;
    }

    @Override
    public boolean getBoolean() {
        return ((Boolean) item).booleanValue();
    }

    @Override
    public byte getByte() {
        return ((Byte) item).byteValue();
    }

    @Override
    public short getShort() {
        return ((Short) item).shortValue();
    }

    @Override
    public int getInt() {
        return ((Integer) item).intValue();
    }

    @Override
    public long getLong() {
        return ((Long) item).longValue();
    }

    @Override
    public float getFloat() {
        return ((Float) item).floatValue();
    }

    @Override
    public double getDouble() {
        return ((Double) item).doubleValue();
    }

    @Override
    public String getString(ColumnType.TypeValue type) {
        return item.toString();
    }

    @Override
    public byte[] getBytes() {
        return (byte[]) item;
    }
}
