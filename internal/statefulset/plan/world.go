// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	kruisev1beta1 "slipway.dev/slipway/api/kruise/v1beta1"
	"slipway.dev/slipway/internal/budget"
	"slipway.dev/slipway/internal/inplace"
	"slipway.dev/slipway/internal/member"
	"slipway.dev/slipway/internal/revision"
	"slipway.dev/slipway/internal/step"
)

// World is everything that a decision about one StatefulSet depends on. It is read only: its parts are shared with
// the cache.
type World struct {
	Set *kruisev1beta1.StatefulSet
	// Live is the template of the spec.
	Live revision.Revision
	// Revisions are the set's own and, in Orphans, those that match its selector and belong to nobody.
	Revisions, Orphans []revision.Revision
	// Pods are all pods controlled by the set, in whatever state and of whatever name.
	Pods []*corev1.Pod
	// Strays are pods that nobody controls, that match the selector and have the name of a member. They are listed only
	// after a live look has confirmed that the set is still this one and is not being deleted.
	Strays []*corev1.Pod
	// Others are pods, by name, that have the name of a member and are neither in Pods nor in Strays: of another
	// controller, or of nobody and with other labels. They are only waited for.
	Others map[string]*corev1.Pod
	// Claims are all claims, by name, that have a name which the set gives to claims of its pods, whoever made them.
	Claims map[string]*corev1.PersistentVolumeClaim
	// Rigid are the storage classes, by name, whose volumes cannot grow. The empty name stands for the class of claims
	// that name none.
	Rigid map[string]bool
	// Taken are names that the set cannot use for its revisions and pods, because objects of others have them.
	Taken map[string]bool
	// Readings are what the annotations of pods say, by UID, as far as they are decoded already.
	Readings map[types.UID]inplace.Reading
	// ResizeOff: resources of living pods are not to be changed. Every server from Kubernetes 1.33 on can change them.
	ResizeOff bool
	// Unresizable says why the server has refused to resize a pod as the present spec asks, by its UID: its node is too
	// small.
	Unresizable map[types.UID]string
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
	// Limits are the numbers of the spec, resolved. There is never a surge.
	Limits budget.Limits

	// Members are the pods of the set as they were judged, terminating and finished ones included, in the order of
	// World.Pods.
	Members []Member
	// Claims tells of each claim template how far the claims of live pods follow it, in the order of the templates.
	Claims []ClaimCount

	// Invalid says what in the spec cannot be acted on; then nothing is done at all.
	Invalid error
	// Refused says which pods cannot be updated, and why; the other pods go on.
	Refused []string
	// RefusedClaims says which claims cannot become what their template asks for, and why. Their pods are held; the
	// others go on.
	RefusedClaims []string
	// Warned says which pods are updated without the care that is taken otherwise.
	Warned []string
	// Uncreatable says which pods cannot be created, and why; empty when all can.
	Uncreatable string
	// Blocked says which pods are not scaled in and wait for one another; empty when none do. It may end by itself when one of
	// them gets well, and else only when somebody deletes one.
	Blocked string
	// Throttled is how many creations the limit of unavailable pods holds back.
	Throttled int
	// Held says in a few words what keeps the set from taking its next step; empty when nothing does.
	Held string
}

// Member is one pod of the set as a pass judges it.
type Member struct {
	member.Member
	Ordinal int
	// Position is the index of the ordinal among the live ones; -1 for a condemned pod.
	Position int
	// Eligible: the pod is among those that the partition wants on the update revision.
	Eligible bool
}

// ClaimCount tells how far the claims of one template follow it.
type ClaimCount struct {
	// Template is the name of the claim template.
	Template string
	// Compatible is how many live pods have a claim that is as the template says and at least as large. For Ready of
	// them the volume has the size that the claim asks for.
	Compatible, Ready int
}
