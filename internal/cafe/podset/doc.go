// SPDX-License-Identifier: Apache-2.0

// Package podset knows the kinds of pod sets that keep the pods of one unit: how to read from each how far it is, and how
// to write down what it is asked for.
//
// It knows them by their API only, decides nothing, and reads and writes no cluster.
package podset
