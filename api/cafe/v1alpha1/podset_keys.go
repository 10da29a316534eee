// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Annotations that the controller of CafeDeployments keeps its own records in.
const (
	// AnnotationUpgradeGroup on a CafeDeployment names the group whose end waits for a confirmation, as revision/index, and
	// says when it has been confirmed. It is written in one patch with AnnotationUpgradeConfirmed, so no confirmation is lost
	// and none counts twice.
	AnnotationUpgradeGroup = "cafe.sofastack.io/upgrade-group"
	// AnnotationRevision on a pod set names the revision of the CafeDeployment whose template it has.
	AnnotationRevision = "cafe.sofastack.io/revision"
	// AnnotationUnitReplicas on a ReplicaSet is how many pods its unit was asked to have in all versions together.
	AnnotationUnitReplicas = "cafe.sofastack.io/unit-replicas"
)

// LabelRevision on a ReplicaSet and its pods is the hash of the revision, which keeps the versions of a unit apart.
const LabelRevision = "cafe.sofastack.io/revision"
