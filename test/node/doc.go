// SPDX-License-Identifier: Apache-2.0

// Package node says what a kubelet does with one pod, as a pure function of the pod, the node's
// settings and the time. The simulated nodes of the local cluster and the node steps of the
// simulation both call it, so that they tell the same story.
//
// It imitates a kubelet where a workload controller depends on one:
//
//   - A pod becomes Running with containerID, imageID, startedAt, podIP and hostIP. Regular init
//     containers run to completion first, one after another; native sidecars start and stay.
//   - A changed image is first acknowledged (status.observedGeneration moves while the old
//     container still runs and is still ready, as real kubelets report it), then the old container is
//     stopped, then the new one starts with restartCount + 1. The pod is always seen not ready between.
//   - A resize through spec.containers[].resources shows as PodResizeInProgress, then in
//     containerStatuses[].resources. The container restarts only where resizePolicy says so.
//   - Changes of environment or metadata restart nothing.
//   - Ready is ContainersReady and every readiness gate. A gate's condition is never written here.
//   - Deletion honours the grace period: preStop sleep and the model's ShutdownDelay, at most the grace.
//
// Failures are asked for by the image's tag. A tag asks when it is the word, or ends in a dash
// and the word (`v2-broken`):
//
//	broken    the container runs and never becomes ready; an init container never completes
//	crash     the container exits with code 1 again and again, with growing back-off
//	missing   the image cannot be pulled: ErrImagePull, then ImagePullBackOff; never by itself again
//	slow-Ns   becomes ready (an init container: completes) N seconds after it started
//	retag     `app:v2-retag` is another name of the digest of `app:v2`, so it has the same imageID
//
// The model has no memory, no clock and no randomness. All that it needs to know later is in
// the pod's status, so a restarted node goes on where it was, and identifiers derive from the
// pod's UID, the container, its restart count and image. Times in a status have whole seconds: a
// delay that is measured from one can end up to a second early.
package node
