// SPDX-License-Identifier: Apache-2.0

package revision

import (
	"bytes"
	stdjson "encoding/json"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/distribution/reference"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation"
)

// choices makes random choices out of the bytes of a fuzzer, and none when they are used up.
type choices struct{ left []byte }

func (c *choices) Uint64() uint64 {
	if len(c.left) == 0 {
		return math.MaxUint64
	}
	// One byte is one choice, so that a changed byte changes one thing. It goes to both ends, of which functions use either.
	n := uint64(c.left[0])
	c.left = c.left[1:]
	return n<<56 | n<<24 | n
}

// templateOf makes a pod template out of bytes, with any field of the pod types.
func templateOf(data []byte) *corev1.PodTemplateSpec {
	template := &corev1.PodTemplateSpec{}
	filler{Rand: rand.New(&choices{left: data}), density: 0.3}.fill(reflect.ValueOf(template).Elem())
	return template
}

// FuzzDecode: what can be read and is written again is the same revision, with its defaults and without.
func FuzzDecode(f *testing.F) {
	f.Fuzz(func(t *testing.T, data []byte) {
		first := Decode(&appsv1.ControllerRevision{Data: runtime.RawExtension{Raw: data}})
		if first.Err != nil {
			return
		}
		again, err := Data(first.Written)
		if err != nil {
			t.Fatal(err)
		}
		known := Decode(&appsv1.ControllerRevision{Data: runtime.RawExtension{Raw: again}})
		if live := FromTemplate(first.Written); !Equal(known, live) {
			t.Fatalf("our data of the template differ from it (%v):\n%s\n%s", known.Err, known.Canonical, live.Canonical)
		}
		if normal := FromTemplate(first.Template); !Equal(known, normal) {
			t.Fatalf("the defaulted template differs from the plain one:\n%s\n%s", known.Canonical, normal.Canonical)
		}
	})
}

// FuzzEqual: two templates are equal exactly when, defaults filled in, they are the same by Kubernetes' own slow comparison
// of values; and that does not change when they are stored.
func FuzzEqual(f *testing.F) {
	f.Fuzz(func(t *testing.T, left, right []byte) {
		a, b := FromTemplate(templateOf(left)), FromTemplate(templateOf(right))
		if a.Err != nil || b.Err != nil {
			t.Fatalf("a template cannot be read: %v, %v", a.Err, b.Err)
		}
		same := equality.Semantic.DeepEqual(a.Template, b.Template)
		if Equal(a, b) != same || Equal(b, a) != same {
			t.Errorf("equal is %v, by values %v:\n%s\n%s", Equal(a, b), same, a.Canonical, b.Canonical)
		}
		for _, r := range []Revision{a, b} {
			data, err := Data(r.Written)
			if err != nil {
				t.Fatal(err)
			}
			if stored := Decode(&appsv1.ControllerRevision{Data: runtime.RawExtension{Raw: data}}); !Equal(stored, r) {
				t.Errorf("stored, it is another revision (%v):\n%s\n%s", stored.Err, stored.Canonical, r.Canonical)
			}
		}
	})
}

