// SPDX-License-Identifier: Apache-2.0

// Package cloneset plays the stories of CloneSets in package world: what their users do, and what a judge demands of their
// controller beyond what it demands of every kind.
package cloneset
