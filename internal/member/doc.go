// SPDX-License-Identifier: Apache-2.0

// Package member knows what one pod of a set needs: how it is judged, what brings its own affairs to an end,
// how it gets to the update revision, and which hooks come before that and before its deletion.
//
// It knows no kind of set. What a kind wants of its pods is in Set, by its meaning; which pods are touched,
// how many and in which order is the work of the kind's plan. Nothing here counts pods.
package member
