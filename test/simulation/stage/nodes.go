// SPDX-License-Identifier: Apache-2.0

package stage

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"slipway.dev/slipway/internal/pod"
	"slipway.dev/slipway/test/builders"
	"slipway.dev/slipway/test/simulation/api"
)

// Nodes run every pod, and let go those that are to be deleted. Images with the tag broken never get ready.
func (s *Stage[S]) Nodes() {
	s.Helper()
	for _, p := range s.Pods() {
		key := client.ObjectKeyFromObject(p)
		if p.DeletionTimestamp != nil {
			if now := int64(0); ptr.Deref(p.DeletionGracePeriodSeconds, 1) > 0 {
				if err := s.Server.Delete("node", api.Pods, key, &now, nil); err != nil {
					s.Fatal(err)
				}
			}
			continue
		}
		if p.Spec.NodeName == "" {
			s.Must(s.Server.Modify("node", api.Pods, key, api.Binding, func(o client.Object) { o.(*corev1.Pod).Spec.NodeName = "node-1" }))
		}
		s.Must(s.Server.Modify("node", api.Pods, key, api.Status, func(o client.Object) { s.Run(o.(*corev1.Pod), inService(o.(*corev1.Pod))) }))
	}
}

// inService is what a node says of a pod whose containers are ready: its gates decide.
func inService(p *corev1.Pod) corev1.ConditionStatus {
	for _, g := range p.Spec.ReadinessGates {
		if c := pod.Condition(p, g.ConditionType); c == nil || c.Status != corev1.ConditionTrue {
			return corev1.ConditionFalse
		}
	}
	return corev1.ConditionTrue
}

// Run has a pod report that its containers run from the images of its spec, and whether it is ready.
func (s *Stage[S]) Run(p *corev1.Pod, ready corev1.ConditionStatus) {
	b := builders.Pod(p.Name).With(func(scratch *corev1.Pod) { scratch.Spec.Containers = p.Spec.Containers }).ReadySince(builders.Epoch())
	if strings.HasSuffix(p.Spec.Containers[0].Image, ":broken") {
		b, ready = b.Waiting("ImagePullBackOff"), corev1.ConditionFalse
	}
	status := b.Build().Status
	for i := range status.ContainerStatuses {
		if c := &status.ContainerStatuses[i]; c.ContainerID != "" {
			c.ContainerID += "-" + c.Image
		}
	}
	p.Status.Phase, p.Status.ContainerStatuses, p.Status.ObservedGeneration = status.Phase, status.ContainerStatuses, p.Generation
	p.Status.StartTime = &p.CreationTimestamp
	for _, kind := range []corev1.PodConditionType{corev1.ContainersReady, corev1.PodReady} {
		c := pod.Condition(p, kind)
		if c == nil {
			p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: kind})
			c = pod.Condition(p, kind)
		}
		if c.Status != ready {
			c.Status, c.Reason, c.Message, c.LastTransitionTime = ready, "", "", metav1.NewTime(s.Clock.Now())
		}
	}
}
