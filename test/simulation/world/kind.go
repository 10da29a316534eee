// SPDX-License-Identifier: Apache-2.0

package world

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	"slipway.dev/slipway/test/simulation/api"
)

// Kind is what a story is about: what the rest of the world must know of it. It is a SetKind or an OwnKind.
type Kind interface {
	// Stored is what the API server calls it.
	Stored() api.Kind
	// Admit makes a spec pass the rules of the schema.
	Admit(object client.Object)
	// Describe tells a spec in one line.
	Describe(object client.Object) string
	// HasVolumes tells whether it looks at the volumes of claims.
	HasVolumes() bool
	// Outcome tells the status of an object, line by line.
	Outcome(object client.Object) []string
}

// SetKind is a kind of sets of pods. There is one of them, and a judge who knows what holds for all sets.
type SetKind interface {
	Kind
	// New begins a new process of its controller.
	New(m *Manager) reconcile.Reconciler
	// Concerns tells whether its controller looks at the set upon a write.
	Concerns(w api.Write) bool
	// Asks reads what sets of all kinds say.
	Asks(set client.Object) Spec
	// Rules are those of the kind, for one moment.
	Rules(s *Scene) Rules
}

// OwnKind is a kind with several controllers in one manager, and with a judge of its own.
type OwnKind interface {
	Kind
	// Controllers are those of a new process.
	Controllers(m *Manager) []Controller
	// Bench begins to judge a new world.
	Bench(w *World) Bench
	// Summary tells all pods in a few signs.
	Summary(w *World) string
}

// Bench compares what the manager does with what it may do.
type Bench interface {
	// Begin is told that a controller of the manager begins to look at something, and at what it looks.
	Begin(view *api.Cache)
	// Look judges what was written since the last look.
	Look()
	// Read is told what the manager reads from the server itself.
	Read(object client.Object)
	// Reborn is told that the next process begins with a view that is older than what the last one has done.
	Reborn()
	// Violation is the first one; nil while there is none. Accuse is told of one that no write shows.
	Violation() error
	Accuse(violation error)
}

// Controller is one of those that run in the manager.
type Controller struct {
	reconcile.Reconciler
	// Stored is the kind of the objects that it looks at.
	Stored api.Kind
	// Requests are those that it looks at upon a write.
	Requests func(w api.Write) []types.NamespacedName
}

// controllers are those of a new process for a kind.
func (m *Manager) controllers(kind Kind) []Controller {
	switch kind := kind.(type) {
	case OwnKind:
		return kind.Controllers(m)
	case SetKind:
		return []Controller{{Reconciler: kind.New(m), Stored: kind.Stored(), Requests: func(w api.Write) []types.NamespacedName {
			if kind.Concerns(w) {
				return []types.NamespacedName{TheSet}
			}
			return nil
		}}}
	}
	panic(fmt.Sprintf("%T is neither a kind of sets nor one with controllers of its own", kind))
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
