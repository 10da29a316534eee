// SPDX-License-Identifier: Apache-2.0

// Faults plays releases on a local cluster while everything breaks that can be broken, and prints a table of what was
// promised and not kept. docs/faults.md has the table and the command that made it.
package main
