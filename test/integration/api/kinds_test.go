// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// What holds for every kind that has pods. Each has five replicas and selects app=web.
var (
	sounds = map[string]string{"CloneSet": soundCloneSet, "StatefulSet": soundStatefulSet,
		"InPlaceSet": soundInPlaceSet, "CafeDeployment": soundCafeDeployment}
	reported = map[string]string{"CloneSet": reportedCloneSet, "StatefulSet": reportedStatefulSet,
		"InPlaceSet": reportedInPlaceSet, "CafeDeployment": reportedCafeDeployment}
	older = map[string]map[string]olderMistake{"CloneSet": olderCloneSets, "StatefulSet": olderStatefulSets,
		"InPlaceSet": olderInPlaceSets, "CafeDeployment": olderCafeDeployments}
	// claiming are changes that let a kind have claim templates; a kind that is not in it has none.
	claiming = map[string][]spoil{"CloneSet": {}, "StatefulSet": {}, "CafeDeployment": {{"spec.podSetType", "AdvancedStatefulSet"}}}
)

// olderMistake is one that came into a cluster before its rule did. The object must stay usable: what is wrong stays, until
// somebody touches it.
type olderMistake struct {
	spoil spoil
	// again is another wrong value; it is a new mistake, and refused.
	again spoil
	field string
}

func TestOlderMistakesDoNotStopOtherChanges(t *testing.T) {
	for kind, sound := range sounds {
		mistakes := older[kind]
		t.Run(kind, func(t *testing.T) {
			namespace := newNamespace(t)
			for i, sentence := range slices.Sorted(maps.Keys(mistakes)) {
				test := mistakes[sentence]
				t.Run(sentence, func(t *testing.T) {
					set := named(t, sound, namespace, "older-"+string(rune('a'+i)))
					storeSpoiled(t, set, test.spoil)

					set.SetAnnotations(map[string]string{"note": "changed"})
					spoil{"spec.replicas", int64(6)}.apply(t, set)
					spoil{"spec.template.metadata.annotations", object{"version": "2"}}.apply(t, set)
					if err := untyped.Update(t.Context(), set); err != nil {
						t.Fatalf("changing something else: %v", err)
					}
					if got := at(t, set, "spec", "replicas"); got != int64(6) {
						t.Errorf("replicas %v, want 6", got)
					}

					test.again.apply(t, set)
					err := untyped.Update(t.Context(), set)
					if !apierrors.IsInvalid(err) {
						t.Fatalf("making a new mistake: got error %v, want the status Invalid", err)
					}
					checkCauses(t, err, test.field, "")
				})
			}
		})
	}
}

// storeSpoiled creates the object without, and then stores it with the mistake, and reads it.
func storeSpoiled(t *testing.T, set *unstructured.Unstructured, mistake spoil) {
	t.Helper()
	if err := untyped.Create(t.Context(), set); err != nil {
		t.Fatalf("creating: %v", err)
	}
	rewrite(t, set, func(stored *unstructured.Unstructured) { mistake.apply(t, stored) })
	if err := untyped.Get(t.Context(), client.ObjectKeyFromObject(set), set); err != nil {
		t.Fatalf("reading: %v", err)
	}
}

// TestTemplatesComeBackAsTheyWereSent: a template must reach the revision without additions, so that the revision does not
// depend on the server's version, and without losses, so that a pod gets fields that are younger than this project.
func TestTemplatesComeBackAsTheyWereSent(t *testing.T) {
	for kind, sound := range sounds {
		t.Run(kind, func(t *testing.T) {
			set := manifest(t, sound)
			template := object{
				"metadata":      object{"labels": object{"app": "web"}, "creationTimestamp": nil, "fromTheFuture": object{"a": nil}},
				"fromTheFuture": "kept",
				"spec": object{
					"fromTheFuture": list{int64(1), "two", nil},
					"containers": list{
						object{"name": "web", "image": "web:1", "resources": object{}, "fromTheFuture": true,
							"ports": list{object{"containerPort": int64(80)}}, "env": list{object{"name": "A", "value": "b"}, object{"name": "A", "value": "c"}}},
					},
				},
			}
			claims := list{object{"metadata": object{"name": "data", "creationTimestamp": nil}, "status": object{},
				"spec": object{"fromTheFuture": int64(1), "resources": object{"requests": object{"storage": "1Gi"}}}}}
			spoil{"spec.template", template}.apply(t, set)
			wantTemplate, wantClaims := runtime.DeepCopyJSONValue(template), any(nil)
			if changes, has := claiming[kind]; has {
				for _, s := range append(changes, spoil{"spec.volumeClaimTemplates", claims}) {
					s.apply(t, set)
				}
				wantClaims = runtime.DeepCopyJSONValue(claims)
			}
			if err := untyped.Create(t.Context(), set); err != nil {
				t.Fatalf("creating: %v", err)
			}
			if err := untyped.Get(t.Context(), client.ObjectKeyFromObject(set), set); err != nil {
				t.Fatalf("reading: %v", err)
			}
			if diff := cmp.Diff(wantTemplate, at(t, set, "spec", "template")); diff != "" {
				t.Errorf("template (-sent +read):\n%s", diff)
			}
			if diff := cmp.Diff(wantClaims, at(t, set, "spec", "volumeClaimTemplates")); diff != "" {
				t.Errorf("claim templates (-sent +read):\n%s", diff)
			}
		})
	}
}

