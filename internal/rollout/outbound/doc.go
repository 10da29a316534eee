// SPDX-License-Identifier: Apache-2.0

// Package outbound is the way by which rollouts reach other systems over HTTP. It knows which hosts may be called, how many
// calls one host gets at a time, how long a call takes at most and how much of an answer is read, and it keeps secrets out of
// whatever is told about a call.
//
// Calls go to the host that is named and nowhere else. No proxy is used, whatever the environment says. A redirect is followed
// only for GET, at most 5 times, and only to the same scheme, host and port. Certificates are checked against the roots of
// the system.
package outbound
