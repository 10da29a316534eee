// SPDX-License-Identifier: Apache-2.0

// Package document finds one number in a JSON document, by a JSONPath that nobody has checked. Neither the path nor the document
// can keep it busy for long.
package document
