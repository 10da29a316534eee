// SPDX-License-Identifier: Apache-2.0

package story

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	"slipway.dev/slipway/internal/inplace"
	"slipway.dev/slipway/internal/lifecycle"
	"slipway.dev/slipway/internal/pod"
	"slipway.dev/slipway/internal/step"
)

// noteFailing remembers images that containers cannot start now. To foretell that they will would be a lie.
func (p *play) noteFailing() {
	for _, c := range p.scene.Pods {
		if !pod.IsActive(c) || c.Status.ObservedGeneration > 0 && c.Status.ObservedGeneration < c.Generation {
			continue // the node may not have seen the image that the spec has now
		}
		for i := range c.Spec.Containers {
			status := statusOf(c, c.Spec.Containers[i].Name)
			if status == nil || status.State.Waiting == nil {
				continue
			}
			switch reason := status.State.Waiting.Reason; reason {
			case "", "ContainerCreating", "PodInitializing":
			default:
				p.failing[c.Spec.Containers[i].Image] = fmt.Sprintf("%s on pod %s", reason, c.Name)
			}
		}
	}
}

// assume says what the story takes for granted.
func (p *play) assume() {
	for _, image := range slices.Sorted(maps.Keys(p.failing)) {
		p.story.Assumed = append(p.story.Assumed, fmt.Sprintf("image %s does not start now (%s): it is taken to fail everywhere", image, p.failing[image]))
	}
	if unready := p.story.Start.Total - p.story.Start.Available; unready > 0 && len(p.failing) == 0 {
		p.story.Assumed = append(p.story.Assumed, step.Counted(unready, "pod is not available now: it is taken to become so by itself", "pods are not available now: they are taken to become so by themselves"))
	}
	if p.set.Hooks.Configured() {
		p.story.Assumed = append(p.story.Assumed, p.set.HookOwners+" are taken to let go at once")
	}
	p.story.Assumed = append(p.story.Assumed, p.set.Assumed...)
}

// settle lets the scheduler, the nodes and the owners of hooks do all that there is to do. It returns whether there
// was anything.
func (p *play) settle() bool {
	changed := false
	p.scene.Pods = slices.DeleteFunc(p.scene.Pods, func(c *corev1.Pod) bool {
		gone := pod.IsTerminating(c)
		if gone {
			p.drop(func(claim *corev1.PersistentVolumeClaim) bool { return goesWith(claim, c.UID) })
		}
		changed = changed || gone
		return gone
	})
	for i, before := range p.scene.Pods {
		if !p.touched[before.UID] {
			continue
		}
		after := before.DeepCopy()
		if !pod.IsFinished(after) { // nothing runs in it any more, but its hooks still hold it
			if after.Spec.NodeName == "" {
				after.Spec.NodeName = p.place(after)
			}
			p.run(after)
		}
		letGo(after, p.set.Hooks)
		if !equality.Semantic.DeepEqual(before, after) {
			after.ResourceVersion = p.version()
			p.scene.Pods[i] = after
			changed = true
		}
	}
	clear(p.touched)
	return changed
}

// place chooses the node with the fewest pods of the set, the first by name of several.
func (p *play) place(c *corev1.Pod) string {
	if len(p.nodes) == 0 {
		return "a node for " + c.Name
	}
	used := map[string]int{}
	for _, other := range p.scene.Pods {
		if pod.IsActive(other) {
			used[other.Spec.NodeName]++
		}
	}
	return slices.MinFunc(slices.Sorted(slices.Values(p.nodes)), func(a, b string) int { return used[a] - used[b] })
}

// run is what a healthy node makes of a pod.
func (p *play) run(c *corev1.Pod) {
	restart := map[string]bool{}
	if progress, err := inplace.ProgressOf(c, p.scene.Now); err == nil && !progress.Finished && !progress.Holding {
		if record, err := inplace.RecordOf(c); err == nil && record != nil {
			for name, baseline := range record.LastContainerStatuses {
				status := statusOf(c, name)
				restart[name] = status == nil || status.ContainerID == baseline.ContainerID || status.Image != imageOf(c, name)
			}
		}
	}
	c.Status.Phase = corev1.PodRunning
	c.Status.ObservedGeneration = c.Generation
	if c.Status.StartTime == nil {
		c.Status.StartTime = ptr.To(metav1.NewTime(p.scene.Now.Truncate(pace)))
	}
	healthy := true
	for i := range c.Spec.Containers {
		healthy = p.runContainer(c, &c.Spec.Containers[i], restart[c.Spec.Containers[i].Name]) && healthy
	}
	p.show(c, corev1.PodScheduled, true)
	p.show(c, corev1.PodInitialized, true)
	p.show(c, corev1.ContainersReady, healthy)
	open := true
	for _, gate := range c.Spec.ReadinessGates {
		condition := pod.Condition(c, gate.ConditionType)
		ours := gate.ConditionType == kruisev1alpha1.ConditionInPlaceUpdateReady || gate.ConditionType == kruisev1alpha1.ConditionKruisePodReady
		if condition == nil && !ours {
			p.show(c, gate.ConditionType, true) // whoever asked for the gate is taken to open it
			continue
		}
		open = open && condition != nil && condition.Status == corev1.ConditionTrue
	}
	p.show(c, corev1.PodReady, healthy && open)
}