// FuzzTakeover: whatever others have stored, the same in another spelling is the same revision; and what a pod is made from
// is the template that they stored.
func FuzzTakeover(f *testing.F) {
	f.Fuzz(func(t *testing.T, template string) {
		tree := map[string]any{}
		if json.Unmarshal([]byte(template), &tree) != nil || tree == nil {
			return
		}
		stored := func(data string) Revision {
			return Decode(&appsv1.ControllerRevision{Data: runtime.RawExtension{Raw: []byte(data)}})
		}
		plain := stored(`{"spec":{"template":` + template + `}}`)
		sorted, err := json.Marshal(map[string]any{"spec": map[string]any{"template": tree}})
		if err != nil {
			t.Fatal(err)
		}
		var spaced bytes.Buffer
		if err := stdjson.Indent(&spaced, sorted, " ", "\t"); err != nil {
			t.Fatal(err)
		}
		tree["$patch"], tree["status"] = "replace", nil
		if metadata, ok := tree["metadata"].(map[string]any); ok {
			if _, has := metadata["creationTimestamp"]; !has {
				metadata["creationTimestamp"] = nil
			}
		}
		directed, err := json.Marshal(map[string]any{
			"kind": "Foreign", "status": map[string]any{"replicas": 1}, "spec": map[string]any{"replicas": 3, "template": tree, "paused": nil},
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, other := range []Revision{stored(string(sorted)), stored(spaced.String()), stored(string(directed))} {
			if (plain.Err == nil) != (other.Err == nil) {
				t.Fatalf("in another spelling: %v, before: %v", other.Err, plain.Err)
			}
			if plain.Err == nil && !Equal(plain, other) {
				t.Errorf("in another spelling it is another revision:\n%s\n%s", plain.Canonical, other.Canonical)
			}
		}
		if plain.Err != nil {
			return
		}
		// Taken over, the template is written by us; what our types know of it must not have changed.
		ours, err := Data(plain.Written)
		if err != nil {
			t.Fatal(err)
		}
		known, _, _ := strings.Cut(plain.Canonical, "\n")
		if again := stored(string(ours)); again.Canonical != known {
			t.Errorf("what we write of it differs:\n%s\n%s", known, again.Canonical)
		}
		if outcome, unchanged := Decide([]Revision{plain}, plain).(Unchanged); !unchanged {
			t.Errorf("taking it over is %T, want Unchanged", outcome)
		}
	})
}

// FuzzRevisionName: a name is one that the API takes, holds its hash, and a label value tells the same hash.
func FuzzRevisionName(f *testing.F) {
	f.Fuzz(func(t *testing.T, owner string, data []byte, collisions int32) {
		if len(validation.IsDNS1123Subdomain(owner)) > 0 {
			return // no object is called that
		}
		name, hash := Name(owner, data, collisions)
		if wrong := validation.IsDNS1123Subdomain(name); len(wrong) > 0 {
			t.Errorf("the revision of %q is called %q: %v", owner, name, wrong)
		}
		label := LabelValue(name)
		if wrong := validation.IsValidLabelValue(label); len(wrong) > 0 {
			t.Errorf("pods of %q carry %q: %v", name, label, wrong)
		}
		if HashOf(name) != hash || HashOf(label) != hash || HashOf(hash) != hash {
			t.Errorf("the hash is %q, by name %q, by label %q", hash, HashOf(name), HashOf(label))
		}
		if again, _ := Name(owner, slices.Clone(data), collisions); again != name {
			t.Errorf("the same data are called %q and %q", name, again)
		}
	})
}

// FuzzPullPolicy: the default follows the tag as the reference implementation of image names reads it.
func FuzzPullPolicy(f *testing.F) {
	f.Fuzz(func(t *testing.T, image string) {
		want := corev1.PullIfNotPresent
		if named, err := reference.ParseNormalizedNamed(image); err == nil {
			tagged, isTagged := reference.TagNameOnly(named).(reference.Tagged)
			if isTagged && tagged.Tag() == "latest" {
				want = corev1.PullAlways
			}
		}
		if got := pullPolicy(image); got != want {
			t.Errorf("%q is pulled %s, want %s", image, got, want)
		}
	})
}

// FuzzClaimHash: the hash is that of what claim templates mean: neither their order, nor defaults, nor the spelling of
// amounts change it, and another size does.
func FuzzClaimHash(f *testing.F) {
	f.Fuzz(func(t *testing.T, list string) {
		var claims []corev1.PersistentVolumeClaim
		if json.Unmarshal([]byte(list), &claims) != nil || len(claims) == 0 {
			return
		}
		hash := func(claims []corev1.PersistentVolumeClaim) string {
			sum, err := ClaimHash(claims)
			if err != nil {
				t.Fatal(err)
			}
			return sum
		}
		before := hash(claims)
		spelled := slices.Clone(claims)
		for i := range spelled {
			spelled[i] = *spelled[i].DeepCopy()
			defaultClaim(&spelled[i].Spec)
			respell(reflect.ValueOf(&spelled[i].Spec).Elem())
		}
		slices.SortStableFunc(spelled, func(a, b corev1.PersistentVolumeClaim) int { return strings.Compare(b.Name, a.Name) })
		if after := hash(spelled); after != before {
			t.Errorf("spelled in another way and order, the hash is %s, was %s: %s", after, before, list)
		}
		larger := slices.Clone(claims)
		larger[0] = *larger[0].DeepCopy()
		amounts := corev1.ResourceList{}
		for name, amount := range larger[0].Spec.Resources.Requests {
			amounts[name] = amount
		}
		storage := amounts[corev1.ResourceStorage]
		storage.Add(resource.MustParse("1"))
		amounts[corev1.ResourceStorage] = storage
		larger[0].Spec.Resources.Requests = amounts
		if hash(larger) == before {
			t.Errorf("another size, and the same hash: %s", list)
		}
	})
}
