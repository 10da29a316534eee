// SPDX-License-Identifier: Apache-2.0

// Package outlook tells what a RolloutTrait would do, batch by batch, before it does it.
//
// It plays the rollout engine of the controller forward, through the controller's own adapters, over a copy of the
// workloads. Between two looks of the engine the workloads follow: what their controllers and healthy nodes would make of what
// they are asked for. A CloneSet follows by its own planner; pods of other sets that Slipway knows follow in the order of their
// kind; of all other kinds only numbers are known.
//
// Webhooks pass, metrics are in range, and people let it go on wherever it waits for them: what it waits for is told. The same
// objects and the same time give the same outlook. It reads, and writes nothing.
package outlook
