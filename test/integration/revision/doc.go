// SPDX-License-Identifier: Apache-2.0

// Package revision compares the defaults that internal/revision knows with those of a real API server: a template
// and what the server stores of it must be the same revision. It sends templates and pods as dry runs and keeps nothing.
package revision
