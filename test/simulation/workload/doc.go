// SPDX-License-Identifier: Apache-2.0

// Package workload reads workloads of all kinds as those see them who judge rollouts and tell of them: RolloutTraits and AppRollouts
// alike. It is written for them alone, and borrows nothing from the code that they judge.
package workload
