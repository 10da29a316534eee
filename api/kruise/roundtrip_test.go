// SPDX-License-Identifier: Apache-2.0

package kruise_test

import (
	"fmt"
	"maps"
	"math/rand"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	publishedv1alpha1 "github.com/openkruise/kruise-api/apps/v1alpha1"
	publishedv1beta1 "github.com/openkruise/kruise-api/apps/v1beta1"
	"k8s.io/apimachinery/pkg/api/apitesting/fuzzer"
	metafuzzer "k8s.io/apimachinery/pkg/apis/meta/fuzzer"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/randfill"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	kruisev1beta1 "slipway.dev/slipway/api/kruise/v1beta1"
)

// kinds are compared with github.com/openkruise/kruise-api v1.8.0.
var kinds = map[string]struct {
	ours, theirs func() any
	// onlyOurs lists the fields that our types have and theirs have not, each with its reason. The test fails for a field
	// that is missing here, and for an entry that is not needed.
	onlyOurs map[string]string
}{
	"CloneSet": {
		func() any { return &kruisev1alpha1.CloneSet{} }, func() any { return &publishedv1alpha1.CloneSet{} },
		map[string]string{
			"spec.progressDeadlineSeconds":           "newer publishers of the same version have it",
			"status.conditions[].lastUpdateTime":     "newer publishers have it; the progress deadline counts from it",
			"status.conditions[].observedGeneration": "ours alone: tells whether a condition speaks of the spec that stands now",
		}},
	"StatefulSet": {
		func() any { return &kruisev1beta1.StatefulSet{} }, func() any { return &publishedv1beta1.StatefulSet{} },
		nil},
}

// seeds is how many objects each direction tries. With every pointer set, one object has nearly all fields; many are needed
// because a bool that happens to be false is not written.
const seeds = 20

func TestEveryFieldSurvivesTheWayThroughThePublishedTypes(t *testing.T) {
	for name, kind := range kinds {
		t.Run(name, func(t *testing.T) {
			lost := map[string]string{}
			for seed := range int64(seeds) {
				ours := kind.ours()
				filler(seed).Fill(ours)
				before, after := through(t, ours, kind.theirs(), kind.ours())
				differences(lost, "", before, after)
				if gained := map[string]string{}; differences(gained, "", after, before) {
					if unnamed := without(gained, lost); len(unnamed) > 0 {
						t.Fatalf("seed %d: fields appeared from nowhere: %v", seed, unnamed)
					}
				}
			}
			want, got := slices.Sorted(maps.Keys(kind.onlyOurs)), slices.Sorted(maps.Keys(lost))
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("fields that the published types lose (-named in onlyOurs +seen):\n%s\n%v", diff, lost)
			}
		})
	}
}

func TestEveryPublishedFieldSurvivesTheWayThroughOurTypes(t *testing.T) {
	for name, kind := range kinds {
		t.Run(name, func(t *testing.T) {
			for seed := range int64(seeds) {
				theirs := kind.theirs()
				filler(seed).Fill(theirs)
				before, after := through(t, theirs, kind.ours(), kind.theirs())
				if lost := map[string]string{}; differences(lost, "", before, after) {
					t.Fatalf("seed %d: our types lose or change fields: %v", seed, lost)
				}
				if gained := map[string]string{}; differences(gained, "", after, before) {
					t.Fatalf("seed %d: fields appeared from nowhere: %v", seed, gained)
				}
			}
		})
	}
}

// TestOurTypesWriteNothingThatThePublishedOnesDoNot looks at the JSON of the middle of the way, too: an empty object of ours
// must look to the API server like an empty object of theirs.
func TestOurTypesWriteNothingThatThePublishedOnesDoNot(t *testing.T) {
	for name, kind := range kinds {
		ours, theirs := encode(t, kind.ours()), encode(t, kind.theirs())
		if diff := cmp.Diff(decode(t, theirs), decode(t, ours)); diff != "" {
			t.Errorf("an empty %s is written differently (-published +ours):\n%s", name, diff)
		}
	}
}

