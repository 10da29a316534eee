// SPDX-License-Identifier: Apache-2.0

// Package docs holds the documentation to the tree: tests that a page names as proof exist, and links lead somewhere.
package docs
