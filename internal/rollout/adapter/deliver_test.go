// SPDX-License-Identifier: Apache-2.0

package adapter

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// applied says that a manager has applied fields of spec.
func applied(manager, fields string) func(*unstructured.Unstructured) {
	return func(o *unstructured.Unstructured) {
		o.SetManagedFields([]metav1.ManagedFieldsEntry{{
			Manager: manager, APIVersion: "v1", Operation: metav1.ManagedFieldsOperationApply, FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(`{"f:spec":` + fields + `}`),
		}})
	}
}

func TestAWorkloadIsDeliveredSoThatNoPodMoves(t *testing.T) {
	asRendered := fields{"spec.replicas": int64(9), "spec.updateStrategy.partition": int64(0), "spec.updateStrategy.paused": true}
	owned := `{"f:replicas":{},"f:updateStrategy":{"f:partition":{},"f:paused":{}}}`
	for sentence, c := range map[string]struct {
		kind     string
		rendered fields
		isNew    bool
		live     func(*unstructured.Unstructured)
		same     bool
		want     string // the spec without its template
	}{
		"a new one begins at no pods, with nothing that holds": {"CloneSet", asRendered, true, nil, false, `{"replicas":0,"updateStrategy":{}}`},
		"one that is there keeps its size and its pods":        {"CloneSet", asRendered, false, nil, false, `{"updateStrategy":{"partition":5}}`},
		"with the same template nothing has to hold":           {"CloneSet", asRendered, false, nil, true, `{"updateStrategy":{}}`},
		"what was applied before stays as it is":               {"CloneSet", asRendered, false, applied("slipway", owned), true, `{"replicas":5,"updateStrategy":{"partition":5}}`},
		"what others have applied is not ours to keep":         {"CloneSet", asRendered, false, applied("somebody", owned), true, `{"updateStrategy":{}}`},
		"a hold takes the place of what was applied":           {"CloneSet", asRendered, false, applied("slipway", owned), false, `{"replicas":5,"updateStrategy":{"partition":5}}`},
		"a StatefulSet is held at its positions":               {"StatefulSet", fields{"spec.replicas": int64(9)}, false, nil, false, `{"updateStrategy":{"rollingUpdate":{"partition":5}}}`},
		"an Advanced StatefulSet too":                          {"Advanced", nil, false, nil, false, `{"updateStrategy":{"rollingUpdate":{"partition":5}}}`},
		"a DaemonSet is held by deleting nothing":              {"DaemonSet", fields{"spec.updateStrategy.type": "RollingUpdate"}, false, nil, false, `{"updateStrategy":{"type":"OnDelete"}}`},
		"and stays so until that is over":                      {"DaemonSet", fields{"spec.updateStrategy.type": "RollingUpdate"}, false, applied("slipway", `{"f:updateStrategy":{"f:type":{}}}`), true, `{"updateStrategy":{"type":"OnDelete"}}`},
		"one that others hold has its own strategy":            {"DaemonSet", fields{"spec.updateStrategy.type": "RollingUpdate"}, false, applied("somebody", `{"f:updateStrategy":{"f:type":{}}}`), true, `{"updateStrategy":{"type":"RollingUpdate"}}`},
		"a new DaemonSet has no number to begin with":          {"DaemonSet", nil, true, nil, false, `{}`},
		"an InPlaceSet":                         {"InPlaceSet", nil, false, nil, false, `{"strategy":{"partition":5}}`},
		"a CafeDeployment":                      {"CafeDeployment", nil, false, nil, false, `{"strategy":{"partition":5}}`},
		"a new Deployment begins at no pods":    {"Deployment", fields{"spec.replicas": int64(9)}, true, nil, false, `{"replicas":0}`},
		"one that is there is held by its size": {"Deployment", fields{"spec.replicas": int64(9)}, false, nil, false, `{}`},
		"a kind that is described by paths":     {"Flock", nil, false, nil, false, `{"keep":5}`},
	} {
		t.Run(sentence, func(t *testing.T) {
			rendered := &unstructured.Unstructured{Object: map[string]any{}}
			put(rendered, fields{"spec.template": template("v3")})
			put(rendered, c.rendered)
			before := rendered.DeepCopy()
			seen := Seen{Kind: kindNamed(t, c.kind)}
			if !c.isNew {
				seen = observe(t, c.kind, server(t, workload(t, c.kind, nil), append(bothRevisions(t), five...)...), Ask{})
			}
			if c.live != nil { // the fake server hides it
				c.live(seen.Object)
			}
			got := seen.Deliver(rendered, !c.same, "slipway")
			if diff := cmp.Diff(before.Object, rendered.Object); diff != "" {
				t.Errorf("what was rendered has changed:\n%s", diff)
			}
			if diff := cmp.Diff(any(template("v3")), in("spec", "template").get(got)); diff != "" {
				t.Errorf("template (-want +got):\n%s", diff)
			}
			in("spec", "template").remove(got)
			spec, err := json.Marshal(got.Object["spec"])
			if err != nil || string(spec) != c.want {
				t.Errorf("got %s, %v, want %s", spec, err, c.want)
			}
		})
	}
}

