// SPDX-License-Identifier: Apache-2.0

package inplace_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"slipway.dev/slipway/internal/inplace"
)

// sized is a running pod whose container app has these amounts, as the node reports them too.
func sized(requests, limits corev1.ResourceList) *corev1.Pod {
	p := running()
	p.Spec.Containers[0].Resources = corev1.ResourceRequirements{Requests: requests, Limits: limits}
	p.Spec.Containers[0].ResizePolicy = restartForMemory
	reportSizes(p)
	return p
}

func reportSizes(p *corev1.Pod) {
	p.Status.ObservedGeneration = p.Generation
	for i := range p.Spec.Containers {
		p.Status.ContainerStatuses[i].Resources = p.Spec.Containers[i].Resources.DeepCopy()
	}
}

func requestTo(requests corev1.ResourceList) inplace.Difference {
	return inplace.Difference{Resources: map[string]corev1.ResourceRequirements{"app": {Requests: requests}}}
}

func cpu(amount string) corev1.ResourceList {
	list := amounts(amount, "0")
	delete(list, corev1.ResourceMemory)
	return list
}

func TestWhichResourcesCanChangeInPlace(t *testing.T) {
	const field = "spec.containers[app].resources"
	type requirements = corev1.ResourceRequirements
	for sentence, c := range map[string]struct {
		from, to requirements
		changes  requirements
		refusal  string
	}{
		"a request of CPU": {
			requirements{Requests: amounts("1", "1Gi")}, requirements{Requests: amounts("2", "1Gi")}, requirements{Requests: cpu("2")}, "",
		},
		"limits, and the requests that follow them": {
			requirements{Limits: amounts("1", "1Gi")}, requirements{Limits: amounts("2", "1Gi")}, requirements{Limits: cpu("2"), Requests: cpu("2")}, "",
		},
		"the same amount in other words is no change": {
			requirements{Requests: amounts("1", "1Gi")}, requirements{Requests: amounts("1000m", "1024Mi")}, requirements{}, "",
		},
		"a key added": {
			requirements{Requests: cpu("1")}, requirements{Requests: amounts("1", "1Gi")}, requirements{}, field + ".requests.memory",
		},
		"a key removed": {
			requirements{Requests: amounts("1", "1Gi")}, requirements{Requests: cpu("1")}, requirements{}, field + ".requests.memory",
		},
		"another resource": {
			requirements{Requests: corev1.ResourceList{"example.com/gpu": amounts("1", "1")["cpu"]}},
			requirements{Requests: corev1.ResourceList{"example.com/gpu": amounts("2", "1")["cpu"]}}, requirements{}, field + ".requests.example.com/gpu",
		},
		"another QoS class": {
			requirements{Limits: amounts("2", "1Gi"), Requests: amounts("2", "1Gi")}, requirements{Limits: amounts("2", "1Gi"), Requests: amounts("1", "1Gi")},
			requirements{Requests: cpu("1")}, field + " would change the QoS class of the pod from Guaranteed to Burstable",
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			with := func(r requirements) *corev1.PodTemplateSpec {
				return template(func(s *corev1.PodTemplateSpec) {
					s.Spec.InitContainers = nil
					s.Spec.Containers = s.Spec.Containers[:1]
					s.Spec.Containers[0].Resources = r
				})
			}
			got := inplace.Compare(with(c.from), with(c.to))
			if refusal := strings.Join(got.Refusals, "; "); !strings.HasPrefix(refusal, c.refusal) || (refusal == "") != (c.refusal == "") {
				t.Errorf("refused because of %q, want %q", refusal, c.refusal)
			}
			if diff := cmp.Diff(c.changes.Requests, got.Resources["app"].Requests); diff != "" {
				t.Errorf("requests (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.changes.Limits, got.Resources["app"].Limits); diff != "" {
				t.Errorf("limits (-want +got):\n%s", diff)
			}
			if off := got.WithoutResize(); off.Possible() && len(got.Resources) > 0 {
				t.Error("allowed although resizing is switched off")
			}
		})
	}
}

func TestOnlyAResizeThatRestartsDrains(t *testing.T) {
	p := sized(amounts("1", "1Gi"), nil)
	if s := begin(t, p, requestTo(cpu("2")), "web-b", time.Minute, noon); len(s.Drain) != 0 || s.Grace != 0 || len(s.Resize) != 1 || len(s.Patch.Images) != 0 {
		t.Errorf("CPU changes without a restart, but the step is %+v", s)
	}
	memory := amounts("1", "2Gi")
	delete(memory, corev1.ResourceCPU)
	if s := begin(t, p, requestTo(memory), "web-b", 0, noon); len(s.Drain) == 0 {
		t.Error("memory restarts the container, but the pod stays in service")
	}
}

