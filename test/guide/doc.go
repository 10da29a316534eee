// SPDX-License-Identifier: Apache-2.0

// Package guide plays guides: it reads their commands and runs them in a shell, as a reader would.
//
// What is to be run stands in blocks marked sh. Blocks marked console show something, or wait for what the test itself
// has to do.
package guide
