// SPDX-License-Identifier: Apache-2.0

// Package demo shows what Slipway promises on a real control plane, and judges whether it was kept.
//
// It brings up the local cluster (or takes the user's), installs the API, runs the manager, and plays
// a scenario. It ends by itself with a short account, and with an error when a promise was broken.
// What happened is taken from the API server's audit log, not from Slipway; on a cluster whose log cannot be
// read, from a watch, and then the account says what could not be measured.
//
// Everything may be run again at any time: what an earlier run left is replaced.
package demo
