// SPDX-License-Identifier: Apache-2.0

package pod_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	"slipway.dev/slipway/internal/pod"
	"slipway.dev/slipway/test/builders"
)

func at(seconds int) time.Time { return builders.Epoch().Add(time.Duration(seconds) * time.Second) }

func TestWhatCounts(t *testing.T) {
	for name, test := range map[string]struct {
		pod                           *builders.PodBuilder
		active, finished, terminating bool
	}{
		"a running pod is active":        {pod: builders.Pod("a"), active: true},
		"a pending pod is active":        {pod: builders.Pod("a").Fresh(), active: true},
		"a failed pod is finished":       {pod: builders.Pod("a").Failed("Evicted"), finished: true},
		"a pod that succeeded too":       {pod: builders.Pod("a").With(phase(corev1.PodSucceeded)), finished: true},
		"a pod being deleted is leaving": {pod: builders.Pod("a").Terminating(at(30)), terminating: true},
		"it may be both":                 {pod: builders.Pod("a").Failed("").Terminating(at(30)), finished: true, terminating: true},
	} {
		t.Run(name, func(t *testing.T) {
			p := test.pod.Build()
			if got := pod.IsActive(p); got != test.active {
				t.Errorf("IsActive = %v", got)
			}
			if got := pod.IsFinished(p); got != test.finished {
				t.Errorf("IsFinished = %v", got)
			}
			if got := pod.IsTerminating(p); got != test.terminating {
				t.Errorf("IsTerminating = %v", got)
			}
		})
	}
}

func TestAvailability(t *testing.T) {
	ready := func() *builders.PodBuilder { return builders.Pod("a").ReadySince(at(0)) }
	for name, test := range map[string]struct {
		pod        *builders.PodBuilder
		minReady   int32
		now        int
		ready      bool
		wait       time.Duration
		inTime     bool
		available  bool
		readySince bool
	}{
		"ready is enough without a minimum":              {pod: ready(), ready: true, readySince: true, inTime: true, available: true},
		"a moment before the minimum":                    {pod: ready(), minReady: 10, now: 9, ready: true, readySince: true, inTime: true, wait: time.Second},
		"exactly at the minimum":                         {pod: ready(), minReady: 10, now: 10, ready: true, readySince: true, inTime: true, available: true},
		"long after the minimum":                         {pod: ready(), minReady: 10, now: 999, ready: true, readySince: true, inTime: true, available: true},
		"no lifecycle state is the normal one":           {pod: ready().Lifecycle(""), ready: true, readySince: true, inTime: true, available: true},
		"any other lifecycle state is not available":     {pod: ready().Lifecycle(kruisev1alpha1.LifecycleUpdated), now: 99, ready: true, readySince: true},
		"a state that nobody knows is not available":     {pod: ready().Lifecycle("Napping"), now: 99, ready: true, readySince: true},
		"an unavailable mark of other tools is ignored":  {pod: ready().Label(kruisev1alpha1.LabelPrefixUnavailable+"x", ""), ready: true, readySince: true, inTime: true, available: true},
		"containers are not ready":                       {pod: ready().NotReady(), now: 99},
		"an in-place update is under way":                {pod: ready().Updating(), now: 99},
		"the kubelet has not followed the update yet":    {pod: ready().Condition(kruisev1alpha1.ConditionInPlaceUpdateReady, corev1.ConditionFalse, "", at(1)), readySince: true},
		"our condition is unknown":                       {pod: ready().Condition(kruisev1alpha1.ConditionInPlaceUpdateReady, corev1.ConditionUnknown, "", at(1)), readySince: true},
		"our condition is absent":                        {pod: ready().With(dropCondition(kruisev1alpha1.ConditionInPlaceUpdateReady)), ready: true, readySince: true, inTime: true, available: true},
		"ready but not running":                          {pod: ready().With(phase(corev1.PodUnknown)), readySince: true},
		"no conditions at all":                           {pod: builders.Pod("a").Fresh()},
		"since when is not known, and there is no rule":  {pod: ready().ReadySince(time.Time{}), ready: true, readySince: true, inTime: true, available: true},
		"since when is not known, but it has to be long": {pod: ready().ReadySince(time.Time{}), minReady: 1, now: 99, ready: true, readySince: true},
	} {
		t.Run(name, func(t *testing.T) {
			p := test.pod.Build()
			if got := pod.IsReady(p); got != test.ready {
				t.Errorf("IsReady = %v", got)
			}
			if _, got := pod.ReadySince(p); got != test.readySince {
				t.Errorf("ReadySince = %v", got)
			}
			if wait, ok := pod.AvailableIn(p, test.minReady, at(test.now)); wait != test.wait || ok != test.inTime {
				t.Errorf("AvailableIn = %v, %v, want %v, %v", wait, ok, test.wait, test.inTime)
			}
			if got := pod.IsAvailable(p, test.minReady, at(test.now)); got != test.available {
				t.Errorf("IsAvailable = %v", got)
			}
		})
	}
}

