// SPDX-License-Identifier: Apache-2.0

package v1beta1

// Labels of pods. The built-in StatefulSet gives its pods the same ones.
const (
	// LabelPodName holds the name of the pod, so that a Service can select one pod.
	LabelPodName = "statefulset.kubernetes.io/pod-name"
	// LabelPodIndex holds the ordinal of the pod as a decimal number.
	LabelPodIndex = "apps.kubernetes.io/pod-index"
)

// AnnotationOwnedByStatefulSet on a claim holds the name of the set that has resized it. Changes of such a claim wake
// the set.
const AnnotationOwnedByStatefulSet = "apps.kruise.io/owned-by-asts"
