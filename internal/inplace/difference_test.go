// SPDX-License-Identifier: Apache-2.0

package inplace_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"slipway.dev/slipway/internal/inplace"
	"slipway.dev/slipway/internal/revision"
)

func template(change func(*corev1.PodTemplateSpec)) *corev1.PodTemplateSpec {
	t := &corev1.PodTemplateSpec{}
	t.Labels = map[string]string{"app": "web", "tier": "front"}
	t.Annotations = map[string]string{"team": "a"}
	t.Spec.InitContainers = []corev1.Container{{Name: "prepare", Image: "prepare:v1"}}
	t.Spec.Containers = []corev1.Container{
		{Name: "app", Image: "app:v1", Env: []corev1.EnvVar{{Name: "TIER", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.labels['tier']"}}}}},
		{Name: "log", Image: "log:v1"},
	}
	if change != nil {
		change(t)
	}
	return revision.FromTemplate(t).Template
}

func text(s string) *string { return &s }

func TestCompareTellsWhatReachesALivingPod(t *testing.T) {
	for sentence, c := range map[string]struct {
		change func(*corev1.PodTemplateSpec)
		want   inplace.Difference
	}{
		"nothing changed": {change: func(*corev1.PodTemplateSpec) {}},
		"an image": {
			change: func(t *corev1.PodTemplateSpec) { t.Spec.Containers[1].Image = "log:v2" },
			want:   inplace.Difference{Images: map[string]string{"log": "log:v2"}},
		},
		"an image whose new tag changes the default of the pull policy": {
			change: func(t *corev1.PodTemplateSpec) { t.Spec.Containers[1].Image = "log" },
			want:   inplace.Difference{Images: map[string]string{"log": "log"}},
		},
		"a pull policy that a person set is refused": {
			change: func(t *corev1.PodTemplateSpec) { t.Spec.Containers[1].ImagePullPolicy = corev1.PullNever },
			want:   inplace.Difference{Refusals: []string{"spec.containers[log].imagePullPolicy"}},
		},
		"a label added, an annotation changed and another removed": {
			change: func(t *corev1.PodTemplateSpec) {
				t.Labels["new"] = "1"
				t.Annotations = map[string]string{"owner": "b"}
			},
			want: inplace.Difference{Labels: map[string]*string{"new": text("1")}, Annotations: map[string]*string{"owner": text("b"), "team": nil}},
		},
		"finalizers added": {
			change: func(t *corev1.PodTemplateSpec) { t.Finalizers = []string{"example.com/a"} },
			want:   inplace.Difference{AddFinalizers: []string{"example.com/a"}},
		},
		"a label that a container reads into its environment is for the pod to judge": {
			change: func(t *corev1.PodTemplateSpec) { t.Labels["tier"] = "back" },
			want:   inplace.Difference{Labels: map[string]*string{"tier": text("back")}},
		},
		"the same label, when the container restarts anyway": {
			change: func(t *corev1.PodTemplateSpec) { t.Labels["tier"] = "back"; t.Spec.Containers[0].Image = "app:v2" },
			want:   inplace.Difference{Labels: map[string]*string{"tier": text("back")}, Images: map[string]string{"app": "app:v2"}},
		},
		"the same label removed: the container keeps what it had": {
			change: func(t *corev1.PodTemplateSpec) { delete(t.Labels, "tier") },
			want:   inplace.Difference{Labels: map[string]*string{"tier": nil}},
		},
		"an env value and a command are refused by name": {
			change: func(t *corev1.PodTemplateSpec) {
				t.Spec.Containers[0].Env = append(t.Spec.Containers[0].Env, corev1.EnvVar{Name: "A", Value: "1"})
				t.Spec.Containers[1].Command = []string{"sh"}
			},
			want: inplace.Difference{Refusals: []string{"spec.containers[app].env", "spec.containers[log].command"}},
		},
		"an init container's image is refused": {
			change: func(t *corev1.PodTemplateSpec) { t.Spec.InitContainers[0].Image = "prepare:v2" },
			want:   inplace.Difference{Refusals: []string{"spec.initContainers[prepare].image"}},
		},
		"a container added is refused, whatever else changed": {
			change: func(t *corev1.PodTemplateSpec) {
				t.Spec.Containers[0].Image = "app:v2"
				t.Spec.Containers = append(t.Spec.Containers, corev1.Container{Name: "more", Image: "more:v1"})
			},
			want: inplace.Difference{Refusals: []string{"spec.containers"}},
		},
		"containers in another order are refused": {
			change: func(t *corev1.PodTemplateSpec) {
				c := t.Spec.Containers
				c[0], c[1] = c[1], c[0]
			},
			want: inplace.Difference{Refusals: []string{"spec.containers"}},
		},
		"a field of the pod is refused": {
			change: func(t *corev1.PodTemplateSpec) { t.Spec.NodeSelector = map[string]string{"disk": "ssd"} },
			want:   inplace.Difference{Refusals: []string{"spec.nodeSelector"}},
		},
		"a field with its default value spelled out is no change": {
			change: func(t *corev1.PodTemplateSpec) { t.Spec.RestartPolicy = corev1.RestartPolicyAlways },
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			got := inplace.Compare(template(nil), template(c.change))
			if diff := cmp.Diff(c.want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("difference (-want +got):\n%s", diff)
			}
			if got.Possible() != (len(c.want.Refusals) == 0) {
				t.Errorf("Possible() = %v with refusals %q", got.Possible(), got.Refusals)
			}
		})
	}
}

// What an unfinished update has not brought yet, and what the next one changes, must add up to the way
// from where the pod stands to where the second one leads.
func TestDifferencesAddUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func(name string) *corev1.PodTemplateSpec {
			return template(func(s *corev1.PodTemplateSpec) {
				s.Spec.Containers[0].Image = rapid.SampledFrom([]string{"app:v1", "app:v2", "app:v3"}).Draw(t, name+" app")
				s.Spec.Containers[1].Image = rapid.SampledFrom([]string{"log:v1", "log:v2"}).Draw(t, name+" log")
				if rapid.Bool().Draw(t, name+" label") {
					s.Labels["x"] = rapid.SampledFrom([]string{"1", "2"}).Draw(t, name+" x")
				}
			})
		}
		a, b, c := draw("a"), draw("b"), draw("c")
		sum := inplace.Compare(b, c).Onto(inplace.Compare(a, b))
		for name, image := range map[string]string{"app": c.Spec.Containers[0].Image, "log": c.Spec.Containers[1].Image} {
			at := map[string]string{"app": a.Spec.Containers[0].Image, "log": a.Spec.Containers[1].Image}[name]
			if changed, ok := sum.Images[name]; ok {
				at = changed
			}
			if at != image {
				t.Fatalf("container %s ends at %s, want %s", name, at, image)
			}
		}
		label, has := a.Labels["x"]
		if changed, ok := sum.Labels["x"]; ok {
			label, has = "", changed != nil
			if has {
				label = *changed
			}
		}
		if want, wanted := c.Labels["x"]; label != want || has != wanted {
			t.Fatalf("label x ends at %q (%v), want %q (%v)", label, has, want, wanted)
		}
	})
}
