// SPDX-License-Identifier: Apache-2.0

package revision

import (
	"context"
	"slices"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// later are fields that came to Kubernetes after the oldest version that these tests run on: such a server drops them or
// refuses what is left, and the template proves nothing there.
var later = map[string]struct {
	sample variant
	drop   func(*corev1.PodTemplateSpec)
}{
	"amounts of the pod as a whole": {
		sample: variants["pod requests"],
		drop:   func(t *corev1.PodTemplateSpec) { t.Spec.Resources = nil },
	},
	"volumes of images": {
		sample: variants["an image volume"],
		drop: func(t *corev1.PodTemplateSpec) {
			t.Spec.Volumes = slices.DeleteFunc(t.Spec.Volumes, func(v corev1.Volume) bool { return v.Image != nil })
		},
	},
	"variables from files": {
		sample: variants["variables from files"],
		drop: func(t *corev1.PodTemplateSpec) {
			for i := range t.Spec.Containers {
				t.Spec.Containers[i].Env = slices.DeleteFunc(t.Spec.Containers[i].Env, func(e corev1.EnvVar) bool {
					return e.ValueFrom != nil && e.ValueFrom.FileKeyRef != nil
				})
			}
		},
	},
}

// missing are the later fields that this server does not keep.
var missing = sync.OnceValues(func() ([]string, error) {
	var names []string
	for name, field := range later {
		template, err := field.sample.read()
		if err != nil {
			return nil, err
		}
		sent := &corev1.PodTemplate{ObjectMeta: metav1.ObjectMeta{GenerateName: "t-", Namespace: "default"}, Template: *template}
		if err := cluster.Create(context.Background(), sent); err != nil && !apierrors.IsInvalid(err) {
			return nil, err
		} else if err != nil || !has(&sent.Template, field.drop) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, nil
})

func has(template *corev1.PodTemplateSpec, drop func(*corev1.PodTemplateSpec)) bool {
	without := template.DeepCopy()
	drop(without)
	return !equality.Semantic.DeepEqual(template, without)
}

func missingHere(t fataler) []string {
	t.Helper()
	names, err := missing()
	if err != nil {
		t.Fatalf("asking the server which fields it keeps: %v", err)
	}
	return names
}

// onlyWhereKept skips the test when the template has a field that this server does not have.
func onlyWhereKept(t *testing.T, template *corev1.PodTemplateSpec) {
	t.Helper()
	for _, name := range missingHere(t) {
		if has(template, later[name].drop) {
			t.Skipf("this version of Kubernetes has no %s yet", name)
		}
	}
}

// keep takes from the template what this server does not have.
func keep(t fataler, template *corev1.PodTemplateSpec) {
	t.Helper()
	for _, name := range missingHere(t) {
		later[name].drop(template)
	}
}
