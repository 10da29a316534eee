// SPDX-License-Identifier: Apache-2.0

// Package inplaceset plays the stories of InPlaceSets in package world: what their users do, how the components behave that
// route traffic to the pods, and what a judge demands of the controller beyond what it demands of every kind.
package inplaceset