// runContainer brings one container up, and returns whether it is ready.
func (p *play) runContainer(c *corev1.Pod, spec *corev1.Container, restart bool) bool {
	status := statusOf(c, spec.Name)
	if status == nil {
		c.Status.ContainerStatuses = append(c.Status.ContainerStatuses, corev1.ContainerStatus{Name: spec.Name, Image: spec.Image})
		status = &c.Status.ContainerStatuses[len(c.Status.ContainerStatuses)-1]
	}
	start := status.State.Running == nil || restart
	if start && p.failing[spec.Image] != "" {
		if running := status.State.Running; running != nil {
			status.LastTerminationState = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{StartedAt: running.StartedAt, FinishedAt: metav1.NewTime(p.scene.Now)}}
		}
		if status.State.Waiting == nil {
			status.State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff"}}
		}
		if status.LastTerminationState.Terminated == nil {
			c.Status.Phase = corev1.PodPending // it has never run
		}
		status.Ready = false
		return false
	}
	if start {
		if status.ContainerID != "" {
			status.RestartCount++
		}
		status.ContainerID = fmt.Sprintf("projected://%s/%s/%d", c.UID, spec.Name, status.RestartCount)
		status.Image, status.ImageID = spec.Image, "projected://"+spec.Image
		status.State = corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(p.scene.Now.Truncate(pace))}}
	}
	status.Ready, status.Started = true, ptr.To(true)
	return true
}

func (p *play) show(c *corev1.Pod, kind corev1.PodConditionType, holds bool) {
	status := corev1.ConditionFalse
	if holds {
		status = corev1.ConditionTrue
	}
	if condition := pod.Condition(c, kind); condition != nil && condition.Status == status {
		return
	}
	setConditions(c, []corev1.PodCondition{{Type: kind, Status: status, LastTransitionTime: metav1.NewTime(p.scene.Now.Truncate(pace))}})
}

// letGo is what well-behaved owners of hooks do: they take their handlers off a pod that waits for them, and put them
// back, or on for the first time, where the pod waits for that.
func letGo(c *corev1.Pod, hooks lifecycle.Hooks) {
	switch pod.Lifecycle(c) {
	case kruisev1alpha1.LifecyclePreparingUpdate:
		takeOff(c, hooks.InPlaceUpdate)
	case kruisev1alpha1.LifecyclePreparingDelete:
		takeOff(c, hooks.PreDelete)
	case kruisev1alpha1.LifecycleUpdated:
		putOn(c, hooks.InPlaceUpdate)
	case kruisev1alpha1.LifecyclePreparingNormal:
		putOn(c, hooks.PreNormal)
	case kruisev1alpha1.LifecycleNormal, kruisev1alpha1.LifecycleUpdating:
	}
}

func takeOff(c *corev1.Pod, hook *kruisev1alpha1.LifecycleHook) {
	if hook == nil {
		return
	}
	for key, value := range hook.LabelsHandler {
		if c.Labels[key] == value {
			delete(c.Labels, key)
		}
	}
	c.Finalizers = slices.DeleteFunc(c.Finalizers, func(f string) bool { return slices.Contains(hook.FinalizersHandler, f) })
}

func putOn(c *corev1.Pod, hook *kruisev1alpha1.LifecycleHook) {
	if hook == nil {
		return
	}
	for key, value := range hook.LabelsHandler {
		c.Labels = patched(c.Labels, map[string]*string{key: &value})
	}
	for _, finalizer := range hook.FinalizersHandler {
		if !slices.Contains(c.Finalizers, finalizer) {
			c.Finalizers = append(c.Finalizers, finalizer)
		}
	}
}

func statusOf(c *corev1.Pod, name string) *corev1.ContainerStatus {
	for i := range c.Status.ContainerStatuses {
		if c.Status.ContainerStatuses[i].Name == name {
			return &c.Status.ContainerStatuses[i]
		}
	}
	return nil
}

func imageOf(c *corev1.Pod, name string) string {
	for i := range c.Spec.Containers {
		if c.Spec.Containers[i].Name == name {
			return c.Spec.Containers[i].Image
		}
	}
	return ""
}
