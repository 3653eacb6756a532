// A writer to begin with: steps are read one by one, and done in answer.go. See docs/writers.md of Seambench.
package main

import (
	"encoding/json"
	"io"
	"log"
	"os"
)

func main() {
	steps, answers := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	for {
		var asked step
		if reason := steps.Decode(&asked); reason == io.EOF {
			return
		} else if reason != nil {
			log.Fatal("no step came: ", reason)
		}
		var said any = map[string]bool{"done": true}
		if reason := answer(asked); reason != nil {
			said = map[string]string{"refused": reason.Error()}
		}
		if reason := answers.Encode(said); reason != nil {
			log.Fatal(reason)
		}
	}
}
