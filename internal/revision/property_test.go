// SPDX-License-Identifier: Apache-2.0

package revision

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/json"
	"pgregory.net/rapid"
)

func TestDefaultsChangeNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		plain := FromTemplate(templates().Draw(t, "template"))
		defaulted := FromTemplate(plain.Template)
		if diff := cmp.Diff(plain.Canonical, defaulted.Canonical); diff != "" {
			t.Fatalf("filling in the defaults made another revision (-plain +defaulted):\n%s", diff)
		}
		if !Equal(plain, plain) || !Equal(plain, defaulted) || !Equal(defaulted, plain) {
			t.Fatalf("equality is not reflexive and symmetric")
		}
	})
}

// TestAnySubsetOfDefaultsChangesNothing: a user, a client or an older webhook fills in some of them.
func TestAnySubsetOfDefaultsChangesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		plain := FromTemplate(templates().Draw(t, "template"))
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "subset"), 0))
		mixed := mix(toTree(t, plain.Written), toTree(t, plain.Template), "", random)
		template := &corev1.PodTemplateSpec{}
		fromTree(t, mixed, template)
		if diff := cmp.Diff(plain.Canonical, FromTemplate(template).Canonical); diff != "" {
			t.Fatalf("filling in some defaults made another revision (-plain +mixed):\n%s", diff)
		}
	})
}

// mix adds a random part of what the defaulted tree has more. Amounts for the pod as a whole depend on each other
// and are taken together.
func mix(plain, defaulted any, path string, random *rand.Rand) any {
	switch plain := plain.(type) {
	case map[string]any:
		full, _ := defaulted.(map[string]any)
		for key, value := range full {
			had, present := plain[key]
			switch {
			case path+"/"+key == "/spec/resources":
				if random.IntN(2) == 0 {
					plain[key] = value
				}
			case present:
				plain[key] = mix(had, value, path+"/"+key, random)
			case random.IntN(2) == 0:
				plain[key] = value
			}
		}
	case []any:
		full, _ := defaulted.([]any)
		for i := range min(len(plain), len(full)) {
			plain[i] = mix(plain[i], full[i], path+"/", random)
		}
	}
	return plain
}

func TestEverySingleChangeIsAChange(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		before := FromTemplate(templates().Draw(t, "template"))
		changed := before.Template.DeepCopy()
		all := slices.DeleteFunc(leaves(reflect.ValueOf(changed).Elem(), ""), func(l leaf) bool {
			// The deprecated name loses against the new one, which a normalised template always has.
			return l.path == ".Spec.DeprecatedServiceAccount"
		})
		chosen := all[rapid.IntRange(0, len(all)-1).Draw(t, "leaf")]
		chosen.change()
		if after := FromTemplate(changed); Equal(before, after) {
			t.Fatalf("a change of %s makes no new revision:\n%s", chosen.path, after.Canonical)
		}
	})
}

func TestStoredTemplateEqualsTheLiveOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		template := templates().Draw(t, "template")
		untouched := template.DeepCopy()
		data, err := Data(template)
		if err != nil {
			t.Fatal(err)
		}
		stored := Decode(&appsv1.ControllerRevision{Data: runtime.RawExtension{Raw: data}})
		if stored.Err != nil {
			t.Fatal(stored.Err)
		}
		if diff := cmp.Diff(FromTemplate(template).Canonical, stored.Canonical); diff != "" {
			t.Fatalf("a stored revision differs from its template (-template +stored):\n%s", diff)
		}
		if !reflect.DeepEqual(untouched, template) {
			t.Fatalf("reading a template has changed it")
		}
		if strings.Contains(string(data), "null") {
			t.Fatalf("our data contain a null: %s", data)
		}
		again, err := Data(stored.Written)
		if err != nil || string(again) != string(data) {
			t.Fatalf("data are not stable (%v):\n%s\n%s", err, data, again)
		}
	})
}

func toTree(t *rapid.T, value any) map[string]any {
	tree, err := treeOf(value)
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

func fromTree(t *rapid.T, tree, into any) {
	raw, err := json.Marshal(tree)
	if err == nil {
		err = json.Unmarshal(raw, into)
	}
	if err != nil {
		t.Fatal(err)
	}
}
