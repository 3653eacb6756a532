//! Writes rows into one Parquet file with the crate `parquet`, as a recipe asks for it.
//!
//! Arguments: a file of Arrow's IPC, the Parquet file, and how it is to be written, as JSON.

use std::collections::HashMap;
use std::error::Error;
use std::fs::File;

use arrow_ipc::reader::StreamReader;
use parquet::arrow::arrow_writer::ArrowWriterOptions;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, Encoding};
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterVersion};
use parquet::schema::types::ColumnPath;
use serde::Deserialize;

/// How a file is written; what is left out is the crate's own choice.
#[derive(Deserialize)]
#[serde(default, deny_unknown_fields)]
struct How {
    version: i32,
    compression: String,
    dictionary: bool,
    dictionary_bytes: Option<usize>,
    encodings: HashMap<String, String>,
    rows_in_group: Option<usize>,
    rows_in_page: Option<usize>,
    statistics: String,
    bloom: bool,
    arrow_schema: bool,
}

impl Default for How {
    fn default() -> Self {
        How {
            version: 1,
            compression: "UNCOMPRESSED".to_string(),
            dictionary: true,
            dictionary_bytes: None,
            encodings: HashMap::new(),
            rows_in_group: None,
            rows_in_page: None,
            statistics: "page".to_string(),
            bloom: false,
            arrow_schema: true,
        }
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let told: Vec<String> = std::env::args().collect();
    let how: How = serde_json::from_str(&told[3])?;
    let mut made = WriterProperties::builder()
        .set_writer_version(match how.version {
            2 => WriterVersion::PARQUET_2_0,
            _ => WriterVersion::PARQUET_1_0,
        })
        .set_compression(how.compression.parse::<Compression>()?)
        .set_dictionary_enabled(how.dictionary)
        .set_bloom_filter_enabled(how.bloom)
        .set_statistics_enabled(match how.statistics.as_str() {
            "none" => EnabledStatistics::None,
            "chunk" => EnabledStatistics::Chunk,
            _ => EnabledStatistics::Page,
        });
    if how.bloom {
        made = made.set_bloom_filter_ndv(16);
    }
    if let Some(bytes) = how.dictionary_bytes {
        made = made.set_dictionary_page_size_limit(bytes);
    }
    if let Some(rows) = how.rows_in_group {
        made = made.set_max_row_group_row_count(Some(rows));
    }
    if let Some(rows) = how.rows_in_page {
        made = made
            .set_data_page_row_count_limit(rows)
            .set_write_batch_size(1);
    }
    for (column, encoding) in &how.encodings {
        let path = ColumnPath::from(column.split('.').map(str::to_string).collect::<Vec<_>>());
        made = made.set_column_encoding(path, encoding.parse::<Encoding>()?);
    }
    let rows = StreamReader::try_new(File::open(&told[1])?, None)?;
    let options = ArrowWriterOptions::new()
        .with_properties(made.build())
        .with_skip_arrow_metadata(!how.arrow_schema);
    let schema = rows.schema();
    let mut writer = ArrowWriter::try_new_with_options(File::create(&told[2])?, schema, options)?;
    for batch in rows {
        writer.write(&batch?)?;
    }
    writer.close()?;
    Ok(())
}
