// SPDX-License-Identifier: Apache-2.0

// Package subject says what the controller of rollouts asks of a kind of objects that have a RolloutPlan: which workloads an object
// stands for, and what comes before and after their rollout. It reads only. So who foretells a rollout asks the same.
package subject
