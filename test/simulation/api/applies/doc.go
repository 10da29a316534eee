// SPDX-License-Identifier: Apache-2.0

// Package applies has sequences of requests by which objects are applied on the server's side, and what comes of them. They are played
// on the simulated API server and on a real one, so that both agree on who owns which field.
package applies
