// SPDX-License-Identifier: Apache-2.0

package claim_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"slipway.dev/slipway/internal/claim"
)

// FuzzTemplates: each name has one template, which gives one volume and a claim that is what the template asks for; volumes
// of the pod template with other names stay, and nothing that is made shares memory with a template.
func FuzzTemplates(f *testing.F) {
	f.Fuzz(func(t *testing.T, list, spec string) {
		var all []corev1.PersistentVolumeClaim
		pod := &corev1.PodSpec{}
		if json.Unmarshal([]byte(list), &all) != nil || json.Unmarshal([]byte(spec), pod) != nil {
			return
		}
		first := map[string]*corev1.PersistentVolumeClaim{}
		for i := range all {
			if first[all[i].Name] == nil {
				first[all[i].Name] = &all[i]
			}
		}
		templates := claim.Templates(all)
		if len(templates) != len(first) {
			t.Fatalf("%d templates for %d names", len(templates), len(first))
		}
		for _, template := range templates {
			if first[template.Name] != template {
				t.Errorf("template %s is not the first of its name", template.Name)
			}
			makesItsClaim(t, template)
		}
		checkVolumes(t, templates, pod, func(name string) bool { return first[name] != nil })
	})
}

func makesItsClaim(t *testing.T, template *corev1.PersistentVolumeClaim) {
	untouched := template.DeepCopy()
	own := metav1.ObjectMeta{Name: claim.Name(template.Name, "web-0"), Labels: map[string]string{"app": "web"}}
	made := claim.New(template, own)
	if made.Name != own.Name || made.Labels["app"] != "web" {
		t.Errorf("the claim of %s has %+v", template.Name, made.ObjectMeta)
	}
	if !claim.Compatible(made, template) {
		t.Errorf("a claim just made differs from its template in %q, or is too small", claim.Differs(made, template))
	}
	made.Labels["new"] = "x"
	if len(made.Annotations) > 0 {
		made.Annotations["new"] = "x"
	}
	for name := range made.Spec.Resources.Requests {
		delete(made.Spec.Resources.Requests, name)
	}
	for i := range made.Spec.AccessModes {
		made.Spec.AccessModes[i] = "changed"
	}
	if diff := cmp.Diff(untouched, template); diff != "" {
		t.Errorf("a change of the claim changed its template (-before +after):\n%s", diff)
	}
}

func checkVolumes(t *testing.T, templates []*corev1.PersistentVolumeClaim, pod *corev1.PodSpec, templated func(name string) bool) {
	named := func(template string) string { return claim.Name(template, "web-0") }
	volumes := claim.Volumes(templates, named, pod.Volumes)
	var kept []corev1.Volume
	for i := range volumes {
		if i < len(templates) {
			if volumes[i].Name != templates[i].Name || !claim.IsOwn(&volumes[i], "web-0") {
				t.Errorf("volume %d is %+v, want the claim of %s", i, volumes[i], templates[i].Name)
			}
			continue
		}
		kept = append(kept, volumes[i])
	}
	var want []corev1.Volume
	for _, v := range pod.Volumes {
		if !templated(v.Name) {
			want = append(want, v)
		}
	}
	if diff := cmp.Diff(want, kept); diff != "" {
		t.Errorf("the other volumes (-want +got):\n%s", diff)
	}
	// Names that one of the containers mounts and no volume has, by looking at every mount.
	missing := false
	for _, c := range append(append([]corev1.Container{}, pod.InitContainers...), pod.Containers...) {
		mounted := map[string]bool{}
		for _, m := range c.VolumeMounts {
			mounted[m.Name] = true
		}
		for _, d := range c.VolumeDevices {
			mounted[d.Name] = true
		}
		for _, v := range volumes {
			delete(mounted, v.Name)
		}
		missing = missing || len(mounted) > 0
		if _, volume := claim.Lacking(&corev1.PodSpec{Containers: []corev1.Container{c}}, volumes); (volume != "") && !mounted[volume] {
			t.Errorf("container %s is said to lack %q", c.Name, volume)
		}
	}
	if container, volume := claim.Lacking(pod, volumes); (container+volume != "") && !missing {
		t.Errorf("%s is said to lack %q, and lacks nothing", container, volume)
	}
}
