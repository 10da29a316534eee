// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import corev1 "k8s.io/api/core/v1"

// UnitType says by which label of a node its deploy unit is known.
//
// +kubebuilder:validation:Enum=Cell;Zone;None
type UnitType string

const (
	// CellUnitType goes by LabelCell.
	CellUnitType UnitType = "Cell"
	// ZoneUnitType goes by corev1.LabelTopologyZone, topology.kubernetes.io/zone.
	ZoneUnitType UnitType = "Zone"
	// NoneUnitType ties pods to no unit.
	NoneUnitType UnitType = "None"
)

// Labels.
const (
	// LabelCell is the label of a node that names its cell.
	LabelCell = "cafe.sofastack.io/cell"
	// LabelUnit on a pod set of a CafeDeployment names the unit whose pods it keeps.
	LabelUnit = "cafe.sofastack.io/unit"
	// LabelCafeDeployment on a pod set and a ControllerRevision names the CafeDeployment that they belong to.
	LabelCafeDeployment = "cafe.sofastack.io/cafedeployment"
)

// Annotations of workloads.
const (
	// AnnotationTrafficComponents on an InPlaceSet, or on a CafeDeployment of them, lists the components that route traffic to its pods,
	// separated by commas: "lb,rpc". A component takes part with the finalizer FinalizerPrefixTraffic + its name on each pod.
	AnnotationTrafficComponents = "cafe.sofastack.io/traffic-components"
	// AnnotationUpgradeConfirmed on a CafeDeployment is ConfirmationAwaited while a group waits for a person, who sets it to
	// ConfirmationGiven. The controller consumes it: one confirmation lets one group begin.
	AnnotationUpgradeConfirmed = "cafe.sofastack.io/upgrade-confirmed"
)

// Values of AnnotationUpgradeConfirmed.
const (
	// ConfirmationAwaited: the next group waits.
	ConfirmationAwaited = "false"
	// ConfirmationGiven: the next group may begin.
	ConfirmationGiven = "true"
)

// FinalizerPrefixTraffic and the name of a component make the finalizer that the component keeps on a pod for as long as
// it routes traffic there. Only the component itself adds and removes it.
const FinalizerPrefixTraffic = "traffic.cafe.sofastack.io/"

// ConditionInPlaceUpdateReady is the readiness gate of every pod of an InPlaceSet. Components that route traffic watch it:
// while it is False they let go of the pod and remove their finalizer, and when it is True they take the pod on and add it.
const ConditionInPlaceUpdateReady corev1.PodConditionType = "InPlaceUpdateReady"
