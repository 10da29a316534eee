// SPDX-License-Identifier: Apache-2.0

package world

import (
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	"slipway.dev/slipway/test/simulation/api"
)

// Kind is a kind of set: its controller, and what the rest of the world must know of it.
type Kind interface {
	// Stored is what the API server calls it.
	Stored() api.Kind
	// New begins a new process of its controller.
	New(m *Manager) reconcile.Reconciler
	// Concerns tells whether its controller looks at the set upon a write.
	Concerns(w api.Write) bool
	// Admit makes a spec pass the rules of the schema.
	Admit(set client.Object)
	// Describe tells a spec in one line.
	Describe(set client.Object) string
	// Asks reads what sets of all kinds say.
	Asks(set client.Object) Spec
	// Rules are those of the kind, for one moment.
	Rules(s *Scene) Rules
	// HasVolumes tells whether it looks at the volumes of claims.
	HasVolumes() bool
	// Outcome tells the status of a set, line by line.
	Outcome(set client.Object) []string
}

// Spec is what sets of all kinds say.
type Spec struct {
	Template *corev1.PodTemplateSpec
	Hooks    kruisev1alpha1.Lifecycle
	// ByGate: the hooks are those of components that route traffic. A pod that they hold is out of service by the gate
	// InPlaceUpdateReady, and handlers come and go as that gate says, not as the state does.
	ByGate          bool
	MinReadySeconds int32
	GraceSeconds    int32
	Paused          bool
	Current         string // status.currentRevision
}

// Rules are what a kind demands of each write of its controller, beyond what all kinds do. The scene is the moment before the write.
type Rules interface {
	// First is the state in which a pod must be created.
	First(pod *corev1.Pod) kruisev1alpha1.LifecycleState
	// Creates, Deletes and Moves judge the creation of a pod, its deletion, and its switch to another revision in place.
	Creates(pod *corev1.Pod) error
	Deletes(pod *corev1.Pod) error
	Moves(before, after *corev1.Pod) error
	// Takes: may the pod be taken out of service now? How says by what.
	Takes(pod *corev1.Pod, how string) error
	// Spares: may the pod be prepared for its deletion now?
	Spares(pod *corev1.Pod) error
	// Chosen tells whether somebody asked for the deletion of this very pod.
	Chosen(pod *corev1.Pod) bool
	// Claim and Set judge writes of claims and of the set.
	Claim(w api.Write) error
	Set(w api.Write) error
	// Summary and Notation tell all pods, and one, in a few signs.
	Summary() string
	Notation(pod *corev1.Pod) string
}
