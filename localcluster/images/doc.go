// SPDX-License-Identifier: Apache-2.0

// Package images makes the container images that pods on the local cluster's real node run. No image can be pulled
// there, so they are packed on this machine: two static programs, pause and server, which stand beside the program
// localcluster. An image's tag asks for trouble with the words that simulated nodes know too.
//
// Every image of a list is the same server with another environment, so a tag costs a few hundred bytes.
package images
