// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	cafev1alpha1 "slipway.dev/slipway/api/cafe/v1alpha1"
	"slipway.dev/slipway/internal/budget"
	"slipway.dev/slipway/internal/inplace"
	"slipway.dev/slipway/internal/member"
	"slipway.dev/slipway/internal/revision"
	"slipway.dev/slipway/internal/step"
)

// World is everything that a decision about one InPlaceSet depends on. It is read only: its parts are shared with the
// cache.
type World struct {
	Set *cafev1alpha1.InPlaceSet
	// Live is the template of the spec, within its unit.
	Live revision.Revision
	// Revisions are the set's own and, in Orphans, those that match its selector and belong to nobody.
	Revisions, Orphans []revision.Revision
	// Pods are all pods controlled by the set, in whatever state.
	Pods []*corev1.Pod
	// Taken are names that the set cannot use for its pods and revisions, because objects of others have them.
	Taken map[string]bool
	// NodeLabels are the labels of the nodes that the pods run on, by node name. They are observed only when the spec has
	// topology spread constraints.
	NodeLabels map[string]map[string]string
	// Readings are what the annotations of pods say, by UID, as far as they are decoded already.
	Readings map[types.UID]inplace.Reading
}

// Plan is what to do now, and what the decision was based on.
type Plan struct {
	Steps []step.Step
	// LookAgain is when time alone will change the answer; 0 when only an event can.
	LookAgain time.Duration

	// UpdateRevision is the name of the revision of the spec's template, which the plan may be about to create.
	// CurrentRevision is the last one that was rolled out completely.
	UpdateRevision, CurrentRevision string
	// CollisionCount is how often the name of a revision was found taken.
	CollisionCount int32
	// Limits are the numbers of the spec, resolved.
	Limits budget.Limits

	// Members are the active pods as they were judged, in the order of World.Pods.
	Members []member.Member
	// Components are those that the set declares to route traffic.
	Components []string

	// Invalid says what in the spec cannot be acted on; then no pod is made, changed or deleted.
	Invalid error
	// Refused says what cannot be done to which pods, and why; the other pods go on.
	Refused []string
	// Held says in a few words what keeps the set from taking its next step; empty when nothing does.
	Held string
}
