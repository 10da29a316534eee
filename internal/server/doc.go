// SPDX-License-Identifier: Apache-2.0

// Package server knows what the API server can do, where servers differ in what a release needs. It asks by discovery,
// which everybody may, and writes nothing.
package server