func TestAResizeEndsWhenTheNodeReportsTheAmounts(t *testing.T) {
	for sentence, c := range map[string]struct {
		report   func(*corev1.Pod)
		finished bool
	}{
		"nothing new": {func(*corev1.Pod) {}, false},
		"the new amounts, before the node has seen them": {func(p *corev1.Pod) {
			reportSizes(p)
			p.Status.ObservedGeneration--
		}, false},
		"the new amounts": {reportSizes, true},
		"the new amounts in other words": {func(p *corev1.Pod) {
			reportSizes(p)
			p.Status.ContainerStatuses[0].Resources.Requests = amounts("2000m", "1024Mi")
		}, true},
		"still resizing": {func(p *corev1.Pod) {
			reportSizes(p)
			p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: corev1.PodResizeInProgress, Status: corev1.ConditionTrue})
		}, false},
		"resizing later": {func(p *corev1.Pod) {
			p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: corev1.PodResizePending, Status: corev1.ConditionTrue, Reason: corev1.PodReasonDeferred})
		}, false},
	} {
		t.Run(sentence, func(t *testing.T) {
			p := sized(amounts("1", "1Gi"), nil)
			take(p, begin(t, p, requestTo(cpu("2")), "web-b", 0, noon))
			c.report(p)
			if got := progress(t, p, noon); got.Finished != c.finished || got.Infeasible != "" {
				t.Errorf("%+v, want finished %v", got, c.finished)
			}
		})
	}
}

func TestAnInfeasibleResizeSaysSo(t *testing.T) {
	p := sized(amounts("1", "1Gi"), nil)
	take(p, begin(t, p, requestTo(cpu("64")), "web-b", 0, noon))
	p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: corev1.PodResizePending, Status: corev1.ConditionTrue, Reason: corev1.PodReasonInfeasible, Message: "too much"})
	if got := progress(t, p, noon); !strings.Contains(got.Infeasible, "resources") || !strings.Contains(got.Infeasible, "too much") {
		t.Errorf("%+v", got)
	}
}

func TestAResizeThatWasMadeIsNotRepeated(t *testing.T) {
	p := sized(amounts("1", "1Gi"), nil)
	first := begin(t, p, requestTo(cpu("2")), "web-b", 0, noon)
	resize(p, first.Resize) // and the manager dies
	second := begin(t, p, requestTo(cpu("2")), "web-b", 0, noon)
	if len(second.Resize) != 0 {
		t.Errorf("resized again: %v", second.Resize)
	}
	take(p, second)
	if got := progress(t, p, noon); got.Finished {
		t.Error("finished before the node has resized anything")
	}
}

func TestWhatThePodCannotTakeOverNamesTheField(t *testing.T) {
	for sentence, c := range map[string]struct {
		pod    func() *corev1.Pod
		change inplace.Difference
		want   string
	}{
		"a container that is not there": {running, inplace.Difference{Images: map[string]string{"log": "log:v2"}}, "spec.containers[log]: the pod has no such container"},
		"a node that resizes nothing": {func() *corev1.Pod {
			p := sized(amounts("1", "1Gi"), nil)
			p.Status.ContainerStatuses[0].Resources = nil
			return p
		}, requestTo(cpu("2")), "spec.containers[app].resources (its node does not resize containers)"},
		"a QoS class that others have given the pod": {func() *corev1.Pod {
			p := sized(amounts("1", "1Gi"), amounts("1", "1Gi"))
			p.Status.QOSClass = corev1.PodQOSGuaranteed
			return p
		}, requestTo(cpu("500m")), "spec.containers[app].resources would change the QoS class of the pod from Guaranteed to Burstable, so it"},
		"what it can": {func() *corev1.Pod { return sized(amounts("1", "1Gi"), nil) }, requestTo(cpu("2")), ""},
	} {
		t.Run(sentence, func(t *testing.T) {
			if got := strings.Join(c.change.Refused(c.pod()), "; "); got != c.want {
				t.Errorf("refused because of %q, want %q", got, c.want)
			}
		})
	}
}

// A manager may die between the resize and the patch, and the template may be rolled back before it is there again.
func TestAStrayedSizeIsFound(t *testing.T) {
	own, other := template(func(s *corev1.PodTemplateSpec) { s.Spec.Containers[0].Resources.Requests = amounts("1", "1Gi") }),
		template(func(s *corev1.PodTemplateSpec) { s.Spec.Containers[0].Resources.Requests = amounts("2", "1Gi") })
	others := []*corev1.PodTemplateSpec{other}
	if got := inplace.Strayed(sized(amounts("1", "1Gi"), nil), own, others); !got.Empty() {
		t.Errorf("its own size: %v", got)
	}
	if got := inplace.Strayed(sized(amounts("3", "1Gi"), nil), own, others); !got.Empty() {
		t.Errorf("a size that somebody else has given it: %v", got)
	}
	back := inplace.Strayed(sized(amounts("2", "1Gi"), nil), own, others)
	if diff := cmp.Diff(cpu("1"), back.Resources["app"].Requests); diff != "" {
		t.Errorf("the way back (-want +got):\n%s", diff)
	}
	if inplace.SameSize(own, other) || !inplace.SameSize(own, own) {
		t.Error("sizes are compared wrongly")
	}
}
