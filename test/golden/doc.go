// SPDX-License-Identifier: Apache-2.0

// Package golden compares what a test got with a file that is checked in, and writes that file anew with -update. The change of such
// a file is read as a change of behaviour.
package golden
