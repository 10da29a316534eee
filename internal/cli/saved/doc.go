// SPDX-License-Identifier: Apache-2.0

// Package saved reads objects that somebody saved to a file, the way a cluster is read. It checks them no more than a
// cluster would, and writes nothing.
package saved
