// SPDX-License-Identifier: Apache-2.0

// Package errand is below the hooks of a rollout.
package errand
