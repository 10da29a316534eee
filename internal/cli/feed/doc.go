// SPDX-License-Identifier: Apache-2.0

// Package feed keeps copies of objects of an API server by watching them, and says when one
// of them changed.
//
// It reads only, it needs list and watch of what it is asked for and nothing else, and it
// does not know what the objects mean.
package feed
