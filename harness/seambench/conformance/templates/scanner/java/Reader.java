import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.RootAllocator;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.arrow.vector.ipc.ArrowStreamWriter;
import org.apache.arrow.vector.types.pojo.ArrowType;
import org.apache.arrow.vector.types.pojo.Field;
import org.apache.arrow.vector.types.pojo.Schema;

/** A scanner to begin with: a stream without rows. See docs/doors.md of Seambench. */
public final class Reader {
    private Reader() {}

    public static void main(String[] arguments) throws IOException {
        JsonNode request = new ObjectMapper().readTree(System.in);
        try {
            answer(request);
        } catch (UnsupportedOperationException reason) {
            // The last line of a refusal; the exit code goes with it.
            System.err.println("refused: " + reason.getMessage());
            System.exit(2);
        }
    }

    private static void answer(JsonNode request) throws IOException {
        String query = request.path("query").path("type").asText();
        if (!query.equals("snapshot")) {
            throw new UnsupportedOperationException("NAME has no query " + query);
        }
        if (!request.has("columns")) {
            throw new UnsupportedOperationException(
                    "NAME does not find the columns of " + request.path("table") + " by itself yet");
        }
        List<Field> fields = new ArrayList<>();
        for (JsonNode name : request.get("columns")) {
            fields.add(Field.nullable(name.asText(), ArrowType.Utf8.INSTANCE));
        }
        // No rows so far, of columns of text.
        try (BufferAllocator allocator = new RootAllocator();
                VectorSchemaRoot rows = VectorSchemaRoot.create(new Schema(fields), allocator);
                ArrowStreamWriter writer = new ArrowStreamWriter(rows, null, System.out)) {
            writer.start();
            // Here go the rows: fill the vectors of `rows`, and writer.writeBatch() for each batch.
            writer.end();
        }
    }
}