func TestRevisionHash(t *testing.T) {
	for name, test := range map[string]struct{ label, want string }{
		"the long form":           {"app-5d8f", "5d8f"},
		"a name with hyphens":     {"my-big-app-5d8f", "5d8f"},
		"the short form":          {"5d8f", "5d8f"},
		"no revision":             {"", ""},
		"a name ending in a dash": {"app-", ""},
	} {
		t.Run(name, func(t *testing.T) {
			p := builders.Pod("a").Revision(test.label).Build()
			if got := pod.RevisionHash(p); got != test.want {
				t.Errorf("RevisionHash = %q, want %q", got, test.want)
			}
			if got := pod.HasRevision(p, "app-5d8f"); got != (test.want == "5d8f") {
				t.Errorf("HasRevision = %v", got)
			}
		})
	}
	if pod.HasRevision(builders.Pod("a").Build(), "") {
		t.Error("a pod without revision has the revision without name")
	}
}

func TestDeletionCost(t *testing.T) {
	for value, want := range map[string]int32{
		"0": 0, "5": 5, "-5": -5, "2147483647": 2147483647, "-2147483648": -2147483648,
		"+5": 0, "007": 0, "-0": 0, "": 0, "5.0": 0, " 5": 0, "2147483648": 0, "cheap": 0,
	} {
		t.Run("cost "+value, func(t *testing.T) {
			p := builders.Pod("a").Annotation(kruisev1alpha1.AnnotationPodDeletionCost, value).Build()
			if got := pod.DeletionCost(p); got != want {
				t.Errorf("DeletionCost(%q) = %d, want %d", value, got, want)
			}
		})
	}
	if got := pod.DeletionCost(builders.Pod("a").Build()); got != 0 {
		t.Errorf("a pod without cost costs %d", got)
	}
}

func TestIsChosen(t *testing.T) {
	for name, test := range map[string]struct {
		pod   *builders.PodBuilder
		names []string
		want  bool
	}{
		"by label":                 {pod: builders.Pod("a").Chosen(), want: true},
		"by label of any value":    {pod: builders.Pod("a").Label(kruisev1alpha1.LabelSpecifiedDelete, "false"), want: true},
		"by label without a value": {pod: builders.Pod("a").Label(kruisev1alpha1.LabelSpecifiedDelete, ""), want: true},
		"by name":                  {pod: builders.Pod("a"), names: []string{"b", "a"}, want: true},
		"by neither":               {pod: builders.Pod("a"), names: []string{"b"}},
		"by both":                  {pod: builders.Pod("a").Chosen(), names: []string{"a"}, want: true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := pod.IsChosen(test.pod.Build(), test.names); got != test.want {
				t.Errorf("IsChosen = %v", got)
			}
		})
	}
}

func TestOwner(t *testing.T) {
	set := builders.CloneSet("app").Build()
	owned := func() *builders.PodBuilder { return builders.OwnedPod(set, "abcde", "5d8f") }
	for name, test := range map[string]struct {
		pod  *builders.PodBuilder
		want bool
	}{
		"its controller has the UID": {pod: owned(), want: true},
		"another version of the API wrote the reference": {pod: owned().With(func(p *corev1.Pod) {
			p.OwnerReferences[0].APIVersion = "apps.kruise.io/v1beta1"
		}), want: true},
		"a new set of the same name": {pod: owned().With(func(p *corev1.Pod) { p.OwnerReferences[0].UID = "other" })},
		"an owner that does not control": {pod: owned().With(func(p *corev1.Pod) {
			p.OwnerReferences[0].Controller = ptr.To(false)
		})},
		"an owner beside another controller": {pod: owned().With(func(p *corev1.Pod) {
			p.OwnerReferences[0].Controller = nil
			p.OwnerReferences = append(p.OwnerReferences, metav1.OwnerReference{UID: "other", Controller: ptr.To(true)})
		})},
		"nobody": {pod: builders.Pod("a")},
	} {
		t.Run(name, func(t *testing.T) {
			if got := pod.IsControlledBy(test.pod.Build(), set.UID); got != test.want {
				t.Errorf("IsControlledBy = %v", got)
			}
		})
	}
	if pod.IsControlledBy(builders.Pod("a").Build(), "") {
		t.Error("a pod of nobody is controlled by the empty UID")
	}
}

func TestGateAndCondition(t *testing.T) {
	p := builders.Pod("a").Build()
	if !pod.HasGate(p, kruisev1alpha1.ConditionInPlaceUpdateReady) || pod.HasGate(p, kruisev1alpha1.ConditionKruisePodReady) {
		t.Errorf("HasGate misreads %v", p.Spec.ReadinessGates)
	}
	if c := pod.Condition(p, corev1.PodReady); c == nil || c.Status != corev1.ConditionTrue {
		t.Errorf("Condition(Ready) = %v", c)
	}
	if c := pod.Condition(p, "Nonsense"); c != nil {
		t.Errorf("Condition(Nonsense) = %v", c)
	}
}

func phase(phase corev1.PodPhase) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Status.Phase = phase }
}

func dropCondition(t corev1.PodConditionType) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		var kept []corev1.PodCondition
		for _, c := range p.Status.Conditions {
			if c.Type != t {
				kept = append(kept, c)
			}
		}
		p.Status.Conditions = kept
	}
}
