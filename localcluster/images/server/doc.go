// SPDX-License-Identifier: Apache-2.0

// Command server is what test pods on a real node run: an HTTP server that tells who it is and fails when asked to.
// It is the only program of all test images of package slipway.dev/slipway/localcluster/images. What an image is to do
// stands in its environment, which its tag decides:
//
//	VERSION        the tag, "v1"
//	IMAGE          the whole name, "registry.test/app:v1"
//	READY_AFTER    how long after its start it becomes ready, "10s"; "never" for never (default: at once)
//	CRASH          not empty: it says so on stderr and exits with code 1 at its start
//
// A pod's template may add
//
//	PORT           where it listens, for a second container of a pod (default 8080)
//	DRAIN          how long it goes on serving after SIGTERM before it closes its listener, "2s" (default: not at all)
//
// It answers
//
//	GET  /              who it is, as JSON; package whoami has the type
//	GET  /ready         200 or 503
//	GET  /alive         200 or 503
//	POST /ready?is=no   makes it unready; is=yes ready
//	POST /alive?is=no   fails the liveness probe
//	POST /exit?code=3   ends the process
//	GET  /file?path=P   a file's content
//	PUT  /file?path=P   writes the body to the file
//	GET  /wait?for=1s   answers like / after a while
package main
