// Command writer carries out the steps of a recipe with iceberg-go, in a table of a folder.
//
// Arguments: the table's folder, and a file of steps, a JSON object each. It prints the id of the
// current snapshot after each step, or "-" where there is none.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"log"
	"os"
	"path/filepath"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/catalog/hadoop"
	_ "github.com/apache/iceberg-go/io/gocloud"
	"github.com/apache/iceberg-go/table"
)

// A step; exactly one of its kinds is there. Rows lie in files of Arrow's IPC.
type step struct {
	Create     *creation         `json:"create"`
	Append     string            `json:"append"`
	Delete     json.RawMessage   `json:"delete"`
	Overwrite  *overwriting      `json:"overwrite"`
	Delta      *delta            `json:"delta"`
	Schema     []schemaChange    `json:"schema"`
	Spec       []specChange      `json:"spec"`
	Properties map[string]string `json:"properties"`
}

type creation struct {
	Schema     *iceberg.Schema   `json:"schema"`
	Properties map[string]string `json:"properties"`
}

type overwriting struct {
	Where json.RawMessage `json:"where"`
	Rows  string          `json:"rows"`
}

// Rows that come, and keys of rows that go, in one commit.
type delta struct {
	Keys string `json:"keys"`
	Ids  []int  `json:"ids"`
	Rows string `json:"rows"`
}

type schemaChange struct {
	Path   []string             `json:"path"`
	Add    *iceberg.NestedField `json:"add"`
	Widen  *iceberg.NestedField `json:"widen"`
	Rename string               `json:"rename"`
	Drop   bool                 `json:"drop"`
}

type specChange struct {
	Add       string `json:"add"`
	Transform string `json:"transform"`
	Remove    string `json:"remove"`
}

func main() {
	if err := run(os.Args[1], os.Args[2]); err != nil {
		log.Fatal(err)
	}
}

func run(folder, steps string) error {
	ctx := context.Background()
	above := filepath.Dir(folder)
	found, err := hadoop.NewCatalog("c", filepath.Dir(above), iceberg.Properties{})
	if err != nil {
		return err
	}
	name := table.Identifier{filepath.Base(above), filepath.Base(folder)}
	file, err := os.Open(steps)
	if err != nil {
		return err
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var one step
		if err := json.Unmarshal(lines.Bytes(), &one); err != nil {
			return err
		}
		done, err := carryOut(ctx, found, name, one)
		if err != nil {
			return fmt.Errorf("%s: %w", lines.Text(), err)
		}
		if current := done.CurrentSnapshot(); current != nil {
			fmt.Println(current.SnapshotID)
		} else {
			fmt.Println("-")
		}
	}
	return nil
}

func carryOut(ctx context.Context, in *hadoop.Catalog, name table.Identifier, one step) (*table.Table, error) {
	if one.Create != nil {
		return in.CreateTable(ctx, name, one.Create.Schema, catalog.WithProperties(one.Create.Properties))
	}
	at, err := in.LoadTable(ctx, name)
	if err != nil {
		return nil, err
	}
	change := at.NewTransaction()
	switch {
	case one.Append != "":
		rows, err := read(one.Append)
		if err != nil {
			return nil, err
		}
		err = change.Append(ctx, rows, nil)
		if err != nil {
			return nil, err
		}
	case one.Delete != nil:
		where, err := iceberg.ParseExpr(one.Delete, at.Schema())
		if err == nil {
			err = change.Delete(ctx, where, nil)
		}
		if err != nil {
			return nil, err
		}
	case one.Overwrite != nil:
		where, err := iceberg.ParseExpr(one.Overwrite.Where, at.Schema())
		if err != nil {
			return nil, err
		}
		rows, err := read(one.Overwrite.Rows)
		if err == nil {
			err = change.Overwrite(ctx, rows, nil, table.WithOverwriteFilter(where))
		}
		if err != nil {
			return nil, err
		}
	case one.Delta != nil:
		if err := rowDelta(ctx, at, change, one.Delta); err != nil {
			return nil, err
		}
	case one.Schema != nil:
		if err := evolve(change, one.Schema); err != nil {
			return nil, err
		}
	case one.Spec != nil:
		if err := layOut(change, one.Spec); err != nil {
			return nil, err
		}
	default:
		if err := change.SetProperties(one.Properties); err != nil {
			return nil, err
		}
	}
	return change.Commit(ctx)
}

func rowDelta(ctx context.Context, at *table.Table, change *table.Transaction, told *delta) error {
	made := change.NewRowDelta(nil)
	if told.Keys != "" {
		keys, err := read(told.Keys)
		if err != nil {
			return err
		}
		files, err := change.WriteEqualityDeletes(ctx, told.Ids, kept(keys))
		if err != nil {
			return err
		}
		made.AddDeletes(files...)
	}
	if told.Rows != "" {
		rows, err := read(told.Rows)
		if err != nil {
			return err
		}
		for file, err := range table.WriteRecords(ctx, at, rows.Schema(), kept(rows)) {
			if err != nil {
				return err
			}
			made.AddRows(file)
		}
	}
	return made.Commit(ctx)
}

func evolve(change *table.Transaction, told []schemaChange) error {
	update := change.UpdateSchema(true, true)
	for _, one := range told {
		switch {
		case one.Add != nil:
			update.AddColumn(one.Path, one.Add.Type, "", false, nil)
		case one.Widen != nil:
			kind := iceberg.Optional[iceberg.Type]{Val: one.Widen.Type, Valid: true}
			update.UpdateColumn(one.Path, table.ColumnUpdate{FieldType: kind})
		case one.Rename != "":
			update.RenameColumn(one.Path, one.Rename)
		case one.Drop:
			update.DeleteColumn(one.Path)
		}
	}
	return update.Commit()
}

func layOut(change *table.Transaction, told []specChange) error {
	update := change.UpdateSpec(true)
	for _, one := range told {
		if one.Remove != "" {
			update.RemoveField(one.Remove)
			continue
		}
		transform, err := iceberg.ParseTransform(one.Transform)
		if err != nil {
			return err
		}
		update.AddField(one.Add, transform, "")
	}
	return update.Commit()
}

// kept hands out batches that outlive the next one: workers write them later.
func kept(rows array.RecordReader) iter.Seq2[arrow.RecordBatch, error] {
	return func(yield func(arrow.RecordBatch, error) bool) {
		for rows.Next() {
			batch := rows.RecordBatch()
			batch.Retain()
			if !yield(batch, nil) {
				return
			}
		}
	}
}

func read(path string) (array.RecordReader, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	return ipc.NewReader(file)
}
