// SPDX-License-Identifier: Apache-2.0

package member

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"slipway.dev/slipway/internal/inplace"
	"slipway.dev/slipway/internal/lifecycle"
	"slipway.dev/slipway/internal/revision"
	"slipway.dev/slipway/internal/step"
)

// Policy is how a pod gets to another revision.
type Policy int

const (
	// Recreate deletes the pod, so that another one takes its place.
	Recreate Policy = iota
	// InPlaceIfPossible changes the living pod, and recreates it where that cannot be done.
	InPlaceIfPossible
	// InPlaceOnly changes the living pod, and leaves it alone where that cannot be done.
	InPlaceOnly
)

// Set is what a set asks of each of its pods. Make one for each pass and change nothing of it afterwards: it
// remembers what it has computed. It is for one goroutine.
type Set struct {
	// Update is the revision that pods are brought to. It may be about to be created; then pods are only judged.
	Update revision.Revision
	// History are all stored revisions that pods of the set may carry, those without an owner included.
	History []revision.Revision
	// Hooks are those of the spec, which also say when a new pod counts as prepared.
	Hooks lifecycle.Hooks

	// Policy is how pods are updated, and PolicyField the path of the field that says so, for messages.
	Policy      Policy
	PolicyField string
	// Grace is how long a pod stays out of service before its containers change; 0 for not at all.
	Grace time.Duration
	// MinReadySeconds is how long a pod has to be ready before it is available.
	MinReadySeconds int32
	// ChosenNames are pods that the spec names for deletion. Pods can be chosen by their label besides.
	ChosenNames []string

	// RepeatsHash: pods carry the hash of their revision in a label of its own, pod-template-hash.
	RepeatsHash bool
	// GatesAll: every new pod gets the readiness gate InPlaceUpdateReady. Otherwise only those get it whose policy
	// is to be updated in place.
	GatesAll bool
	// NeedsGate: a pod without that gate, which cannot be taken out of service, is recreated where its update would
	// restart a container. Under InPlaceOnly it is updated all the same, with a warning. Otherwise it is updated as
	// if it could be.
	NeedsGate bool
	// ChoosesRecreated: a pod whose recreation waits for its preDelete hook is labelled as chosen for deletion, so
	// that it is not taken for one that is scaled in, which may be called off.
	ChoosesRecreated bool
	// Loss says what a pod that is recreated loses; empty where nobody has to be told.
	Loss string

	// ResizeOff: resources of living pods are not to be changed.
	ResizeOff bool
	// Unresizable says why the server has refused to resize a pod as the present spec asks, by its UID.
	Unresizable map[types.UID]string
	// Readings are what the annotations of pods say, by UID, as far as they are decoded already.
	Readings map[types.UID]inplace.Reading
	Now      time.Time

	// differences are those to the update revision, by the hash of the older one, each computed once.
	differences map[string]inplace.Difference
	// sizes are the resources of a revision beside those of the others, by its hash.
	sizes map[string]sizes
}

// Verdict is what is to become of one pod now. The zero value: nothing.
type Verdict struct {
	// Step is the one thing to do with the pod; nil when there is nothing to write.
	Step step.Step
	// Kept: what was asked for cannot be done to this pod, so it stays as it is. That costs the others nothing.
	Kept bool
	// Held says what the pod waits for before anything can be written; empty when it does not wait.
	Held string
	// Refused says what cannot be done and why, in sentences that name the pod. There may be a step all the same.
	Refused []string
	// Warned says, in sentences that name the pod, what the step does without the care that is taken otherwise.
	Warned []string
}

func refused(p *corev1.Pod, why string) []string { return []string{about(p, why)} }

func about(p *corev1.Pod, what string) string { return "pod " + p.Name + ": " + what }

// aim is the update revision.
func (s *Set) aim() inplace.Aim {
	aim := inplace.Aim{Revision: s.Update.Name, Label: revision.LabelValue(s.Update.Name)}
	if s.RepeatsHash {
		aim.Hash = s.Update.Hash
	}
	return aim
}
