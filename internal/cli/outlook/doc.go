// SPDX-License-Identifier: Apache-2.0

// Package outlook tells what a RolloutTrait or an AppRollout would do, batch by batch, before it does it.
//
// It plays the rollout engine of the controller forward, through the controller's own adapters, over a copy of the
// workloads. Between two looks of the engine the workloads follow: what their controllers and healthy nodes would make of what
// they are asked for. A CloneSet follows by its own planner; pods of other sets that Slipway knows follow in the order of their
// kind; of all other kinds only numbers are known.
//
// What an AppRollout is about is found in its revisions by the kind that the controller has, which reads the same copy. What has to be
// applied or deleted before the batches and after them is done to the copy as the API server would do it, but for its defaults.
//
// Webhooks pass, metrics are in range, and people let it go on wherever it waits for them: what it waits for is told. The same
// objects and the same time give the same outlook. It reads, and writes nothing.
package outlook
