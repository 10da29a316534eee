// SPDX-License-Identifier: Apache-2.0

package world

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Release is what varies between the templates of a simulated set. Two templates are the same exactly when their releases are.
type Release struct {
	App     string // tag of the main container's image
	Sidecar string // tag of the second container's image; empty for no second container
	Env     string // value of an environment variable: a change needs new pods
	Label   string // value of a template label: a change reaches living pods
	Held    string // handlers of hooks among the template's labels, by the letters of HeldBy
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

// WithoutSize is the release but for its resources.
func (r Release) WithoutSize() Release {
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

// CanBecome tells whether a living pod of this release can become one of another: with new images and labels, and other amounts of
// the resources that it has. A label that a container reads into its environment needs a restart of that container.
func (r Release) CanBecome(other Release) bool {
	unread := r.Label == other.Label || !r.Reads || r.App != other.App
	return unread && r.Env == other.Env && r.Reads == other.Reads && r.Ordered == other.Ordered &&
		(r.Sidecar == "") == (other.Sidecar == "") && (r.CPU == "") == (other.CPU == "")
}

// The names of the one set, and of what its template has.
const (
	Namespace  = "default"
	SetName    = "web"
	ImageApp   = "registry.local:5000/app"
	ImageSide  = "registry.local:5000/sidecar"
	LabelApp   = "app"
	LabelTrack = "track"
	EnvName    = "MODE"
	EnvTrack   = "TRACK"
	EnvOrder   = "KRUISE_CONTAINER_PRIORITY"
)

// Template renders the release.
func (r Release) Template() corev1.PodTemplateSpec {
	t := corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{LabelApp: SetName}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: ImageApp + ":" + r.App}}},
	}
	if r.Label != "" {
		t.Labels[LabelTrack] = r.Label
	}
	for _, h := range HeldBy {
		if strings.Contains(r.Held, h.letter) {
			t.Labels[h.handler] = HandlerValue
		}
	}
	if r.Env != "" {
		t.Spec.Containers[0].Env = []corev1.EnvVar{{Name: EnvName, Value: r.Env}}
	}
	if r.Sidecar != "" {
		t.Spec.Containers = append(t.Spec.Containers, corev1.Container{Name: "sidecar", Image: ImageSide + ":" + r.Sidecar})
	}
	app := &t.Spec.Containers[0]
	if r.Reads {
		app.Env = append(app.Env, corev1.EnvVar{Name: EnvTrack, ValueFrom: &corev1.EnvVarSource{
			FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.labels['" + LabelTrack + "']"},
		}})
	}
	if r.Ordered {
		for i := range t.Spec.Containers {
			c := &t.Spec.Containers[i]
			c.Env = append(c.Env, corev1.EnvVar{Name: EnvOrder, Value: strconv.Itoa(10 - i)})
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

// ReleaseOf reads a release back from labels and containers of a template.
func ReleaseOf(labels map[string]string, spec *corev1.PodSpec) Release {
	r := Release{Label: labels[LabelTrack]}
	for _, h := range HeldBy {
		if labels[h.handler] == HandlerValue {
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
			case EnvName:
				r.Env = e.Value
			case EnvTrack:
				r.Reads = true
			case EnvOrder:
				r.Ordered = true
			}
		}
		if requests := spec.Containers[i].Resources.Requests; len(requests) > 0 {
			r.CPU, r.Memory = requests.Cpu().String(), requests.Memory().String()
		}
	}
	return r
}

// Wanted is the release of the template.
func (s Spec) Wanted() Release { return ReleaseOf(s.Template.Labels, &s.Template.Spec) }

// Running is what a living pod runs.
func Running(pod *corev1.Pod) Release { return ReleaseOf(pod.Labels, &pod.Spec).Visible() }

// Visible is the part of a release that a pod keeps: handlers come and go while it lives.
func (r Release) Visible() Release {
	r.Held = ""
	return r
}

// Recorded reads the release out of a stored revision.
func Recorded(revision *appsv1.ControllerRevision) (Release, error) {
	var data struct {
		Spec struct {
			Template corev1.PodTemplateSpec `json:"template"`
		} `json:"spec"`
	}
	if err := json.Unmarshal(revision.Data.Raw, &data); err != nil {
		return Release{}, fmt.Errorf("decoding revision %s: %w", revision.Name, err)
	}
	return ReleaseOf(data.Spec.Template.Labels, &data.Spec.Template.Spec), nil
}
