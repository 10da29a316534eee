// SPDX-License-Identifier: Apache-2.0

// Package faults plays a small part of the fault campaign, so that every change meets the worst of it. `make faults`
// plays all.
package faults
