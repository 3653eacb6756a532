// An exchange to begin with: it reads the request and refuses. See docs/doors.md of Seambench.
package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
)

func main() {
	input := bufio.NewReader(os.Stdin)
	request, err := input.ReadString('\n')
	if request == "" {
		fmt.Fprintln(os.Stderr, "no request came:", err)
		os.Exit(1)
	}
	if reason := answer(request); reason != nil {
		// The last line of a refusal; the exit code goes with it.
		fmt.Fprintln(os.Stderr, "refused:", reason)
		os.Exit(2)
	}
}

// Is the sender or receiver that the request's role names; frames follow it.
func answer(_ string) error {
	return errors.New("NAME carries nothing yet")
}
