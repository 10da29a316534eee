// SPDX-License-Identifier: Apache-2.0

package pod_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	"slipway.dev/slipway/internal/pod"
	"slipway.dev/slipway/test/builders"
)

func TestStateAndWaiting(t *testing.T) {
	a := func() *builders.PodBuilder { return builders.Pod("a") }
	const ours, kruise = kruisev1alpha1.ConditionInPlaceUpdateReady, kruisev1alpha1.ConditionKruisePodReady
	for name, test := range map[string]struct {
		pod     *builders.PodBuilder
		state   pod.State
		waiting string
	}{
		"in service":                            {a(), pod.Available, ""},
		"ready a moment ago":                    {a().ReadySince(at(95)), pod.Ready, ""},
		"just created":                          {a().Fresh(), pod.Pending, "not scheduled"},
		"no node takes it":                      {a().Unscheduled("0/3 nodes are available"), pod.Pending, "not scheduled: 0/3 nodes are available"},
		"bound, and nothing reported yet":       {a().Fresh().Node("n"), pod.Starting, "container app has not started"},
		"its image is pulled":                   {a().Waiting("ContainerCreating"), pod.Starting, "container app has not started"},
		"its image does not exist":              {a().Waiting("ErrImagePull"), pod.Failing, `container app: ImagePullBackOff (image "registry.test/app:v1")`},
		"its image still does not exist":        {a().Waiting("ImagePullBackOff"), pod.Failing, `container app: ImagePullBackOff (image "registry.test/app:v1")`},
		"its image is nonsense":                 {a().Waiting("InvalidImageName"), pod.Failing, `container app: InvalidImageName (image "registry.test/app:v1")`},
		"it crashes":                            {a().Waiting("CrashLoopBackOff").Restarts(4), pod.Failing, "container app: CrashLoopBackOff"},
		"it has just crashed":                   {a().With(ended(1)), pod.Failing, "container app: CrashLoopBackOff"},
		"it lacks a config map":                 {a().Waiting("CreateContainerConfigError"), pod.Failing, "container app: CreateContainerConfigError"},
		"its probe fails":                       {a().NotReady(), pod.NotReady, "container app is not ready"},
		"in-place, drained":                     {a().Updating().Annotation(kruisev1alpha1.AnnotationInPlaceGrace, "{}"), pod.Draining, "it is drained before its in-place update"},
		"in-place, drained, and ready":          {a().Condition(kruisev1alpha1.ConditionInPlaceUpdateReady, corev1.ConditionFalse, "", at(1)).Annotation(kruisev1alpha1.AnnotationInPlaceGrace, "{}"), pod.Draining, "it was drained before its in-place update, and is reported ready all the same"},
		"in-place, drained long ago":            {a().Updating().Annotation(kruisev1alpha1.AnnotationInPlaceGraceLegacy, "{}"), pod.Draining, "it is drained before its in-place update"},
		"in-place, under way":                   {a().Updating(), pod.Updating, "its in-place update is not complete"},
		"in-place, only its state tells":        {a().Lifecycle(kruisev1alpha1.LifecycleUpdating), pod.Updating, "its in-place update is not complete"},
		"in-place, the old container has ended": {a().Updating().With(ended(143)), pod.Updating, "container app has not started"},
		"in-place, the new image is missing":    {a().Updating().With(waiting("ErrImagePull")), pod.Failing, `container app: ImagePullBackOff (image "registry.test/app:v1")`},
		"in-place, the node is too small": {
			a().Updating().Condition(corev1.PodResizePending, corev1.ConditionTrue, corev1.PodReasonInfeasible, at(1)),
			pod.Updating, "its in-place update is not complete: resize is Infeasible",
		},
		"our gate is not set yet":                 {a().With(unready, dropCondition(ours)), pod.NotReady, "readiness gate InPlaceUpdateReady is not set"},
		"a foreign gate is not set":               {a().With(unready, gate("example.com/x")), pod.NotReady, "readiness gate example.com/x is not set"},
		"a foreign gate is closed":                {a().With(unready, gate("example.com/x")).Condition("example.com/x", corev1.ConditionFalse, "Draining", at(1)), pod.NotReady, "readiness gate example.com/x is False: Draining"},
		"a gate that many write":                  {a().With(unready, gate(kruise)).Condition(kruise, corev1.ConditionFalse, "", at(1)), pod.NotReady, "readiness gate KruisePodReady is False"},
		"all is well but for the kubelet":         {a().With(unready), pod.NotReady, "its node has not reported it ready"},
		"Ready has a reason of its own":           {a().Condition(corev1.PodReady, corev1.ConditionFalse, "NodeDown", at(1)), pod.NotReady, "it is not ready: NodeDown"},
		"its node is cut off":                     {a().With(unready, phase(corev1.PodUnknown)), pod.NotReady, "its node does not report"},
		"an init container runs":                  {a().With(initContainer("setup", false, corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}), unready), pod.Starting, "init container setup is not complete"},
		"an init container fails":                 {a().With(initContainer("setup", false, waitingFor("CrashLoopBackOff")), unready), pod.Failing, "init container setup: CrashLoopBackOff"},
		"an init container has ended well":        {a().With(initContainer("setup", false, corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}), unready), pod.NotReady, "its node has not reported it ready"},
		"a sidecar has not started":               {a().With(initContainer("proxy", true, waitingFor("PodInitializing")), unready), pod.Starting, "init container proxy has not started"},
		"the hook before service holds it":        {a().Lifecycle(kruisev1alpha1.LifecyclePreparingNormal), pod.Held, "hook preNormal holds it"},
		"before the hook before service":          {a().NotReady().Lifecycle(kruisev1alpha1.LifecyclePreparingNormal), pod.NotReady, "container app is not ready"},
		"the hook before an update holds it":      {a().Lifecycle(kruisev1alpha1.LifecyclePreparingUpdate), pod.Held, "hook inPlaceUpdate holds it"},
		"the hook after an update holds it":       {a().Lifecycle(kruisev1alpha1.LifecycleUpdated), pod.Held, "hook inPlaceUpdate holds it"},
		"the hook before its deletion holds it":   {a().NotReady().Lifecycle(kruisev1alpha1.LifecyclePreparingDelete), pod.Held, "hook preDelete holds it"},
		"its lifecycle state is nonsense":         {a().Lifecycle("Napping"), pod.Held, `its lifecycle state "Napping" is not known`},
		"evicted":                                 {a().Failed("Evicted"), pod.Finished, "it has failed: Evicted"},
		"failed without a reason":                 {a().Failed(""), pod.Finished, "it has failed"},
		"ended well":                              {a().With(phase(corev1.PodSucceeded)), pod.Finished, "it has ended"},
		"being deleted, whatever else":            {a().Failed("Evicted").Terminating(at(30)), pod.Terminating, "it is being deleted"},
		"being deleted although it is still fine": {a().Terminating(at(30)), pod.Terminating, "it is being deleted"},
	} {
		t.Run(name, func(t *testing.T) {
			p := test.pod.Build()
			if got := pod.StateOf(p, 10, at(100)); got != test.state {
				t.Errorf("StateOf = %v, want %v", got, test.state)
			}
			if got := pod.WaitingFor(p); got != test.waiting {
				t.Errorf("WaitingFor = %q, want %q", got, test.waiting)
			}
		})
	}
}

