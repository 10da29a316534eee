// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import corev1 "k8s.io/api/core/v1"

// Labels of pods.
const (
	// LabelRevision names the ControllerRevision that a pod was made from: `<set>-<hash>`, or only the hash when
	// the long form does not fit into a label. Compare what follows the last "-".
	LabelRevision = "controller-revision-hash"
	// LabelPodTemplateHash holds the hash part of the pod's revision alone.
	LabelPodTemplateHash = "pod-template-hash"
	// LabelInstanceID is the random 5-character id that a pod shares with its claims.
	LabelInstanceID = "apps.kruise.io/cloneset-instance-id"
	// LabelLifecycleState holds the pod's LifecycleState. A pod without it is in LifecycleNormal.
	LabelLifecycleState = "lifecycle.apps.kruise.io/state"
	// LabelSpecifiedDelete asks for the deletion of this very pod, whatever its value is.
	LabelSpecifiedDelete = "apps.kruise.io/specified-delete"
)

// Annotations of pods.
const (
	// AnnotationLifecycleTimestamp tells when LabelLifecycleState last changed, in RFC 3339.
	AnnotationLifecycleTimestamp = "lifecycle.apps.kruise.io/timestamp"
	// AnnotationInPlaceState is the JSON record of the last in-place update. It stays after completion.
	AnnotationInPlaceState = "apps.kruise.io/inplace-update-state"
	// AnnotationInPlaceGrace is the JSON record of what will be patched when the grace period has passed. It exists
	// only during that period.
	AnnotationInPlaceGrace = "apps.kruise.io/inplace-update-grace"
	// AnnotationInPlaceStateLegacy is read when AnnotationInPlaceState is missing, and removed by the next write.
	AnnotationInPlaceStateLegacy = "inplace-update-state"
	// AnnotationInPlaceGraceLegacy is read when AnnotationInPlaceGrace is missing, and removed by the next write.
	AnnotationInPlaceGraceLegacy = "inplace-update-grace"
	// AnnotationRuntimeContainersMeta is what a node agent reports about running containers, as JSON. Read only.
	AnnotationRuntimeContainersMeta = "apps.kruise.io/runtime-containers-meta"
	// AnnotationPodDeletionCost is an int32 in plain decimal form; pods with a lower cost are deleted first.
	// Anything that is not such a number counts as 0.
	AnnotationPodDeletionCost = "controller.kubernetes.io/pod-deletion-cost"
	// AnnotationContainerLaunchPriority with the value ContainerLaunchOrdered gives containers a launch priority by
	// their position in the pod, the first one highest.
	AnnotationContainerLaunchPriority = "apps.kruise.io/container-launch-priority"
	// AnnotationContainerLaunchCompleted is "true" once every launch priority of the pod has been released.
	AnnotationContainerLaunchCompleted = "apps.kruise.io/container-launch-priority-completed"
)

const (
	// ContainerLaunchOrdered is the value of AnnotationContainerLaunchPriority that has an effect.
	ContainerLaunchOrdered = "Ordered"
	// EnvContainerLaunchBarrier is the environment variable by which a pod webhook holds a container back until its
	// priority's turn; it refers to a ConfigMap key "p_<priority>".
	EnvContainerLaunchBarrier = "KRUISE_CONTAINER_BARRIER"
	// EnvContainerLaunchPriority is the environment variable by which a container states its launch priority, an
	// integer; higher goes first.
	EnvContainerLaunchPriority = "KRUISE_CONTAINER_PRIORITY"
)

// LabelPrefixUnavailable starts labels by which disruption tools mark a pod as out of service. A CloneSet does not
// count such a pod as unavailable.
const LabelPrefixUnavailable = "unavailable-pod.kruise.io/"

// Conditions of pods that are also readiness gates.
const (
	// ConditionInPlaceUpdateReady is False while a pod is updated in place, and True otherwise. Every pod of a CloneSet
	// carries it as a readiness gate; only the controller writes it.
	ConditionInPlaceUpdateReady corev1.PodConditionType = "InPlaceUpdateReady"
	// ConditionKruisePodReady has several writers. Its message is a JSON list of who holds the pod back; it is
	// True when that list is empty.
	ConditionKruisePodReady corev1.PodConditionType = "KruisePodReady"
)

// Labels and annotations of CloneSets.
const (
	// LabelScalingExcludePreparingDelete with the value "true" lets scaling ignore pods in LifecyclePreparingDelete.
	LabelScalingExcludePreparingDelete = "apps.kruise.io/cloneset-scaling-exclude-preparing-delete"
	// LabelDeleteProtection forbids the deletion of the CloneSet: see DeleteProtectionAlways and
	// DeleteProtectionCascading. Enforced by an admission policy, not by the controller.
	LabelDeleteProtection = "policy.kruise.io/delete-protection"
	// AnnotationImagePreDownloadParallelism hints how many nodes pull a new image at the same time (default 1).
	AnnotationImagePreDownloadParallelism = "apps.kruise.io/image-predownload-parallelism"
	// AnnotationImagePreDownloadTimeoutSeconds hints how many seconds one pull may take (default 300).
	AnnotationImagePreDownloadTimeoutSeconds = "apps.kruise.io/image-predownload-timeout-seconds"
	// AnnotationImagePreDownloadMinUpdatedReadyPods hints how many updated pods must be ready before images are
	// pulled ahead.
	AnnotationImagePreDownloadMinUpdatedReadyPods = "apps.kruise.io/image-predownload-min-updated-ready-pods"
)

// Values of LabelDeleteProtection.
const (
	// DeleteProtectionAlways forbids deletion.
	DeleteProtectionAlways = "Always"
	// DeleteProtectionCascading forbids deletion while replicas is above 0.
	DeleteProtectionCascading = "Cascading"
)

// Labels and annotations of ControllerRevisions.
const (
	// LabelRevisionHash holds the hash part of the revision's name.
	LabelRevisionHash = "controller.kubernetes.io/hash"
	// LabelImagePreDownloadCreated marks a revision whose images are being pulled ahead. Kept when found.
	LabelImagePreDownloadCreated = "apps.kruise.io/pre-predownload-created"
	// LabelImagePreDownloadIgnored marks a revision whose images are not pulled ahead. Kept when found.
	LabelImagePreDownloadIgnored = "apps.kruise.io/image-predownload-ignored"
	// AnnotationClaimTemplateHash is a decimal hash of the claim templates that the revision was made with; it is
	// empty when there were none.
	AnnotationClaimTemplateHash = "kruise.io/cloneset-volumeclaimtemplate-hash"
)
