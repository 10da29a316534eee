// SPDX-License-Identifier: Apache-2.0

// Package live shows something that changes: redrawn in place on a terminal, appended
// as plain lines everywhere else.
//
// It knows terminals and pace, and nothing of what it shows.
package live
