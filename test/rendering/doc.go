// SPDX-License-Identifier: Apache-2.0

// Package rendering renders for the tests of who asks workers to do so, without their processes. Templates of such tests come to an end.
package rendering
