// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"encoding/json"
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
)

// Release is what varies between the templates of a simulated set. Two templates are the same exactly when their releases are.
type Release struct {
	App     string // tag of the main container's image
	Sidecar string // tag of the second container's image; empty for no second container
	Env     string // value of an environment variable: a change needs new pods
	Label   string // value of a template label: a change reaches living pods
	Held    string // handlers of hooks among the template's labels, by the letters of heldBy
}

// String is short enough for a transcript line.
func (r Release) String() string {
	parts := []string{r.App}
	for _, p := range []struct{ name, value string }{{"sidecar", r.Sidecar}, {"env", r.Env}, {"label", r.Label}, {"held", r.Held}} {
		if p.value != "" {
			parts = append(parts, p.name+"="+p.value)
		}
	}
	return strings.Join(parts, " ")
}

// Healthy tells whether pods of this release become ready.
func (r Release) Healthy() bool {
	for _, tag := range []string{r.App, r.Sidecar} {
		for _, bad := range []string{"broken", "crash", "missing"} {
			if strings.HasSuffix(tag, bad) {
				return false
			}
		}
	}
	return true
}

const (
	namespace  = "default"
	setName    = "web"
	imageApp   = "registry.local:5000/app"
	imageSide  = "registry.local:5000/sidecar"
	labelApp   = "app"
	labelTrack = "track"
	envName    = "MODE"
)

// Template renders the release.
func (r Release) Template() corev1.PodTemplateSpec {
	t := corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{labelApp: setName}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: imageApp + ":" + r.App}}},
	}
	if r.Label != "" {
		t.Labels[labelTrack] = r.Label
	}
	for _, h := range heldBy {
		if strings.Contains(r.Held, h.letter) {
			t.Labels[h.handler] = handlerValue
		}
	}
	if r.Env != "" {
		t.Spec.Containers[0].Env = []corev1.EnvVar{{Name: envName, Value: r.Env}}
	}
	if r.Sidecar != "" {
		t.Spec.Containers = append(t.Spec.Containers, corev1.Container{Name: "sidecar", Image: imageSide + ":" + r.Sidecar})
	}
	return t
}

// releaseOf reads a release back from labels and containers of a template.
func releaseOf(labels map[string]string, spec *corev1.PodSpec) Release {
	r := Release{Label: labels[labelTrack]}
	for _, h := range heldBy {
		if labels[h.handler] == handlerValue {
			r.Held += h.letter
		}
	}
	for i := range spec.Containers {
		_, tag, _ := strings.Cut(spec.Containers[i].Image, "0/") // after the registry's port
		_, tag, _ = strings.Cut(tag, ":")
		if spec.Containers[i].Name == "sidecar" {
			r.Sidecar = tag
			continue
		}
		r.App = tag
		for _, e := range spec.Containers[i].Env {
			if e.Name == envName {
				r.Env = e.Value
			}
		}
	}
	return r
}

func wanted(set *kruisev1alpha1.CloneSet) Release {
	return releaseOf(set.Spec.Template.Labels, &set.Spec.Template.Spec)
}

// running is what a living pod runs.
func running(pod *corev1.Pod) Release { return releaseOf(pod.Labels, &pod.Spec).visible() }

// visible is the part of a release that a pod keeps: handlers come and go while it lives.
func (r Release) visible() Release {
	r.Held = ""
	return r
}

// recorded reads the release out of a stored revision.
func recorded(revision *appsv1.ControllerRevision) (Release, error) {
	var data struct {
		Spec struct {
			Template corev1.PodTemplateSpec `json:"template"`
		} `json:"spec"`
	}
	if err := json.Unmarshal(revision.Data.Raw, &data); err != nil {
		return Release{}, fmt.Errorf("decoding revision %s: %w", revision.Name, err)
	}
	return releaseOf(data.Spec.Template.Labels, &data.Spec.Template.Spec), nil
}
