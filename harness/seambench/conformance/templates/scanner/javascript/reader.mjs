// A scanner to begin with: a stream without rows. See docs/doors.md of Seambench.
import { readFileSync } from "node:fs";
import { Field, RecordBatchStreamWriter, Schema, Utf8 } from "apache-arrow";

function answer(request) {
  if (request.query.type !== "snapshot") throw new Error(`NAME has no query ${request.query.type}`);
  if (!request.columns) {
    throw new Error(`NAME does not find the columns of ${request.table} by itself yet`);
  }
  // No rows so far, of columns of text.
  const schema = new Schema(request.columns.map((name) => new Field(name, new Utf8(), true)));
  const writer = new RecordBatchStreamWriter();
  writer.reset(undefined, schema);
  // Here go the rows: writer.write(batch) for each batch of them.
  writer.finish();
  return writer.toUint8Array(true);
}

let stream;
try {
  stream = answer(JSON.parse(readFileSync(0, "utf8")));
} catch (reason) {
  // The last line of a refusal; the exit code goes with it.
  console.error(`refused: ${reason.message}`);
  process.exit(2);
}
process.stdout.write(stream);