func TestAWorkloadOfAnUnknownKindIsDeliveredAsItIs(t *testing.T) {
	rendered := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"replicas": int64(3), "paused": true}}}
	if diff := cmp.Diff(rendered, (&Seen{}).Deliver(rendered, true, "slipway")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestTheSizeThatIsRendered(t *testing.T) {
	for sentence, c := range map[string]struct {
		kind  string
		spec  fields
		size  int
		sized bool
	}{
		"the number that stands there": {"CloneSet", fields{"spec.replicas": int64(7)}, 7, true},
		"an absent number means one":   {"Deployment", nil, 1, true},
		"a DaemonSet has none":         {"DaemonSet", nil, 0, false},
	} {
		t.Run(sentence, func(t *testing.T) {
			o := &unstructured.Unstructured{Object: map[string]any{}}
			put(o, c.spec)
			if size, sized := Size(kindNamed(t, c.kind), o); size != c.size || sized != c.sized {
				t.Errorf("got %d, %v", size, sized)
			}
		})
	}
}

func TestKindsThatHoldTwoVersions(t *testing.T) {
	for _, kind := range versioned {
		if !HoldsTwoVersions(kindNamed(t, kind)) {
			t.Errorf("%s does", kind)
		}
	}
	for _, kind := range []string{"Deployment", "Herd"} {
		if HoldsTwoVersions(kindNamed(t, kind)) {
			t.Errorf("%s does not", kind)
		}
	}
}

// What a rollout has left in a workload is taken out of it, and what one still holds back with stays.
func TestAWorkloadIsOpenedWhenNoRolloutHoldsIt(t *testing.T) {
	looker := Holder{Own: holder.Own}
	for sentence, c := range map[string]struct {
		held bool
		want bool
	}{
		"one that a rollout has left":             {false, true},
		"one that somebody's rollout still holds": {true, false},
	} {
		t.Run(sentence, func(t *testing.T) {
			s := server(t, workload(t, "CloneSet", nil), bothRevisions(t)...)
			if c.held {
				s = held(t, "CloneSet", nil)
			}
			ours := func(o *unstructured.Unstructured) {
				o.SetManagedFields([]metav1.ManagedFieldsEntry{{
					Manager: "slipway-manager", Operation: metav1.ManagedFieldsOperationUpdate, FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:updateStrategy":{"f:partition":{}}}}`),
				}})
			}
			live := stored(t, "CloneSet", s)
			ours(live)
			seen, err := (&Adapters{Live: s, Mapper: s.RESTMapper(), Registry: registry(t)}).ObserveObject(t.Context(), live, looker, Ask{Looks: true}, now)
			if err != nil {
				t.Fatal(err)
			}
			rendered := &unstructured.Unstructured{Object: map[string]any{}}
			if opened := seen.Opened(rendered, "slipway-manager") != nil; opened != c.want {
				t.Errorf("it is opened: %v", opened)
			}
		})
	}
}

// A DaemonSet is held back by its strategy, and has the one that it was rendered with when nobody holds it any more.
func TestADaemonSetHasItsStrategyBackWhenNoRolloutHoldsIt(t *testing.T) {
	daily := map[string]any{"type": "RollingUpdate", "rollingUpdate": map[string]any{"maxUnavailable": int64(2)}}
	for sentence, c := range map[string]struct {
		rendered, stands map[string]any
		manager          string
		opened           bool
		want             any
	}{
		"none means the default":             {nil, map[string]any{"type": "OnDelete"}, "slipway", true, nil},
		"one that was rendered":              {daily, map[string]any{"type": "OnDelete"}, "slipway", true, daily},
		"a person's OnDelete stays":          {nil, map[string]any{"type": "OnDelete"}, "kubectl", false, nil},
		"so does one that is rendered":       {map[string]any{"type": "OnDelete"}, map[string]any{"type": "OnDelete"}, "slipway", false, nil},
		"another strategy holds back no pod": {nil, daily, "slipway", false, nil},
	} {
		t.Run(sentence, func(t *testing.T) {
			seen := observe(t, "DaemonSet", server(t, workload(t, "DaemonSet", fields{"spec.updateStrategy": c.stands}), append(bothRevisions(t), five...)...), Ask{Looks: true})
			applied(c.manager, `{"f:updateStrategy":{"f:type":{}}}`)(seen.Object)
			rendered := &unstructured.Unstructured{Object: map[string]any{}}
			if c.rendered != nil {
				put(rendered, fields{"spec.updateStrategy": c.rendered})
			}
			opened := seen.Opened(rendered, "slipway", "slipway-manager")
			if (opened != nil) != c.opened {
				t.Fatalf("it is opened: %v", opened != nil)
			}
			if opened == nil {
				return
			}
			if diff := cmp.Diff(c.want, in("spec", "updateStrategy").get(opened)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
