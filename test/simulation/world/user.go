// SPDX-License-Identifier: Apache-2.0

package world

import (
	"fmt"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	"slipway.dev/slipway/test/simulation/api"
)

// Number is a plain number.
func Number(n int) *intstr.IntOrString { return ptr.To(intstr.FromInt32(int32(n))) }

// Percent is a percentage.
func Percent(n int) *intstr.IntOrString { return ptr.To(intstr.FromString(strconv.Itoa(n) + "%")) }

// Share resolves a number or whole percentage. The simulation never uses decimals.
func Share(v *intstr.IntOrString, of int, up bool, absent int) int {
	if v == nil {
		return absent
	}
	if v.Type == intstr.Int {
		return v.IntValue()
	}
	percent, err := strconv.Atoi(strings.TrimSuffix(v.StrVal, "%"))
	if err != nil {
		panic(fmt.Sprintf("the simulation uses whole percentages only, not %q", v.StrVal))
	}
	if up {
		return (percent*of + 99) / 100
	}
	return percent * of / 100
}

// SomeGrace is a grace period in seconds that a story about such begins with.
func (s *Story) SomeGrace() int32 { return []int32{2, 10}[s.Random.IntN(2)] }

// NewTemplate changes one thing of the template.
func (s *Story) NewTemplate(t *corev1.PodTemplateSpec) {
	r := ReleaseOf(t.Labels, &t.Spec)
	next := fmt.Sprintf("v%d", len(s.Releases)+1)
	switch s.Random.IntN(14) {
	case 10, 11:
		s.NewSize(&r)
	case 12:
		s.NewSize(&r)
		r.App, r.Label = next, next
	case 13:
		if r.Sidecar != "" {
			r.App, r.Sidecar = next, next
		} else {
			r.Reads = !r.Reads
		}
	case 0:
		r.Env = next
	case 1, 2:
		r.Label = next
	case 3:
		if r.Sidecar != "" {
			r.Sidecar = next
		} else {
			r.App = next
		}
	case 4:
		r.App, r.Label = next, next
	case 5:
		r.App = next + fmt.Sprintf("-slow-%ds", 1+s.Random.IntN(20))
	default:
		r.App = next
	}
	s.Roll(t, r)
}

// NewSize changes what the main container requests.
func (s *Story) NewSize(r *Release) {
	switch {
	case r.CPU == "":
		r.CPU, r.Memory = "100m", "64Mi"
	case s.Random.IntN(3) == 0:
		r.Memory = []string{"64Mi", "128Mi", "256Mi"}[s.Random.IntN(3)]
	default:
		r.CPU = []string{"100m", "200m", "300m"}[s.Random.IntN(3)]
	}
}

// BadTemplate asks for what cannot run.
func (s *Story) BadTemplate(t *corev1.PodTemplateSpec) {
	r := ReleaseOf(t.Labels, &t.Spec)
	if r.CPU != "" && s.Random.IntN(3) == 0 {
		r.CPU = TooMuch
		s.Roll(t, r)
		return
	}
	r.App = fmt.Sprintf("v%d-%s", len(s.Releases)+1, []string{"broken", "crash", "missing"}[s.Random.IntN(3)])
	s.Roll(t, r)
}

// SomeVersion is the name of the n-th version of something, mostly a healthy one; healthy has it be one.
func (s *Story) SomeVersion(n int, healthy bool) string {
	name := fmt.Sprintf("v%d", n)
	switch drawn := s.Random.IntN(8); {
	case healthy:
		return name
	case drawn == 0:
		return name + "-broken"
	case drawn == 1:
		return fmt.Sprintf("%s-slow-%ds", name, 10+s.Random.IntN(100))
	}
	return name
}

// RollBack asks for an earlier release.
func (s *Story) RollBack(t *corev1.PodTemplateSpec) {
	*t = s.Releases[s.Random.IntN(len(s.Releases))].Template()
}

// Roll makes a release the wanted one.
func (s *Story) Roll(t *corev1.PodTemplateSpec, r Release) {
	s.Releases = append(s.Releases, r)
	*t = r.Template()
}

// Priority is an order of updates by labels; nil for none.
func (s *Story) Priority() *kruisev1alpha1.UpdatePriorityStrategy {
	switch s.Random.IntN(3) {
	case 0:
		return &kruisev1alpha1.UpdatePriorityStrategy{OrderPriority: []kruisev1alpha1.UpdatePriorityOrderTerm{{OrderedKey: LabelTrack}}}
	case 1:
		return &kruisev1alpha1.UpdatePriorityStrategy{WeightPriority: []kruisev1alpha1.UpdatePriorityWeightTerm{
			{Weight: 10, MatchSelector: metav1.LabelSelector{MatchLabels: map[string]string{LabelTrack: "v2"}}},
		}}
	}
	return nil
}

// DisturbPod is one thing that a user or a node may do to a pod at any time.
func (s *Story) DisturbPod(pod *corev1.Pod) {
	s.Misfortunes--
	key := client.ObjectKeyFromObject(pod)
	switch n := s.Random.IntN(10); {
	case n < 3:
		s.Remove(api.Pods, pod.Name)
	case n < 6:
		if !Active(pod) {
			return
		}
		s.Evict(pod)
	case n < 8:
		s.Label(pod, kruisev1alpha1.LabelSpecifiedDelete, "true")
		s.Tell("user: chooses %s for deletion", pod.Name)
	case n < 9:
		s.Must(s.Server.Modify("user", api.Pods, key, api.Main, func(o client.Object) {
			o.SetAnnotations(Merged(o.GetAnnotations(), kruisev1alpha1.AnnotationPodDeletionCost, strconv.Itoa(s.Random.IntN(100))))
		}))
		s.Tell("user: sets a deletion cost on %s", pod.Name)
	default:
		s.Label(pod, LabelApp, "taken-out")
		s.Tell("user: takes %s out of the set by its label", pod.Name)
	}
	s.Notice()
}

// LosePod has a user delete a pod, or the node of the pod end it.
func (s *Story) LosePod(pod *corev1.Pod) {
	s.Misfortunes--
	if s.Random.IntN(2) == 0 {
		s.Remove(api.Pods, pod.Name)
		s.Notice()
		return
	}
	if Active(pod) && pod.Spec.NodeName != "" {
		s.Evict(pod)
	}
}

// Evict has the node of a pod end it.
func (s *Story) Evict(pod *corev1.Pod) {
	s.Must(s.Server.Modify("node", api.Pods, client.ObjectKeyFromObject(pod), api.Status, func(o client.Object) {
		o.(*corev1.Pod).Status.Phase = corev1.PodFailed
		o.(*corev1.Pod).Status.Reason = "Evicted"
	}))
	s.Kubelet[pod.UID].late = nil // the eviction is the kubelet's own doing
	s.Tell("node: evicts %s", pod.Name)
	s.Notice()
}

// Label gives a pod a label, as a user does.
func (s *Story) Label(pod *corev1.Pod, key, value string) {
	s.Must(s.Server.Modify("user", api.Pods, client.ObjectKeyFromObject(pod), api.Main, func(o client.Object) {
		o.SetLabels(Merged(o.GetLabels(), key, value))
	}))
}

// Merged is the map with one value more; it changes the map.
func Merged(m map[string]string, key, value string) map[string]string {
	if m == nil {
		m = map[string]string{}
	}
	m[key] = value
	return m
}
