// SPDX-License-Identifier: Apache-2.0

// Package forecast holds tests of `slipway plan` against a real API server, where kubectl has applied what is planned.
package forecast
