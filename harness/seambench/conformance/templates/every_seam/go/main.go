// HEAD to begin with: the request is read, and answered in answer.go. See docs/doors.md of Seambench.
package main

import (
	"bufio"
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
