// SPDX-License-Identifier: Apache-2.0

// Package plan is there to be imported by the wrong room.
package plan
