// SPDX-License-Identifier: Apache-2.0

// Package definition reads definitions as their authors write them: one file of CUE, with a head that says what is defined and the
// template below it as real CUE. It makes the objects that the API server takes, and asks no cluster.
package definition
