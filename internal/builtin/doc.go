// SPDX-License-Identifier: Apache-2.0

// Package builtin tells what Kubernetes' own controllers would do with a Deployment, a StatefulSet or a DaemonSet, by the
// rules that they are documented to follow.
//
// It is a plain model and not their code: it knows order, surge, unavailability and partition. Which of several equal pods
// is taken first, and the names of new ones, are theirs to choose. Nodes are healthy. It is pure.
package builtin
