// SPDX-License-Identifier: Apache-2.0

package traffic_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"

	cafev1alpha1 "slipway.dev/slipway/api/cafe/v1alpha1"
	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	"slipway.dev/slipway/internal/traffic"
	"slipway.dev/slipway/test/builders"
)

func TestComponentsAreDeclaredInAnAnnotation(t *testing.T) {
	for value, want := range map[string][]string{
		"":                      nil,
		"lb":                    {"lb"},
		"rpc,lb,dns":            {"dns", "lb", "rpc"},
		" lb , rpc ,, lb":       {"lb", "rpc"},
		strings.Repeat("a", 63): {strings.Repeat("a", 63)},
		"l b":                   nil,
		"example.com/lb":        nil,
		strings.Repeat("a", 64): nil,
		"-lb":                   nil,
		"lb,rpc;dns":            nil,
	} {
		got, err := traffic.Components(map[string]string{cafev1alpha1.AnnotationTrafficComponents: value})
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" || (err != nil) != (want == nil && value != "") {
			t.Errorf("%q: error %v (-want +got):\n%s", value, err, diff)
		}
	}
}

func TestWithoutComponentsNothingIsHeld(t *testing.T) {
	if hooks := traffic.Hooks(nil); hooks.Configured() || hooks.MarksNotReady() {
		t.Errorf("got %+v", hooks)
	}
}

func TestWhoIsWaitedForIsNamed(t *testing.T) {
	gate := func(status corev1.ConditionStatus) func(*builders.PodBuilder) {
		return func(b *builders.PodBuilder) {
			b.Condition(kruisev1alpha1.ConditionInPlaceUpdateReady, status, "", builders.Epoch())
		}
	}
	in := func(state kruisev1alpha1.LifecycleState) func(*builders.PodBuilder) {
		return func(b *builders.PodBuilder) { b.Lifecycle(state) }
	}
	by := func(components ...string) func(*builders.PodBuilder) {
		return func(b *builders.PodBuilder) { b.RoutedBy(components...) }
	}
	notReady := func(b *builders.PodBuilder) { b.NotReady() }
	terminating := func(b *builders.PodBuilder) { b.Terminating(builders.Epoch()) }
	for sentence, c := range map[string]struct {
		pod  []func(*builders.PodBuilder)
		want string
	}{
		"a pod in service waits for nobody":              {[]func(*builders.PodBuilder){by("lb")}, ""},
		"before its update":                              {[]func(*builders.PodBuilder){in(kruisev1alpha1.LifecyclePreparingUpdate), by("lb")}, "component lb has to let go of it before it is updated"},
		"before its deletion, for both":                  {[]func(*builders.PodBuilder){in(kruisev1alpha1.LifecyclePreparingDelete), by("rpc", "lb")}, "components lb, rpc have to let go of it before it is deleted"},
		"not for one that is not declared":               {[]func(*builders.PodBuilder){in(kruisev1alpha1.LifecyclePreparingDelete), by("old")}, ""},
		"for one that came back too early":               {[]func(*builders.PodBuilder){in(kruisev1alpha1.LifecycleUpdating), gate(corev1.ConditionFalse), by("lb")}, "component lb has to let go of it before it is updated"},
		"not in an update that disturbs nobody":          {[]func(*builders.PodBuilder){in(kruisev1alpha1.LifecycleUpdating), gate(corev1.ConditionTrue), by("lb")}, ""},
		"after its update, for the missing one":          {[]func(*builders.PodBuilder){in(kruisev1alpha1.LifecycleUpdated), gate(corev1.ConditionTrue), by("lb")}, "component rpc has to take it on"},
		"as a new pod":                                   {[]func(*builders.PodBuilder){in(kruisev1alpha1.LifecyclePreparingNormal), gate(corev1.ConditionTrue)}, "components lb, rpc have to take it on"},
		"a pod that is not ready waits for itself":       {[]func(*builders.PodBuilder){in(kruisev1alpha1.LifecyclePreparingNormal), notReady}, ""},
		"when it is being deleted, for whoever is on it": {[]func(*builders.PodBuilder){terminating, by("old")}, "component old has to let go of it before it can go"},
		"and for nobody else":                            {[]func(*builders.PodBuilder){terminating}, ""},
	} {
		t.Run(sentence, func(t *testing.T) {
			b := builders.Pod("web-a")
			for _, change := range c.pod {
				change(b)
			}
			b.With(func(p *corev1.Pod) { p.Finalizers = append(p.Finalizers, "example.com/other") })
			if got := traffic.Waiting(b.Build(), []string{"lb", "rpc"}); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
