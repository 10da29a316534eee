// SPDX-License-Identifier: Apache-2.0

// Package adapter is how the rollout engine reaches workloads of each kind: it observes a workload, live, as the engine sees
// one, and it turns the engine's actions into steps. It reaches workloads by their API alone, so whose controller runs them
// does not matter. It decides nothing and writes nothing.
//
// Observe reads. Steps is pure: what an action means for what was seen, as changes that name only what differs. What a kind can
// do, and where it keeps it, stands in the file of the kind; what all have in common stands once:
//
//   - claiming and letting go: hold.go and record.go;
//   - what an action changes: steps.go;
//   - which template a revision holds: template.go;
//   - pods, for kinds whose status does not tell enough: pods.go.
//
// # Other kinds
//
// A kind without a file of its own is driven by paths, when somebody says where it keeps what is needed: annotations on its
// CustomResourceDefinition, or the file of kinds that the manager is given, with the same names.
//
//	annotation                                     default                      what stands there
//	rollout.slipway.dev/replicas-path              (needed)                     pods wanted, a whole number
//	rollout.slipway.dev/template-path              .spec.template               the pod template
//	rollout.slipway.dev/partition-path             -                            pods that stay on older versions: a whole number
//	rollout.slipway.dev/paused-path                -                            true while no further pod is updated
//	rollout.slipway.dev/observed-generation-path   .status.observedGeneration   the metadata.generation that the status is of
//	rollout.slipway.dev/pods-path                  .status.replicas             pods there are
//	rollout.slipway.dev/ready-path                 .status.readyReplicas        pods that are ready
//	rollout.slipway.dev/available-path             .status.availableReplicas    pods that are available
//	rollout.slipway.dev/updated-path               -                            pods on the newest template
//	rollout.slipway.dev/updated-available-path     -                            those of them that are available
//	rollout.slipway.dev/current-revision-path      -                            the ControllerRevision of before, in apps/v1's format
//
// With partition-path, both updated paths are needed, and the kind can be updated in place; without, it can be scaled, and two
// of them can take turns. Without current-revision-path nothing can be brought back. A path is a dot and a name, once or more;
// lists cannot be walked. The rights to get and patch such a kind are for whoever describes it to give.
package adapter