// TestServerSideApplyTreatsTheTemplateAsOneManagersList: without a schema for containers their list belongs to one manager as
// a whole, and clients rely on that.
func TestServerSideApplyTreatsTheTemplateAsOneManagersList(t *testing.T) {
	for kind, sound := range sounds {
		t.Run(kind, func(t *testing.T) {
			set := named(t, sound, newNamespace(t), "applied")
			apply := func(owner, image string) error {
				next := set.DeepCopy()
				containers := list{object{"name": "web", "image": image, "env": list{object{"name": "A", "value": image}}}}
				spoil{"spec.template.spec.containers", containers}.apply(t, next)
				return untyped.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(next), client.FieldOwner(owner))
			}
			for _, image := range []string{"web:1", "web:2", "web:2"} {
				if err := apply("first", image); err != nil {
					t.Fatalf("applying image %s: %v", image, err)
				}
			}
			checkCauses(t, apply("second", "web:3"), ".spec.template.spec.containers", "conflict with \"first\"")

			read := set.DeepCopy()
			if err := untyped.Get(t.Context(), client.ObjectKeyFromObject(set), read); err != nil {
				t.Fatalf("reading: %v", err)
			}
			want := list{object{"name": "web", "image": "web:2", "env": list{object{"name": "A", "value": "web:2"}}}}
			if diff := cmp.Diff(want, at(t, read, "spec", "template", "spec", "containers")); diff != "" {
				t.Errorf("containers (-want +got):\n%s", diff)
			}
			if read.GetGeneration() != 2 {
				t.Errorf("generation %d, want 2: the same apply twice must change nothing", read.GetGeneration())
			}
		})
	}
}

func TestAutoscalersCanScale(t *testing.T) {
	for kind, sound := range sounds {
		t.Run(kind, func(t *testing.T) {
			set := named(t, sound, newNamespace(t), "scaled")
			if err := untyped.Create(t.Context(), set); err != nil {
				t.Fatalf("creating: %v", err)
			}
			if err := untyped.Status().Patch(t.Context(), set, client.RawPatch(types.MergePatchType, []byte(reported[kind]))); err != nil {
				t.Fatalf("reporting the status: %v", err)
			}
			scale := manifest(t, "{apiVersion: autoscaling/v1, kind: Scale}")
			if err := untyped.SubResource("scale").Get(t.Context(), set, scale); err != nil {
				t.Fatalf("reading the scale: %v", err)
			}
			want := object{"spec": object{"replicas": int64(5)}, "status": object{"replicas": int64(6), "selector": "app=web"}}
			if diff := cmp.Diff(want, object{"spec": scale.Object["spec"], "status": scale.Object["status"]}); diff != "" {
				t.Errorf("scale (-want +got):\n%s", diff)
			}

			spoil{"spec.replicas", int64(8)}.apply(t, scale)
			if err := untyped.SubResource("scale").Update(t.Context(), set, client.WithSubResourceBody(scale)); err != nil {
				t.Fatalf("scaling: %v", err)
			}
			if err := untyped.Get(t.Context(), client.ObjectKeyFromObject(set), set); err != nil {
				t.Fatalf("reading: %v", err)
			}
			if got := at(t, set, "spec", "replicas"); got != int64(8) || set.GetGeneration() != 2 {
				t.Errorf("replicas %v in generation %d, want 8 in generation 2", got, set.GetGeneration())
			}
		})
	}
}
