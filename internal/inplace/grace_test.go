// SPDX-License-Identifier: Apache-2.0

package inplace_test

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	"slipway.dev/slipway/internal/inplace"
	"slipway.dev/slipway/internal/pod"
)

const period = 30 * time.Second

// held is a pod that left service at noon, for a period.
func held(t *testing.T) *corev1.Pod {
	t.Helper()
	p := running()
	take(p, begin(t, p, imageTo("app:v2"), "web-b", period, noon))
	return p
}

// saysReady is a node that reports the pod ready once more, as it became an hour before noon.
func saysReady(p *corev1.Pod) { says(p, corev1.ConditionTrue, noon.Add(-time.Hour)) }

func says(p *corev1.Pod, status corev1.ConditionStatus, since time.Time) {
	ready := pod.Condition(p, corev1.PodReady)
	ready.Status, ready.LastTransitionTime = status, metav1.NewTime(since.Truncate(time.Second))
}

// drainAgain does what the API server does when the pod is taken out of service again.
func drainAgain(p *corev1.Pod, at time.Time) {
	for _, c := range inplace.OutOfService(p, at) {
		have := pod.Condition(p, c.Type)
		c.LastTransitionTime = metav1.NewTime(c.LastTransitionTime.Truncate(time.Second))
		*have = c
	}
}

func TestAPodThatIsReportedReadyAgainIsNotOutOfService(t *testing.T) {
	p := held(t)
	saysReady(p)
	late := noon.Add(period)
	if got := progress(t, p, late); !got.Holding || got.GraceLeft == 0 || !got.Serving || got.DrainIn != 0 {
		t.Fatalf("at the end of a period in which it came back: %+v", got)
	}
	drainAgain(p, late)
	if ready := pod.Condition(p, corev1.PodReady); ready.Status != corev1.ConditionFalse || ready.Reason != "ReadinessGatesNotReady" {
		t.Fatalf("drained again, Ready is %+v", ready)
	}
	if again := inplace.OutOfService(p, late); again != nil {
		t.Errorf("drained again although it is out of service: %v", again)
	}
	if got := progress(t, p, late.Add(period-time.Millisecond)); got.GraceLeft == 0 || got.Serving {
		t.Errorf("the period after the second drain is cut: %+v", got)
	}
	if got := progress(t, p, late.Add(period)); got.GraceLeft != 0 || got.GraceCut {
		t.Errorf("and does not end: %+v", got)
	}
}

func TestThePeriodBeginsWhenThePodLeavesServiceForGood(t *testing.T) {
	ahead := noon.Add(time.Hour)
	for sentence, c := range map[string]struct {
		happens func(*corev1.Pod)
		began   time.Time
	}{
		"with its own drain": {func(*corev1.Pod) {}, noon},
		"when its node has noticed, after it had reported it ready": {
			func(p *corev1.Pod) { saysReady(p); says(p, corev1.ConditionFalse, noon.Add(7*time.Second)) }, noon.Add(8 * time.Second)}, // that second counts as a whole
		"with the second drain, also when its node had noticed before and tells it late": {
			func(p *corev1.Pod) {
				saysReady(p)
				drainAgain(p, noon.Add(9*time.Second))
				says(p, corev1.ConditionFalse, noon.Add(4*time.Second))
			}, noon.Add(9 * time.Second)},
		"not when a clock that is wrong says so": {
			func(p *corev1.Pod) { says(p, corev1.ConditionFalse, ahead) }, noon},
		"not when a pod that cannot be drained becomes unready": {
			func(p *corev1.Pod) {
				p.Spec.ReadinessGates = nil
				says(p, corev1.ConditionFalse, noon.Add(7*time.Second))
			}, noon},
	} {
		t.Run(sentence, func(t *testing.T) {
			p := held(t)
			c.happens(p)
			if got := progress(t, p, c.began.Add(period-time.Millisecond)); !got.Holding || got.GraceLeft == 0 {
				t.Errorf("before its end it is over: %+v", got)
			}
			if got := progress(t, p, c.began.Add(period)); got.GraceLeft != 0 || got.GraceCut {
				t.Errorf("it does not end after %s: %+v", period, got)
			}
		})
	}
}

// Whoever keeps reporting a pod ready is given longer from time to time, and not for ever.
func TestSomebodyWhoKeepsAPodReadyHoldsNothingForEver(t *testing.T) {
	p, drains := held(t), 0
	for now := noon; ; now = now.Add(time.Second) {
		saysReady(p)
		got := progress(t, p, now)
		if got.GraceLeft == 0 {
			if !got.GraceCut || !got.Serving || drains < 5 {
				t.Errorf("it ends after %d drains with %+v", drains, got)
			}
			break
		}
		if got.DrainIn == 0 {
			drainAgain(p, now)
			drains++
		}
		if now.After(noon.Add(time.Hour)) {
			t.Fatalf("it is still held after an hour and %d drains", drains)
		}
	}
	if drains > 12 {
		t.Errorf("it was drained %d times", drains)
	}
	change, err := inplace.Resume(p, noon.Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	drained := slices.ContainsFunc(change.Drain, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionFalse
	})
	if !drained || change.Patch.Images["app"] != "app:v2" {
		t.Errorf("its containers change without a drain: %+v", change)
	}
}

func TestADrainInTheSameSecondIsALaterOne(t *testing.T) {
	p := held(t)
	saysReady(p)
	drainAgain(p, noon)
	saysReady(p)
	if got := progress(t, p, noon); got.DrainIn == 0 {
		t.Error("two who write against each other do so without a pause")
	}
}

func TestContainersNeverChangeWhileThePodIsReportedReady(t *testing.T) {
	leaves := func(conditions []corev1.PodCondition) bool {
		return slices.ContainsFunc(conditions, func(c corev1.PodCondition) bool {
			return c.Type == corev1.PodReady && c.Status == corev1.ConditionFalse
		})
	}
	shut := func() *corev1.Pod {
		p := running()
		pod.Condition(p, kruisev1alpha1.ConditionInPlaceUpdateReady).Status = corev1.ConditionFalse
		return p
	}
	for _, grace := range []time.Duration{0, period} {
		if s := begin(t, shut(), imageTo("app:v2"), "web-b", grace, noon); !leaves(s.Drain) {
			t.Errorf("with a grace of %s and a gate that is closed already, the update begins with %v", grace, s.Drain)
		}
	}
	p := crew(map[string][]corev1.EnvVar{"one": {priority("5")}, "two": {priority("1")}})
	take(p, begin(t, p, imagesTo("v2", "one", "two"), "web-b", 0, noon))
	says(p, corev1.ConditionTrue, noon)
	if s, err := inplace.Advance(p, noon); err != nil || !leaves(s.Drain) {
		t.Errorf("the next batch begins with %v, %v", s.Drain, err)
	}
	p = shut()
	if closed := inplace.CloseGate(p, noon); closed != nil {
		t.Errorf("a gate that is closed is closed again: %v", closed)
	}
}
