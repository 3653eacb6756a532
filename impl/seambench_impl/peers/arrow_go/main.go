// Parquet files by arrow-go: the rows of an Arrow IPC file, written as arguments say.
package main

import (
	"log"
	"os"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
)

var codecs = map[string]compress.Compression{
	"uncompressed": compress.Codecs.Uncompressed,
	"snappy":       compress.Codecs.Snappy,
	"gzip":         compress.Codecs.Gzip,
	"zstd":         compress.Codecs.Zstd,
	"lz4":          compress.Codecs.Lz4Raw,
}

// Arguments: rows, file, then codec, dictionary (true, false) and rows of a group, empty for the default.
func main() {
	log.SetFlags(0)
	if reason := write(os.Args[1], os.Args[2], os.Args[3], os.Args[4], os.Args[5]); reason != nil {
		log.Fatal(reason)
	}
}

func write(rows, file, codec, dictionary, groupRows string) error {
	source, reason := os.Open(rows)
	if reason != nil {
		return reason
	}
	batches, reason := ipc.NewFileReader(source)
	if reason != nil {
		return reason
	}
	var told []parquet.WriterProperty
	if codec != "" {
		told = append(told, parquet.WithCompression(codecs[codec]))
	}
	if dictionary != "" {
		told = append(told, parquet.WithDictionaryDefault(dictionary == "true"))
	}
	if groupRows != "" {
		count, reason := strconv.ParseInt(groupRows, 10, 64)
		if reason != nil {
			return reason
		}
		told = append(told, parquet.WithMaxRowGroupLength(count))
	}
	sink, reason := os.Create(file)
	if reason != nil {
		return reason
	}
	properties := parquet.NewWriterProperties(told...)
	writer, reason := pqarrow.NewFileWriter(batches.Schema(), sink, properties, pqarrow.DefaultWriterProps())
	if reason != nil {
		return reason
	}
	for at := range batches.NumRecords() {
		batch, reason := batches.RecordBatch(at)
		if reason != nil {
			return reason
		}
		if reason = writer.WriteBuffered(batch); reason != nil {
			return reason
		}
	}
	return writer.Close()
}
