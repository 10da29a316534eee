// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	"slipway.dev/slipway/internal/budget"
	"slipway.dev/slipway/internal/inplace"
	"slipway.dev/slipway/internal/revision"
	"slipway.dev/slipway/internal/step"
)

// World is everything that a decision about one CloneSet depends on. It is read only: its parts are
// shared with the cache.
type World struct {
	Set *kruisev1alpha1.CloneSet
	// Live is the template of the spec.
	Live revision.Revision
	// Revisions are the set's own and, in Orphans, those that match its selector and belong to nobody.
	Revisions, Orphans []revision.Revision
	// Pods are all pods controlled by the set, in whatever state.
	Pods []*corev1.Pod
	// Claims are all claims controlled by the set, in whatever state.
	Claims []*corev1.PersistentVolumeClaim
	// Taken are names that the set cannot use for its pods, claims and revisions, because objects of others
	// have them.
	Taken map[string]bool
	// Unseen are pods, by name, that exist and that Pods does not show as they are: because the cache is
	// behind, or because they are not the set's. They are looked for only under names that a decision to
	// delete something rests on.
	Unseen map[string]*corev1.Pod
	// Owed are claims, by UID, that must be deleted because we have deleted their pod.
	Owed map[types.UID]bool
	// Prepared are the names of pods whose claims we have created, and which could not be created themselves.
	Prepared map[string]bool
	// NodeLabels are the labels of the nodes that the pods run on, by node name. They are observed only
	// when the spec has topology spread constraints.
	NodeLabels map[string]map[string]string
	// Readings are what the annotations of pods say, by UID, as far as they are decoded already.
	Readings map[types.UID]inplace.Reading
	// ResizeOff: resources of living pods are not to be changed. Every server from Kubernetes 1.33 on can
	// change them.
	ResizeOff bool
	// Unresizable says why the server has refused to resize a pod as the present spec asks, by its UID: its
	// node is too small.
	Unresizable map[types.UID]string
	// AtOnce is how many updates of pods one plan holds at most; 0 is any number. Those that come later in the order would
	// be planned in vain where no more are acted on before the next look.
	AtOnce int
}

// Plan is what to do now, and what the decision was based on.
type Plan struct {
	Steps []step.Step
	// LookAgain is when time alone will change the answer; 0 when only an event can.
	LookAgain time.Duration

	// UpdateRevision is the name of the revision of the spec's template, which the plan may be about to
	// create. CurrentRevision is the last one that was rolled out completely.
	UpdateRevision, CurrentRevision string
	// CollisionCount is how often the name of a revision was found taken.
	CollisionCount int32
	// Limits are the numbers of the spec, resolved.
	Limits budget.Limits

	// Members are the active pods as they were judged, in the order of World.Pods.
	Members []Member

	// Invalid says what in the spec cannot be acted on; then nothing is done at all.
	Invalid error
	// Refused says which pods cannot be updated, and why; the other pods go on.
	Refused []string
	// Uncreatable says which pods cannot be created, and why; empty when all can.
	Uncreatable string
	// Throttled: creations are held back by the limit of unavailable pods.
	Throttled bool
	// Held says in a few words what keeps the release from taking its next step; empty when nothing does.
	Held string
}
