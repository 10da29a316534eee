// SPDX-License-Identifier: Apache-2.0

// Package cafe tests the CafeDeployment controller against a real API server: what it writes must pass the schemas of all
// kinds of pod sets. Their own controllers do not run; the tests play them.
package cafe
