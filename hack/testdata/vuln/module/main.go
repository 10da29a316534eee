// SPDX-License-Identifier: Apache-2.0

// Command app calls a function that the database beside it calls vulnerable.
package main

import (
	"os"
	"strings"
)

func main() { os.Exit(len(strings.ToUpper(""))) }
