// SPDX-License-Identifier: Apache-2.0

// Package apply plays on a real API server what the simulated one answers when objects are applied, so that stories about applications
// are told of the server that there is.
package apply
