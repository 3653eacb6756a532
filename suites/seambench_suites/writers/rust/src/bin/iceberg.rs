//! Carries out the steps of a recipe with iceberg-rust, in a table of a folder.
//!
//! Arguments: the table's folder, and a file of steps, a JSON object each. It prints the id of the
//! current snapshot after each step, or "-" where there is none.

use std::collections::HashMap;
use std::error::Error;
use std::fs::{read_to_string, File};
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_cast::cast;
use arrow_ipc::reader::StreamReader;
use iceberg::arrow::{schema_to_arrow_schema, RecordBatchPartitionSplitter};
use iceberg::io::LocalFsStorageFactory;
use iceberg::memory::{MemoryCatalogBuilder, MEMORY_CATALOG_WAREHOUSE};
use iceberg::spec::{DataFile, DataFileFormat, FormatVersion, Schema, Type, UnboundPartitionSpec};
use iceberg::table::Table;
use iceberg::transaction::{AddColumn, ApplyTransactionAction, Transaction};
use iceberg::writer::base_writer::data_file_writer::DataFileWriterBuilder;
use iceberg::writer::file_writer::location_generator::{
    DefaultFileNameGenerator, DefaultLocationGenerator,
};
use iceberg::writer::file_writer::rolling_writer::RollingFileWriterBuilder;
use iceberg::writer::file_writer::ParquetWriterBuilder;
use iceberg::writer::partitioning::fanout_writer::FanoutWriter;
use iceberg::writer::partitioning::PartitioningWriter;
use iceberg::writer::{IcebergWriter, IcebergWriterBuilder};
use iceberg::{Catalog, CatalogBuilder, NamespaceIdent, TableCreation, TableIdent};
use parquet::file::properties::WriterProperties;
use serde::Deserialize;

type Done<T> = Result<T, Box<dyn Error>>;

/// A step of one kind; rows lie in files of Arrow's IPC.
#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Step {
    Create(Creation),
    Append(String),
    Schema(Vec<SchemaChange>),
}

#[derive(Deserialize)]
struct Creation {
    schema: Schema,
    spec: Option<UnboundPartitionSpec>,
    version: FormatVersion,
}

#[derive(Deserialize)]
struct SchemaChange {
    add: Option<Added>,
    drop: Option<String>,
}

#[derive(Deserialize)]
struct Added {
    parent: Option<String>,
    name: String,
    r#type: Type,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Done<()> {
    let told: Vec<String> = std::env::args().collect();
    let place = (MEMORY_CATALOG_WAREHOUSE.to_string(), told[1].clone());
    let catalog = MemoryCatalogBuilder::default()
        .with_storage_factory(Arc::new(LocalFsStorageFactory))
        .load("c", HashMap::from([place]))
        .await?;
    let space = NamespaceIdent::new("n".to_string());
    catalog.create_namespace(&space, HashMap::new()).await?;
    let name = TableIdent::new(space.clone(), "t".to_string());
    for line in read_to_string(&told[2])?.lines() {
        let table = match serde_json::from_str(line)? {
            Step::Create(made) => {
                let creation = TableCreation::builder()
                    .name("t".to_string())
                    .location(told[1].clone())
                    .schema(made.schema)
                    .partition_spec_opt(made.spec)
                    .format_version(made.version)
                    .build();
                catalog.create_table(&space, creation).await?
            }
            Step::Append(rows) => {
                let table = catalog.load_table(&name).await?;
                let files = write(&table, &rows).await?;
                let change = Transaction::new(&table);
                let change = change.fast_append().add_data_files(files).apply(change)?;
                change.commit(&catalog).await?
            }
            Step::Schema(changes) => {
                let table = catalog.load_table(&name).await?;
                let change = Transaction::new(&table);
                let mut update = change.update_schema();
                for one in changes {
                    if let Some(added) = one.add {
                        let column = AddColumn::builder()
                            .name(added.name)
                            .field_type(added.r#type);
                        update = update.add_column(match added.parent {
                            Some(parent) => column.parent(parent).build(),
                            None => column.build(),
                        });
                    }
                    if let Some(dropped) = one.drop {
                        update = update.delete_column(dropped);
                    }
                }
                update.apply(change)?.commit(&catalog).await?
            }
        };
        match table.metadata().current_snapshot_id() {
            Some(id) => println!("{id}"),
            None => println!("-"),
        }
    }
    Ok(())
}

/// Writes rows into new data files, one for each partition.
async fn write(table: &Table, rows: &str) -> Done<Vec<DataFile>> {
    let metadata = table.metadata();
    let schema = metadata.current_schema().clone();
    let suffix = metadata.snapshots().count().to_string();
    let place = DefaultLocationGenerator::new(metadata)?;
    let names =
        DefaultFileNameGenerator::new("part".to_string(), Some(suffix), DataFileFormat::Parquet);
    let files = || {
        DataFileWriterBuilder::new(RollingFileWriterBuilder::new_with_default_file_size(
            ParquetWriterBuilder::new(WriterProperties::default(), schema.clone()),
            table.file_io().clone(),
            place.clone(),
            names.clone(),
        ))
    };
    let arrow = Arc::new(schema_to_arrow_schema(&schema)?);
    let spec = metadata.default_partition_spec().clone();
    let mut parted = FanoutWriter::new(files());
    let mut whole = match spec.is_unpartitioned() {
        true => Some(files().build(None).await?),
        false => None,
    };
    for batch in StreamReader::try_new(File::open(rows)?, None)? {
        let batch = batch?;
        let columns: Result<Vec<_>, _> = batch
            .columns()
            .iter()
            .zip(arrow.fields())
            .map(|(column, field)| cast(column, field.data_type()))
            .collect();
        let batch = RecordBatch::try_new(arrow.clone(), columns?)?;
        match whole.as_mut() {
            Some(writer) => writer.write(batch).await?,
            None => {
                let by = RecordBatchPartitionSplitter::try_new_with_computed_values(
                    schema.clone(),
                    spec.clone(),
                )?;
                for (partition, part) in by.split(&batch)? {
                    parted.write(partition, part).await?;
                }
            }
        }
    }
    Ok(match whole.as_mut() {
        Some(writer) => writer.close().await?,
        None => parted.close().await?,
    })
}
