// SPDX-License-Identifier: Apache-2.0

package revision

import (
	"fmt"
	"hash/fnv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/utils/ptr"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
)

func web(image string) *corev1.PodTemplateSpec {
	return &corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: image}}},
	}
}

func TestData(t *testing.T) {
	const want = `{"spec":{"template":{"$patch":"replace","metadata":{"labels":{"app":"web"}},` +
		`"spec":{"containers":[{"image":"nginx:1","name":"main","resources":{}}]}}}}`
	got, err := Data(web("nginx:1"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got, err := Data(nil); err != nil || string(got) != `{"spec":{"template":{"$patch":"replace","metadata":{},"spec":{}}}}` {
		t.Errorf("the data of no template are %s, %v", got, err)
	}
}

func TestName(t *testing.T) {
	data := []byte(`{"spec":{}}`)
	tests := map[string]struct {
		owner      string
		wantPrefix string
	}{
		"a short owner name is kept":                     {"web", "web-"},
		"a long one is cut to 223 bytes":                 {strings.Repeat("a", 230), strings.Repeat("a", 223) + "-"},
		"a cut after a dot takes the dot away":           {strings.Repeat("a", 222) + ".b", strings.Repeat("a", 222) + "-"},
		"a cut after a dash keeps it, names may have --": {strings.Repeat("a", 222) + "-b", strings.Repeat("a", 222) + "--"},
	}
	for sentence, test := range tests {
		t.Run(sentence, func(t *testing.T) {
			name, hash := Name(test.owner, data, 3)
			if name != test.wantPrefix+hash {
				t.Errorf("name is %q, want %q and then %q", name, test.wantPrefix, hash)
			}
			if problems := validation.IsDNS1123Subdomain(name); len(problems) > 0 {
				t.Errorf("%q is not a name: %v", name, problems)
			}
			if HashOf(name) != hash {
				t.Errorf("HashOf(%q) = %q, want %q", name, HashOf(name), hash)
			}
		})
	}
}

// TestNameIsThatOfOtherWriters: the same data must get the name that other controllers give it.
func TestNameIsThatOfOtherWriters(t *testing.T) {
	for _, count := range []int32{0, 1, 12} {
		data, err := Data(web("nginx:1"))
		if err != nil {
			t.Fatal(err)
		}
		sum := fnv.New32()
		fmt.Fprintf(sum, "%s%d", data, count)
		want := rand.SafeEncodeString(fmt.Sprint(sum.Sum32()))
		if _, got := Name("web", data, count); got != want {
			t.Errorf("collision count %d: hash is %q, want %q", count, got, want)
		}
	}
	if name, _ := Name("web", []byte(`{}`), 0); name != "web-cccc864bc" {
		t.Errorf("the name of fixed data has changed to %q", name)
	}
}

func TestHashOfAndLabelValue(t *testing.T) {
	tests := map[string]struct{ name, hash, label string }{
		"a full name":                {"my-web-5d8c", "5d8c", "my-web-5d8c"},
		"the short form":             {"5d8c", "5d8c", "5d8c"},
		"nothing":                    {"", "", ""},
		"63 characters still fit":    {strings.Repeat("a", 58) + "-5d8c", "5d8c", strings.Repeat("a", 58) + "-5d8c"},
		"64 characters do not":       {strings.Repeat("a", 59) + "-5d8c", "5d8c", "5d8c"},
		"a name that ends in a dash": {"web-", "", "web-"},
	}
	for sentence, test := range tests {
		t.Run(sentence, func(t *testing.T) {
			if got := HashOf(test.name); got != test.hash {
				t.Errorf("HashOf is %q, want %q", got, test.hash)
			}
			if got := LabelValue(test.name); got != test.label {
				t.Errorf("LabelValue is %q, want %q", got, test.label)
			}
		})
	}
}

func TestDraft(t *testing.T) {
	reference := metav1.OwnerReference{APIVersion: "v1", Kind: "Owner", Name: "web", UID: "1", Controller: ptr.To(true)}
	owner := &metav1.ObjectMeta{Namespace: "shop", Name: "web", Annotations: map[string]string{
		"team": "a", "claims": "old", rolloutv1alpha1.AnnotationHeld: "{}", // a rollout holds the owner, and not the revision
	}}
	template := web("nginx:1")
	got, err := Draft{
		Owner: owner, Reference: reference, Template: template, Number: 4, CollisionCount: 2,
		Annotations: map[string]string{"claims": "77"},
	}.Object()
	if err != nil {
		t.Fatal(err)
	}
	data, err := Data(template)
	if err != nil {
		t.Fatal(err)
	}
	name, hash := Name("web", data, 2)
	want := &appsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: name,
			Labels:          map[string]string{"app": "web", LabelHash: hash},
			Annotations:     map[string]string{"team": "a", "claims": "77"},
			OwnerReferences: []metav1.OwnerReference{reference},
		},
		Data:     runtime.RawExtension{Raw: data},
		Revision: 4,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(template.Labels) != 1 || len(owner.Annotations) != 3 || owner.Annotations["claims"] != "old" {
		t.Errorf("the draft has changed its owner or template")
	}
}

func TestClaimHash(t *testing.T) {
	claim := func(name, size string, change ...func(*corev1.PersistentVolumeClaim)) corev1.PersistentVolumeClaim {
		c := corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: name}}
		c.Spec.Resources.Requests = amounts(corev1.ResourceStorage, size)
		for _, f := range change {
			f(&c)
		}
		return c
	}
	mode := func(mode corev1.PersistentVolumeMode) func(*corev1.PersistentVolumeClaim) {
		return func(c *corev1.PersistentVolumeClaim) { c.Spec.VolumeMode = &mode }
	}
	base := []corev1.PersistentVolumeClaim{claim("data", "1Gi"), claim("logs", "2Gi")}
	want, err := ClaimHash(base)
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		claims []corev1.PersistentVolumeClaim
		same   bool
	}{
		"another order is the same":          {[]corev1.PersistentVolumeClaim{base[1], base[0]}, true},
		"another spelling is the same":       {[]corev1.PersistentVolumeClaim{claim("data", "1024Mi"), base[1]}, true},
		"a default is the same":              {[]corev1.PersistentVolumeClaim{claim("data", "1Gi", mode(corev1.PersistentVolumeFilesystem)), base[1]}, true},
		"a label is the same":                {[]corev1.PersistentVolumeClaim{claim("data", "1Gi", func(c *corev1.PersistentVolumeClaim) { c.Labels = map[string]string{"a": "b"} }), base[1]}, true},
		"another size is another hash":       {[]corev1.PersistentVolumeClaim{claim("data", "3Gi"), base[1]}, false},
		"another mode is another hash":       {[]corev1.PersistentVolumeClaim{claim("data", "1Gi", mode(corev1.PersistentVolumeBlock)), base[1]}, false},
		"another name is another hash":       {[]corev1.PersistentVolumeClaim{claim("date", "1Gi"), base[1]}, false},
		"one template less is another hash":  {base[:1], false},
		"swapped specs are another hash":     {[]corev1.PersistentVolumeClaim{claim("data", "2Gi"), claim("logs", "1Gi")}, false},
		"no templates are the empty string":  {nil, false},
		"an empty list is the empty string ": {[]corev1.PersistentVolumeClaim{}, false},
	}
	for sentence, test := range tests {
		t.Run(sentence, func(t *testing.T) {
			got, err := ClaimHash(test.claims)
			if err != nil {
				t.Fatal(err)
			}
			if (got == want) != test.same {
				t.Errorf("hash %q against %q, want same: %v", got, want, test.same)
			}
			if (got == "") != (len(test.claims) == 0) || strings.Trim(got, "0123456789") != "" {
				t.Errorf("hash %q is not decimal, or empty for claims", got)
			}
		})
	}
}

func amounts(name corev1.ResourceName, amount string) corev1.ResourceList {
	return corev1.ResourceList{name: quantity(amount)}
}
