// SPDX-License-Identifier: Apache-2.0

package adapter

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	"slipway.dev/slipway/internal/rollout/engine"
)

type looked struct {
	kind   string
	change fields
	pods   []client.Object
	ask    Ask
	want   engine.Workload
}

// full is a workload of 5 pods that are all available.
func full(change func(*engine.Workload)) engine.Workload {
	w := engine.Workload{Found: true, Seen: true, Replicas: 5, Pods: 5, Ready: 5, Available: 5, Before: engine.Before{Replicas: 5}}
	change(&w)
	return w
}

// heldBack is one whose newest template has reached no pod yet.
func heldBack(change func(*engine.Workload)) engine.Workload {
	return full(func(w *engine.Workload) {
		w.Versions, w.Differs = true, true
		change(w)
	})
}

func nothing(*engine.Workload) {}

const (
	mend     = "give it a template whose pods become ready"
	endPause = "end its pause, or give it back the template of its other pods"
	toAll    = "pause it, or set its partition to all of its pods, and they go by this rollout"
	unseen   = "its own controller has not looked at its spec yet"
	scaling  = "scaling from 3 to 5 pods"
)

var five = podsOn("old", "old", "old", "old", "old")

func TestWhatIsSeenOfAWorkload(t *testing.T) {
	for sentence, c := range map[string]looked{
		"a Deployment at rest": {kind: "Deployment", want: full(nothing)},
		"a Deployment without replicas has one": {kind: "Deployment", change: fields{"spec.replicas": nil, "status.replicas": int64(1), "status.updatedReplicas": int64(1)},
			want: full(func(w *engine.Workload) { w.Replicas, w.Pods, w.Before.Replicas = 1, 1, 1 })},
		"a Deployment that scales": {kind: "Deployment", change: fields{"status.replicas": int64(3)},
			want: full(func(w *engine.Workload) { w.Pods, w.Busy = 3, scaling })},
		"a Deployment whose pods are not ready is at rest: it may be what a release repairs": {kind: "Deployment", change: fields{"status.readyReplicas": int64(0), "status.availableReplicas": int64(0)},
			want: full(func(w *engine.Workload) { w.Ready, w.Available = 0, 0 })},
		"a Deployment in an update of its own": {kind: "Deployment", change: fields{"status.updatedReplicas": int64(2)},
			want: full(func(w *engine.Workload) { w.Busy = "updating by itself: 2 of 5 pods are on its template" })},
		"a Deployment in one whose pods are not ready is stuck in it": {kind: "Deployment", change: fields{"status.updatedReplicas": int64(2), "status.readyReplicas": int64(4), "status.availableReplicas": int64(4)},
			want: full(func(w *engine.Workload) {
				w.Ready, w.Available, w.Stuck, w.Busy, w.Remedy = 4, 4, true, "updating by itself: 2 of 5 pods are on its template", mend
			})},
		"also with the pods that its update has in addition": {kind: "Deployment", change: fields{"status.replicas": int64(7), "status.updatedReplicas": int64(3), "status.readyReplicas": int64(4), "status.availableReplicas": int64(4)},
			want: full(func(w *engine.Workload) {
				w.Pods, w.Ready, w.Available, w.Surge, w.Stuck, w.Busy = 7, 4, 4, 2, true, "updating by itself: 3 of 7 pods are on its template"
				w.Remedy = mend
			})},
		"but not with more: it scales": {kind: "Deployment", change: fields{"status.replicas": int64(7), "status.updatedReplicas": int64(3), "status.readyReplicas": int64(4), "status.availableReplicas": int64(4), "spec.strategy": map[string]any{"type": "RollingUpdate", "rollingUpdate": map[string]any{"maxSurge": int64(1)}}},
			want: full(func(w *engine.Workload) {
				w.Pods, w.Ready, w.Available, w.Busy = 7, 4, 4, "scaling from 7 to 5 pods"
			})},
		"nor with any where all pods go first": {kind: "Deployment", change: fields{"status.replicas": int64(6), "status.updatedReplicas": int64(3), "status.readyReplicas": int64(4), "status.availableReplicas": int64(4), "spec.strategy": map[string]any{"type": "Recreate"}},
			want: full(func(w *engine.Workload) {
				w.Pods, w.Ready, w.Available, w.Busy = 6, 4, 4, "scaling from 6 to 5 pods"
			})},
		"a Deployment that is paused in one can be scaled": {kind: "Deployment", change: fields{"status.updatedReplicas": int64(2), "spec.paused": true}, want: full(func(w *engine.Workload) { w.Paused = true })},
		"but to take turns with another one it has to end it": {kind: "Deployment", ask: Ask{Pair: true}, change: fields{"status.updatedReplicas": int64(2), "spec.paused": true},
			want: full(func(w *engine.Workload) {
				w.Paused, w.Stuck, w.Busy, w.Remedy = true, true, "paused in an update of its own: 2 of 5 pods are on its template", endPause
			})},
		"and so it has with the pods that its update has in addition": {kind: "Deployment", ask: Ask{Pair: true}, change: fields{"status.replicas": int64(7), "status.updatedReplicas": int64(3), "spec.paused": true},
			want: full(func(w *engine.Workload) {
				w.Pods, w.Paused, w.Surge, w.Stuck, w.Busy, w.Remedy = 7, true, 2, true, "paused in an update of its own: 3 of 7 pods are on its template", endPause
			})},
		"these are in the way of a scale, too": {kind: "Deployment", change: fields{"status.replicas": int64(7), "status.updatedReplicas": int64(3), "spec.paused": true},
			want: full(func(w *engine.Workload) {
				w.Pods, w.Paused, w.Surge, w.Stuck, w.Busy, w.Remedy = 7, true, 2, true, "paused in an update of its own: 3 of 7 pods are on its template", endPause
			})},
		"more than those go also while it is paused": {kind: "Deployment", ask: Ask{Pair: true}, change: fields{"status.replicas": int64(9), "status.updatedReplicas": int64(3), "spec.paused": true},
			want: full(func(w *engine.Workload) { w.Pods, w.Paused, w.Busy = 9, true, "scaling from 9 to 5 pods" })},
		"a Deployment whose controller is behind": {kind: "Deployment", change: fields{"status.observedGeneration": int64(2)},
			want: full(func(w *engine.Workload) { w.Seen, w.Busy = false, unseen })},
		"a Deployment that cannot make pods": {kind: "Deployment", change: fields{"status.conditions": []any{map[string]any{"type": "ReplicaFailure", "status": "True", "message": "exceeded quota"}}},
			want: full(func(w *engine.Workload) { w.Waits = "exceeded quota" })},

		"a CloneSet that is held back":     {kind: "CloneSet", want: heldBack(nothing)},
		"a CloneSet that keeps 40 percent": {kind: "CloneSet", change: fields{"spec.updateStrategy.partition": "40%", "status.updatedReplicas": int64(3), "status.updatedAvailableReplicas": int64(2), "status.availableReplicas": int64(4)}, want: heldBack(func(w *engine.Workload) { w.Available, w.Asked, w.Updated, w.UpdatedAvailable = 4, 3, 3, 2 })},
		"a CloneSet that is stuck in an update of its own can be held": {kind: "CloneSet", change: fields{"spec.updateStrategy.partition": nil, "status.readyReplicas": int64(4), "status.availableReplicas": int64(4)},
			want: heldBack(func(w *engine.Workload) {
				w.Asked, w.Ready, w.Available, w.Busy, w.Remedy = 5, 4, 4, "updating by itself: 0 pods are on its newest template", toAll
			})},
		"a percentage is rounded up": {kind: "CloneSet", change: fields{"spec.updateStrategy.partition": "41%"}, want: heldBack(func(w *engine.Workload) { w.Asked, w.Busy = 2, "updating by itself: 0 pods are on its newest template" })},
		"a CloneSet that is paused": {kind: "CloneSet", change: fields{"spec.updateStrategy.partition": int64(0), "spec.updateStrategy.paused": true},
			want: heldBack(func(w *engine.Workload) {
				w.Paused, w.Asked, w.Waits = true, 5, "it is paused by spec.updateStrategy.paused"
			})},
		"a CloneSet whose partition is above its size": {kind: "CloneSet", change: fields{"spec.updateStrategy.partition": int64(9)}, want: heldBack(nothing)},
		"a CloneSet that is done": {kind: "CloneSet", change: fields{"status.currentRevision": "web-new", "status.updatedReplicas": int64(5), "status.updatedAvailableReplicas": int64(5), "spec.updateStrategy.partition": nil},
			want: full(func(w *engine.Workload) { w.Versions, w.Asked, w.Updated, w.UpdatedAvailable = true, 5, 5, 5 })},
		"a CloneSet of 0 pods has a new template all the same": {kind: "CloneSet", change: fields{"spec.replicas": int64(0), "status.replicas": int64(0), "status.readyReplicas": int64(0), "status.availableReplicas": int64(0)},
			want: engine.Workload{Found: true, Seen: true, Versions: true, Differs: true}},
		"of a CloneSet whose controller is behind no pod is known to be updated": {kind: "CloneSet", change: fields{"spec.template": template("v3"), "status.observedGeneration": int64(2), "status.updatedReplicas": int64(5), "status.currentRevision": "web-new"},
			want: heldBack(func(w *engine.Workload) { w.Seen, w.Busy = false, unseen })},
		"but those of the same template are": {kind: "CloneSet", change: fields{"status.observedGeneration": int64(2), "status.updatedReplicas": int64(3), "status.updatedAvailableReplicas": int64(2), "status.availableReplicas": int64(4)},
			want: heldBack(func(w *engine.Workload) {
				w.Seen, w.Busy, w.Available, w.Updated, w.UpdatedAvailable = false, unseen, 4, 3, 2
			})},
		"a CloneSet whose publisher does not count what is updated and available": {kind: "CloneSet", change: fields{"spec.updateStrategy.partition": int64(3), "status.updatedReplicas": int64(2), "status.availableReplicas": int64(4)},
			want: heldBack(func(w *engine.Workload) { w.Available, w.Asked, w.Updated, w.UpdatedAvailable = 4, 2, 2, 1 })},
		"a CloneSet that says what it waits for": {kind: "CloneSet", change: fields{"status.conditions": []any{map[string]any{"type": "Ready", "status": "False", "message": "waiting for pod web-x"}}},
			want: heldBack(func(w *engine.Workload) { w.Waits = "waiting for pod web-x" })},

		"an InPlaceSet that is held back": {kind: "InPlaceSet", want: heldBack(nothing)},
		"an InPlaceSet in the middle": {kind: "InPlaceSet", change: fields{"spec.strategy.partition": "60%", "status.updatedReplicas": int64(1)},
			want: heldBack(func(w *engine.Workload) {
				w.Asked, w.Updated, w.Busy = 2, 1, "updating by itself: 1 pod is on its newest template"
			})},

		"a CafeDeployment that is held back": {kind: "CafeDeployment", want: heldBack(nothing)},
		"a CafeDeployment in groups of its own": {kind: "CafeDeployment", change: fields{"spec.strategy.partition": nil, "status.currentGroup": int64(1), "status.groups": []any{map[string]any{}, map[string]any{}}},
			want: heldBack(func(w *engine.Workload) { w.Asked, w.Busy = 5, "updating by itself: it is at group 1 of 2" })},
		"a CafeDeployment that is paused in them can be held": {kind: "CafeDeployment", change: fields{"spec.strategy.partition": nil, "spec.strategy.pause": true, "status.currentGroup": int64(1)},
			want: heldBack(func(w *engine.Workload) {
				w.Paused, w.Frozen, w.Asked, w.Waits = true, true, 5, "it is paused by spec.strategy.pause"
			})},

		"a StatefulSet that is held back": {kind: "StatefulSet", pods: five, want: heldBack(nothing)},
		"old pods of a StatefulSet that are ready never count as updated": {kind: "StatefulSet", pods: podsOn("old", "old", "old", "old", "new"),
			change: fields{"spec.updateStrategy.rollingUpdate.partition": int64(4), "status.updatedReplicas": int64(5)},
			want:   heldBack(func(w *engine.Workload) { w.Asked, w.Updated, w.UpdatedAvailable = 1, 1, 1 })},
		"an updated pod that is not ready counts as updated only": {kind: "StatefulSet", pods: append(podsOn("old", "old", "old", "old"), podOf(4, "new", unready)),
			change: fields{"spec.updateStrategy.rollingUpdate.partition": int64(4)},
			want:   heldBack(func(w *engine.Workload) { w.Asked, w.Updated, w.Waits = 1, 1, "pod web-4: container main is not ready" })},
		"one on its way out counts as neither": {kind: "StatefulSet", pods: append(podsOn("old", "old", "old", "old"), podOf(4, "new", leaving)),
			change: fields{"spec.updateStrategy.rollingUpdate.partition": int64(4)},
			want: heldBack(func(w *engine.Workload) {
				w.Asked, w.Waits, w.Busy = 1, "pod web-4: it is being deleted", "updating by itself: 0 pods are on its newest template"
			})},
		"positions are counted from the first ordinal": {kind: "StatefulSet", change: fields{"spec.ordinals.start": int64(3), "spec.updateStrategy.rollingUpdate.partition": int64(3)},
			pods: []client.Object{podOf(3, "old"), podOf(4, "old"), podOf(5, "old"), podOf(6, "new"), podOf(7, "new"), podOf(8, "new")},
			want: heldBack(func(w *engine.Workload) { w.Asked, w.Updated, w.UpdatedAvailable = 2, 2, 2 })},
		"a StatefulSet that updates by itself": {kind: "StatefulSet", pods: five, change: fields{"spec.updateStrategy.rollingUpdate": nil},
			want: heldBack(func(w *engine.Workload) { w.Asked, w.Busy = 5, "updating by itself: 0 pods are on its newest template" })},
		"one with OnDelete does not": {kind: "StatefulSet", pods: five, change: fields{"spec.updateStrategy": map[string]any{"type": "OnDelete"}},
			want: heldBack(func(w *engine.Workload) { w.Asked = 5 })},
		"below the partition there may be updated pods too": {kind: "StatefulSet", pods: podsOn("new", "new", "new", "old", "old"),
			want: heldBack(func(w *engine.Workload) { w.Asked, w.Updated, w.UpdatedAvailable = 3, 3, 3 })},
		"of a StatefulSet whose controller is behind, the revision of its template counts": {kind: "StatefulSet", pods: podsOn("old", "old", "old", "old", "new"),
			change: fields{"status.observedGeneration": int64(2), "spec.updateStrategy.rollingUpdate.partition": int64(4)},
			want: heldBack(func(w *engine.Workload) {
				w.Seen, w.Asked, w.Updated, w.UpdatedAvailable, w.Busy = false, 1, 1, 1, unseen
			})},
		"and none while that is not known": {kind: "StatefulSet", pods: podsOn("old", "old", "old", "old", "new"),
			change: fields{"status.observedGeneration": int64(2), "spec.template": template("v3"), "spec.updateStrategy.rollingUpdate.partition": int64(4)},
			want:   heldBack(func(w *engine.Workload) { w.Seen, w.Asked, w.Busy = false, 1, unseen })},
		"a StatefulSet that is being scaled": {kind: "StatefulSet", pods: podsOn("old", "old", "old"), change: fields{"status.replicas": int64(3), "status.readyReplicas": int64(3), "status.availableReplicas": int64(3)},
			want: heldBack(func(w *engine.Workload) { w.Pods, w.Ready, w.Available, w.Busy = 3, 3, 3, scaling })},
		"one whose pods wait for a broken one may be repaired": {kind: "StatefulSet", pods: []client.Object{podOf(0, "old", unready)},
			change: fields{"status.replicas": int64(1), "status.readyReplicas": int64(0), "status.availableReplicas": int64(0)},
			want: heldBack(func(w *engine.Workload) {
				w.Pods, w.Ready, w.Available, w.Waits = 1, 0, 0, "pod web-0: container main is not ready"
			})},

		"an advanced StatefulSet that is held back": {kind: "Advanced", pods: five, want: heldBack(nothing)},
		"reserved ordinals have no position": {kind: "Advanced", change: fields{"spec.reserveOrdinals": []any{int64(1), "3-4"}, "spec.updateStrategy.rollingUpdate.partition": int64(3)},
			pods: []client.Object{podOf(0, "old"), podOf(1, "new"), podOf(2, "old"), podOf(5, "old"), podOf(6, "new"), podOf(7, "new")},
			want: heldBack(func(w *engine.Workload) { w.Asked, w.Updated, w.UpdatedAvailable = 2, 2, 2 })},
		"in any order the partition is a number of pods": {kind: "Advanced", change: fields{"spec.updateStrategy.rollingUpdate": map[string]any{"partition": int64(3), "unorderedUpdate": map[string]any{}}},
			pods: podsOn("new", "old", "new", "old", "old"), want: heldBack(func(w *engine.Workload) { w.Asked, w.Updated, w.UpdatedAvailable = 2, 2, 2 })},
		"one that is paused": {kind: "Advanced", change: fields{"spec.updateStrategy.rollingUpdate": map[string]any{"paused": true}}, pods: five,
			want: heldBack(func(w *engine.Workload) { w.Paused, w.Asked = true, 5 })},

		"a DaemonSet with OnDelete": {kind: "DaemonSet", pods: five, want: heldBack(nothing)},
		"all but its old pods may be updated": {kind: "DaemonSet", pods: append(podsOn("old", "old", "old", "new"), podOf(4, "old", leaving)),
			want: heldBack(func(w *engine.Workload) {
				w.Asked, w.Updated, w.UpdatedAvailable, w.Waits = 2, 1, 1, "pod web-4: it is being deleted"
			})},
		"a DaemonSet that updates by itself": {kind: "DaemonSet", pods: five, change: fields{"spec.updateStrategy.type": "RollingUpdate"},
			want: heldBack(func(w *engine.Workload) { w.Busy = "updating by itself: 0 pods are on its newest template" })},
		"a DaemonSet whose template has no revision yet": {kind: "DaemonSet", pods: five, change: fields{"spec.template": template("v3")},
			want: heldBack(func(w *engine.Workload) { w.Seen, w.Busy = false, unseen })},
		"a DaemonSet has no number": {kind: "DaemonSet", pods: podsOn("new", "new", "new", "new", "new"), ask: Ask{Scales: true},
			want: full(func(w *engine.Workload) {
				w.Versions, w.Asked, w.Updated, w.UpdatedAvailable = true, 5, 5, 5
				w.Unfit = "a DaemonSet has a pod on each node that it is for, and no number to be scaled by: leave spec.rolloutPlan.targetSize out"
			})},

		"a kind that is described by paths": {kind: "Flock", change: fields{"spec.keep": int64(2), "status.fresh": int64(3), "status.freshAvailable": int64(2)},
			want: heldBack(func(w *engine.Workload) { w.Asked, w.Updated, w.UpdatedAvailable = 3, 3, 2 })},
		"one without a number": {kind: "Flock", change: fields{"spec.birds": "many"},
			want: engine.Workload{Found: true, Seen: true, Replicas: 1, Unfit: "Flock web cannot be read: there is no number at .spec.birds"}},
		"one without a partition can be scaled": {kind: "Herd", ask: Ask{Scales: true}, want: full(nothing)},
		"but not updated in place": {kind: "Herd", want: full(func(w *engine.Workload) {
			w.Unfit = "a Herd cannot be updated in place as long as nobody says where its partition is: annotate its CustomResourceDefinition with " +
				"rollout.slipway.dev/partition-path, rollout.slipway.dev/updated-path and rollout.slipway.dev/updated-available-path; or give spec.sourceRef, or spec.rolloutPlan.targetSize"
		})},

		"one that is controlled by somebody else": {kind: "CloneSet", change: fields{"metadata.ownerReferences": []any{map[string]any{"apiVersion": "a/v1", "kind": "CafeDeployment", "name": "all", "uid": "x", "controller": true}}},
			want: heldBack(func(w *engine.Workload) { w.Owner = "CafeDeployment all" })},
		"by one of our own": {kind: "CloneSet", change: fields{"metadata.ownerReferences": []any{map[string]any{"apiVersion": "a/v1", "kind": "Application", "name": "all", "uid": "tracker", "controller": true}}},
			want: heldBack(nothing)},
		"a template that nobody can read": {kind: "CloneSet", change: fields{"spec.template": "none"},
			want: engine.Workload{Found: true, Unfit: `the pod template at .spec.template cannot be read: reading revision "": its data has no object spec.template`}},
	} {
		t.Run(sentence, func(t *testing.T) {
			objects := append(bothRevisions(t), c.pods...)
			got := observe(t, c.kind, server(t, workload(t, c.kind, c.change), objects...), c.ask)
			if diff := cmp.Diff(c.want, got.Workload, cmpopts.IgnoreFields(engine.Workload{}, "Template")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestTemplatesThatMeanTheSameAreOne(t *testing.T) {
	id := func(tree map[string]any) string {
		got, err := identity(tree)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	spelled, novel := template("v1"), template("v1")
	spelled["metadata"].(map[string]any)["creationTimestamp"] = nil
	spelled["spec"].(map[string]any)["restartPolicy"] = "Always"
	novel["spec"].(map[string]any)["containers"].([]any)[0].(map[string]any)["novelty"] = "changed"
	if id(template("v1")) != id(spelled) {
		t.Error("a default that is spelled out is another template")
	}
	if id(template("v1")) == id(template("v2")) || id(template("v1")) == id(novel) {
		t.Error("two templates are one")
	}
}

func TestTimeMakesAPodAvailable(t *testing.T) {
	for sentence, c := range map[string]struct {
		minReady  int64
		want      int
		lookAgain time.Duration
	}{
		"it has been ready for long enough": {30, 1, 0},
		"it has not":                        {90, 0, 30 * time.Second},
	} {
		t.Run(sentence, func(t *testing.T) {
			set := workload(t, "StatefulSet", fields{"spec.minReadySeconds": c.minReady, "spec.updateStrategy.rollingUpdate.partition": int64(4)})
			got := observe(t, "StatefulSet", server(t, set, append(bothRevisions(t), podsOn("old", "old", "old", "old", "new")...)...), Ask{})
			if got.Workload.UpdatedAvailable != c.want || got.LookAgain != c.lookAgain {
				t.Errorf("got %d available and %s, want %d and %s", got.Workload.UpdatedAvailable, got.LookAgain, c.want, c.lookAgain)
			}
		})
	}
}

func TestAWorkloadThatCannotBeDrivenSaysWhatIsMissing(t *testing.T) {
	crd := func(annotations map[string]string) client.Object {
		o := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "swarms.example.dev", Annotations: annotations}}
		o.SetGroupVersionKind(crdKind)
		return o
	}
	for sentence, c := range map[string]struct {
		kind string
		crd  client.Object
		want string
	}{
		"a kind that the cluster has not":    {"Nothing", nil, "there is no kind Nothing of example.dev/v1 in this cluster"},
		"one that nobody has described":      {"Swarm", crd(nil), "annotate its CustomResourceDefinition with rollout.slipway.dev/replicas-path"},
		"one that is not of a definition":    {"Swarm", nil, "annotate its CustomResourceDefinition with rollout.slipway.dev/replicas-path"},
		"one that is described in part":      {"Swarm", crd(map[string]string{"rollout.slipway.dev/partition-path": ".spec.keep"}), "swarms.example.dev: replicas-path is missing; updated-path is missing; updated-available-path is missing"},
		"one that is described by a mistake": {"Swarm", crd(map[string]string{"rollout.slipway.dev/replicas-path": "spec.bees", "rollout.slipway.dev/size-path": ".a"}), `size-path is not known`},
	} {
		t.Run(sentence, func(t *testing.T) {
			var others []client.Object
			if c.crd != nil {
				others = append(others, c.crd)
			}
			s := server(t, nil, others...)
			a := &Adapters{Live: s, Mapper: mapperWith(t, "Swarm"), Registry: registry(t)}
			got, err := a.Observe(t.Context(), "shop", rolloutv1alpha1.WorkloadReference{APIVersion: "example.dev/v1", Kind: c.kind, Name: "web"}, holder, Ask{}, now)
			if err != nil || got.Workload.Found || !strings.Contains(got.Workload.Unfit, c.want) {
				t.Errorf("got %+v, %v, want %q", got.Workload, err, c.want)
			}
		})
	}
}

func TestAWorkloadThatIsNotThereIsNoError(t *testing.T) {
	got := observe(t, "CloneSet", server(t, nil), Ask{})
	if diff := cmp.Diff(engine.Workload{}, got.Workload); diff != "" || got.Object != nil {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
