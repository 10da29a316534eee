// SPDX-License-Identifier: Apache-2.0

// Package receiver is the other side of webhooks, for tests: a small HTTP server on the loopback device that answers, rejects,
// fails, delays, hangs, redirects, loses its answers and repeats them, as each path was told to, and that records what was
// delivered, by key.
package receiver
