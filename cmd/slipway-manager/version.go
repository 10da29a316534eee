// SPDX-License-Identifier: Apache-2.0

package main

import "runtime/debug"

// version is set by the Makefile; a plain `go install` leaves it empty.
var version string

// currentVersion is the version that the program reports and sends as part of its user agent.
func currentVersion() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "unknown"
}
