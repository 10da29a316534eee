// SPDX-License-Identifier: Apache-2.0

// Package wire checks that types read and write files that are checked in without loss, and that such a file has every field. It is for
// types that other programs know by their wire format.
package wire
