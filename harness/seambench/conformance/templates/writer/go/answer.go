package main

import (
	"errors"
	"os"
)

// What is asked; docs/writers.md says where all members are told.
type step struct {
	Do    string   `json:"do"`
	Table string   `json:"table"`
	Rows  string   `json:"rows"` // a file of Arrow's IPC format
	Keys  []string `json:"keys"`
}

// Do one step, and return when it is committed. What is returned else is a refusal, with the table
// as it was; any other mistake ends the program.
func answer(asked step) error {
	if asked.Do != "create" {
		return errors.New("NAME does no " + asked.Do + " yet")
	}
	// No table so far: one with the columns of asked.Rows, without rows, is to lie there.
	if reason := os.Mkdir(asked.Table, 0o755); reason != nil {
		panic(reason)
	}
	return nil
}