// TestComparisonSeesEveryKindOfDifference guards the tests above against a comparison that is blind.
func TestComparisonSeesEveryKindOfDifference(t *testing.T) {
	before := map[string]any{"same": int64(1), "gone": "x", "null": nil, "list": []any{map[string]any{"kept": "a", "gone": "b"}},
		"short": []any{"a", "b"}, "changed": true, "deep": map[string]any{"gone": map[string]any{}}}
	after := map[string]any{"same": int64(1), "list": []any{map[string]any{"kept": "a"}}, "short": []any{"a"}, "changed": false,
		"deep": map[string]any{}}
	found := map[string]string{}
	if !differences(found, "", before, after) {
		t.Error("says that there are none")
	}
	want := []string{"changed", "deep.gone", "gone", "list[].gone", "short"}
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(found))); diff != "" {
		t.Errorf("paths (-want +got):\n%s", diff)
	}
	if found := map[string]string{}; differences(found, "", before, before) {
		t.Errorf("sees differences of an object to itself: %v", found)
	}
}

// filler makes objects in which every pointer, list and map has something in it.
func filler(seed int64) *randfill.Filler {
	own := func(serializer.CodecFactory) []any {
		return []any{
			func(value *intstr.IntOrString, c randfill.Continue) {
				if *value = intstr.FromInt32(c.Int31()); c.Bool() {
					*value = intstr.FromString(fmt.Sprintf("%d%%", c.Intn(101)))
				}
			},
		}
	}
	codecs := serializer.NewCodecFactory(runtime.NewScheme())
	return fuzzer.FuzzerFor(fuzzer.MergeFuzzerFuncs(metafuzzer.Funcs, own), rand.NewSource(seed), codecs).
		NilChance(0).NumElements(1, 3)
}

// through sends an object as JSON into the middle type and back, and returns its JSON before and after.
func through(t *testing.T, from, middle, back any) (before, after map[string]any) {
	t.Helper()
	first := encode(t, from)
	into(t, first, middle)
	into(t, encode(t, middle), back)
	return decode(t, first), decode(t, encode(t, back))
}

func encode(t *testing.T, object any) []byte {
	t.Helper()
	text, err := json.Marshal(object)
	if err != nil {
		t.Fatalf("encoding %T: %v", object, err)
	}
	return text
}

func into(t *testing.T, text []byte, object any) {
	t.Helper()
	if err := json.Unmarshal(text, object); err != nil {
		t.Fatalf("decoding into %T: %v", object, err)
	}
}

func decode(t *testing.T, text []byte) map[string]any {
	t.Helper()
	var object map[string]any
	into(t, text, &object)
	return object
}

// differences notes by path what before has and after has not, or has otherwise, and tells whether there is any. A null is
// as good as nothing, because the API server drops it.
func differences(found map[string]string, path string, before, after any) bool {
	switch before := before.(type) {
	case nil:
		return false
	case map[string]any:
		after, ok := after.(map[string]any)
		if !ok {
			break
		}
		differ := false
		for key, value := range before {
			inner := key
			if path != "" {
				inner = path + "." + key
			}
			differ = differences(found, inner, value, after[key]) || differ
		}
		return differ
	case []any:
		after, ok := after.([]any)
		if !ok || len(after) != len(before) {
			break
		}
		differ := false
		for i := range before {
			differ = differences(found, path+"[]", before[i], after[i]) || differ
		}
		return differ
	default:
		if cmp.Equal(before, after) {
			return false
		}
	}
	found[path] = fmt.Sprintf("%v became %v", before, after)
	return true
}

func without(from, named map[string]string) map[string]string {
	left := maps.Clone(from)
	maps.DeleteFunc(left, func(path, _ string) bool { _, ok := named[path]; return ok })
	return left
}
