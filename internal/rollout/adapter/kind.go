// SPDX-License-Identifier: Apache-2.0

package adapter

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"slipway.dev/slipway/internal/revision"
	"slipway.dev/slipway/internal/rollout/engine"
	"slipway.dev/slipway/internal/step"
)

// Kind is one kind of workloads. Kinds that are not known are described by paths: see Declaration.
type Kind interface {
	// ID is its group, version and kind.
	ID() schema.GroupVersionKind

	// places are where it keeps what a rollout changes.
	places() places
	// reads is what has to be read besides the object itself.
	reads() reads
	// look fills in what the status and what was read besides tell.
	look(s *Seen, now time.Time) error
	// keep changes the object so that no more than n pods may be on the newest template, which is that of the revision.
	keep(s *Seen, o *unstructured.Unstructured, n int, revision string)
	// open changes the object so that nothing holds back pods.
	open(s *Seen, o *unstructured.Unstructured)
	// take are the steps besides changes of the object that let n pods be on the newest template.
	take(s *Seen, n int, why step.Because) []step.Step
}

// places are where a kind keeps what a rollout changes. It has not what is empty.
type places struct {
	replicas, template, paused path
	// partition holds back pods. A kind with one holds two versions of its template at once.
	partition path
	// strategy is kept as a whole where it has to be replaced.
	strategy path
	// observed is the generation that the status is of. Update and current are the names of the revision of the template and of
	// the last one that reached all pods.
	observed, update, current path
	// stopsAll: while paused it is not scaled either.
	stopsAll bool
}

// reads is what has to be read besides an object.
type reads struct {
	// Pods: its pods.
	pods bool
	// Revisions: all revisions of its template, and not just the one that matters.
	revisions bool
}

// Ask is what is asked of a workload. It makes no difference to what is seen, but to what a workload lacks for it.
type Ask struct {
	// Scales: a size is asked for, and there is no second workload.
	Scales bool
	// Pair: there are two workloads.
	Pair bool
	// Before has it looked up whether what stood in a held workload can be brought back.
	Before bool
}

// Seen is a workload as it was observed.
type Seen struct {
	// Kind is nil when nothing is known of the kind, and Object when there is no such object.
	Kind   Kind
	Object *unstructured.Unstructured
	// Workload is what the engine sees.
	Workload engine.Workload
	// LookAgain is when time alone will change what is seen; 0 when only an event can.
	LookAgain time.Duration

	ask Ask
	// record is what stands in a held workload.
	record *Record
	// pods and revisions are its own, where the kind has them read.
	pods      []*corev1.Pod
	revisions []revision.Revision
	// newest is the name of the revision of the template, as far as it is known, and current that of the one before it.
	newest, current string
	// counted: the pods that the status counts as updated are of the newest revision.
	counted bool
	// older identifies the template of the current revision, and former is the template itself of the one in the record.
	older  string
	former map[string]any
	// positions are the pods by their position, nil for one that is missing, for kinds whose partition counts positions.
	positions []*corev1.Pod
}

// Paused tells whether the workload is paused, where its kind can be.
func (s *Seen) Paused() bool { return s.Kind.places().paused.truth(s.Object) }

// usual are the places that most kinds have in common.
func usual() places {
	return places{
		replicas: in("spec", "replicas"), template: in("spec", "template"), observed: in("status", "observedGeneration"),
		update: in("status", "updateRevision"), current: in("status", "currentRevision"),
	}
}

// status reads the status into the type of the kind.
func (s *Seen) status(into any) error { return remarshal(in("status").get(s.Object), into) }
