// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
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
	Reads   bool   // the main container reads that label into its environment: then a change needs a restart
	Ordered bool   // the main container comes before the second one, in updates too
	CPU     string // what the main container requests; empty for no resources at all. A change restarts nothing
	Memory  string // likewise; given with CPU. A change restarts the container
}

// String is short enough for a transcript line.
func (r Release) String() string {
	parts := []string{r.App}
	for _, p := range []struct{ name, value string }{{"sidecar", r.Sidecar}, {"env", r.Env}, {"label", r.Label}, {"held", r.Held}, {"reads", yes(r.Reads)}, {"ordered", yes(r.Ordered)}, {"cpu", r.CPU}, {"memory", r.Memory}} {
		if p.value != "" {
			parts = append(parts, p.name+"="+p.value)
		}
	}
	return strings.Join(parts, " ")
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return ""
}

// withoutSize is the release but for its resources.
func (r Release) withoutSize() Release {
	r.CPU, r.Memory = "", ""
	return r
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
	envTrack   = "TRACK"
	envOrder   = "KRUISE_CONTAINER_PRIORITY"
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
	app := &t.Spec.Containers[0]
	if r.Reads {
		app.Env = append(app.Env, corev1.EnvVar{Name: envTrack, ValueFrom: &corev1.EnvVarSource{
			FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.labels['" + labelTrack + "']"},
		}})
	}
	if r.Ordered {
		for i := range t.Spec.Containers {
			c := &t.Spec.Containers[i]
			c.Env = append(c.Env, corev1.EnvVar{Name: envOrder, Value: strconv.Itoa(10 - i)})
		}
	}
	if r.CPU != "" {
		app.Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(r.CPU), corev1.ResourceMemory: resource.MustParse(r.Memory)}
		app.ResizePolicy = []corev1.ContainerResizePolicy{
			{ResourceName: corev1.ResourceCPU, RestartPolicy: corev1.NotRequired}, {ResourceName: corev1.ResourceMemory, RestartPolicy: corev1.RestartContainer},
		}
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
			switch e.Name {
			case envName:
				r.Env = e.Value
			case envTrack:
				r.Reads = true
			case envOrder:
				r.Ordered = true
			}
		}
		if requests := spec.Containers[i].Resources.Requests; len(requests) > 0 {
			r.CPU, r.Memory = requests.Cpu().String(), requests.Memory().String()
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
