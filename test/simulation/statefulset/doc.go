// SPDX-License-Identifier: Apache-2.0

// Package statefulset plays the stories of StatefulSets in package world: what their users do, and what a judge demands of their
// controller beyond what it demands of every kind. Above all: pods have ordinals, ordered pods wait for one another, and nothing ever
// waits for a person once the template is good.
package statefulset
