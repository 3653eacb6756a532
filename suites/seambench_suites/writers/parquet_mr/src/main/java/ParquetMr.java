import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.File;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import org.apache.hadoop.fs.Path;
import org.apache.parquet.column.values.factory.ValuesWriterFactory;
import org.apache.parquet.example.data.Group;
import org.apache.parquet.example.data.simple.SimpleGroup;
import org.apache.parquet.hadoop.ParquetWriter;
import org.apache.parquet.hadoop.example.ExampleParquetWriter;
import org.apache.parquet.io.api.Binary;
import org.apache.parquet.schema.GroupType;
import org.apache.parquet.schema.MessageType;
import org.apache.parquet.schema.MessageTypeParser;
import org.apache.parquet.schema.Type;

/** Writes Parquet files, each as a file of JSON says: path, schema, rows, calls of builders. */
public final class ParquetMr {
  public static void main(String[] files) throws Exception {
    for (String file : files) {
      write(new ObjectMapper().readTree(new File(file)));
    }
  }

  private static void write(JsonNode told) throws Exception {
    MessageType schema = MessageTypeParser.parseMessageType(told.get("schema").asText());
    ExampleParquetWriter.Builder builder =
        ExampleParquetWriter.builder(new Path(told.get("path").asText())).withType(schema);
    for (JsonNode call : told.get("calls")) {
      call(builder, call);
    }
    for (JsonNode call : told.get("properties")) {
      Field inner = ParquetWriter.Builder.class.getDeclaredField("encodingPropsBuilder");
      inner.setAccessible(true);
      call(inner.get(builder), call);
    }
    try (ParquetWriter<Group> writer = builder.build()) {
      for (JsonNode row : told.get("rows")) {
        writer.write(group(schema, row));
      }
    }
  }

  /** Call a method of the builder: its name and its arguments, which have the method's types. */
  private static void call(Object builder, JsonNode call) throws Exception {
    for (Method method : builder.getClass().getMethods()) {
      Class<?>[] types = method.getParameterTypes();
      if (method.getName().equals(call.get(0).asText()) && types.length == call.size() - 1) {
        Object[] arguments = new Object[types.length];
        for (int i = 0; i < types.length; i++) {
          arguments[i] = argument(types[i], call.get(i + 1));
        }
        method.invoke(builder, arguments);
        return;
      }
    }
    throw new NoSuchMethodException(call.toString());
  }

  @SuppressWarnings({"unchecked", "rawtypes"})
  private static Object argument(Class<?> type, JsonNode value) {
    if (type.isEnum()) {
      return Enum.valueOf((Class) type, value.asText());
    }
    if (type == int.class) {
      return value.asInt();
    }
    if (type == long.class) {
      return value.asLong();
    }
    if (type == ValuesWriterFactory.class) {
      return new Lengths();
    }
    return type == boolean.class ? (Object) value.asBoolean() : value.asText();
  }

  private static Group group(GroupType type, JsonNode values) {
    Group made = new SimpleGroup(type);
    for (Type field : type.getFields()) {
      JsonNode value = values.get(field.getName());
      if (value == null || value.isNull()) {
        continue;
      }
      if (!field.isRepetition(Type.Repetition.REPEATED)) {
        add(made, field, value);
        continue;
      }
      for (JsonNode one : value) {
        add(made, field, one);
      }
    }
    return made;
  }

  private static void add(Group made, Type field, JsonNode value) {
    String name = field.getName();
    if (!field.isPrimitive()) {
      made.add(name, group(field.asGroupType(), value));
      return;
    }
    switch (field.asPrimitiveType().getPrimitiveTypeName()) {
      case BOOLEAN:
        made.add(name, value.asBoolean());
        break;
      case INT32:
        made.add(name, value.asInt());
        break;
      case INT64:
        made.add(name, value.asLong());
        break;
      case FLOAT:
        made.add(name, Float.parseFloat(value.asText()));
        break;
      case DOUBLE:
        made.add(name, Double.parseDouble(value.asText()));
        break;
      default:
        made.add(name, binary(value.asText()));
    }
  }

  private static Binary binary(String hex) {
    byte[] bytes = new byte[hex.length() / 2];
    for (int i = 0; i < bytes.length; i++) {
      bytes[i] = (byte) Integer.parseInt(hex.substring(2 * i, 2 * i + 2), 16);
    }
    return Binary.fromByteArray(bytes);
  }
}
