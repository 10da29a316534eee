// SPDX-License-Identifier: Apache-2.0

package adapter

import (
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"slipway.dev/slipway/internal/step"
)

// deployment has no partition: a new template reaches all pods by its own rolling update. So two objects take turns, or one is
// scaled.
type deployment struct{ oneVersion }

func (deployment) ID() schema.GroupVersionKind {
	return appsv1.SchemeGroupVersion.WithKind("Deployment")
}

func (deployment) places() places {
	p := usual()
	p.paused = in("spec", "paused")
	return p
}

func (k deployment) look(s *Seen, _ time.Time) error {
	status := appsv1.DeploymentStatus{}
	if err := s.status(&status); err != nil {
		return err
	}
	w := &s.Workload
	w.Pods, w.Ready, w.Available = int(status.Replicas), int(status.ReadyReplicas), int(status.AvailableReplicas)
	w.Busy = s.busy(false)
	if updated, surplus := int(status.UpdatedReplicas), w.Pods-w.Replicas; w.Seen && updated < w.Pods && surplus >= 0 && surplus <= k.surge(s) {
		w.Surge = surplus
		k.updates(s, fmt.Sprintf("%d of %d pods are on its template", updated, w.Pods))
	}
	w.Waits = conditionMessage(s.Object, string(appsv1.DeploymentReplicaFailure), "True")
	return nil
}

// updates says that it is in the middle of an update of its own. A pause in it is in nobody's way who only scales it: as the newer of two
// it would have to end, and that would be the beginning of an update that no batch holds.
func (k deployment) updates(s *Seen, how string) {
	w := &s.Workload
	switch {
	case !k.places().paused.truth(s.Object):
		w.Busy, w.Stuck = "updating by itself: "+how, w.Ready < w.Pods
		if w.Stuck {
			w.Remedy = "give it a template whose pods become ready"
		}
	case s.ask.Pair || w.Surge > 0:
		w.Busy, w.Stuck = "paused in an update of its own: "+how, true
		w.Remedy = "end its pause, or give it back the template of its other pods"
	}
}

// surge is how many pods more than it is asked for its own rolling update may have; none without pods.
func (deployment) surge(s *Seen) int {
	if s.Workload.Replicas == 0 || in("spec", "strategy", "type").text(s.Object) == string(appsv1.RecreateDeploymentStrategyType) {
		return 0
	}
	n := in("spec", "strategy", "rollingUpdate", "maxSurge")
	if n.get(s.Object) == nil {
		return (s.Workload.Replicas + 3) / 4 // the default is a quarter
	}
	return n.share(s.Object, s.Workload.Replicas)
}

// oneVersion is for kinds that cannot keep two versions of their template apart.
type oneVersion struct{}

func (oneVersion) reads() reads                                        { return reads{} }
func (oneVersion) keep(*Seen, *unstructured.Unstructured, int, string) {}
func (oneVersion) open(*Seen, *unstructured.Unstructured)              {}
func (oneVersion) take(*Seen, int, step.Because) []step.Step           { return nil }