func TestEveryStateHasItsOwnWord(t *testing.T) {
	words := map[string]bool{pod.State(0).String(): true}
	for _, state := range pod.States() {
		word := state.String()
		if words[word] || strings.ContainsAny(word, " \t") {
			t.Errorf("state %d has the word %q", state, word)
		}
		words[word] = true
	}
}

func unready(p *corev1.Pod) {
	for i := range p.Status.Conditions {
		if p.Status.Conditions[i].Type == corev1.PodReady {
			p.Status.Conditions[i].Status = corev1.ConditionFalse
		}
	}
}

func gate(t corev1.PodConditionType) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.ReadinessGates = append(p.Spec.ReadinessGates, corev1.PodReadinessGate{ConditionType: t})
	}
}

func waitingFor(reason string) corev1.ContainerState {
	return corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason}}
}

func waiting(reason string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Status.ContainerStatuses[0].State = waitingFor(reason)
		p.Status.ContainerStatuses[0].Ready = false
	}
}

func ended(code int32) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		unready(p)
		p.Status.ContainerStatuses[0].State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code}}
		p.Status.ContainerStatuses[0].Ready = false
	}
}

func initContainer(name string, sidecar bool, state corev1.ContainerState) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		c := corev1.Container{Name: name}
		if sidecar {
			c.RestartPolicy = ptr.To(corev1.ContainerRestartPolicyAlways)
		}
		p.Spec.InitContainers = append(p.Spec.InitContainers, c)
		p.Status.InitContainerStatuses = append(p.Status.InitContainerStatuses, corev1.ContainerStatus{Name: name, State: state})
	}
}
