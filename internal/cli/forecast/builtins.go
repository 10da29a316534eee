// SPDX-License-Identifier: Apache-2.0

package forecast

import (
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"slipway.dev/slipway/internal/builtin"
	"slipway.dev/slipway/internal/story"
)

func deployments() Kind {
	return Kind{
		GVK: appsv1.SchemeGroupVersion.WithKind("Deployment"), Title: "Deployment",
		Selector: on(func(d *appsv1.Deployment) *metav1.LabelSelector { return d.Spec.Selector }),
		Template: on(func(d *appsv1.Deployment) *corev1.PodTemplateSpec { return &d.Spec.Template }),
		Default:  inPlace(defaultDeployment),
		Beside:   func(client.Object) []client.ObjectList { return []client.ObjectList{&appsv1.ReplicaSetList{}} },
		Tell: func(wanted client.Object, live Live, now time.Time) (story.Story, error) {
			l := builtin.Live{Pods: live.Pods}
			for _, o := range live.Beside {
				l.ReplicaSets = append(l.ReplicaSets, o.(*appsv1.ReplicaSet)) // nothing else was asked for
			}
			return builtin.Deployment(wanted.(*appsv1.Deployment), l, now)
		},
	}
}

func builtInStatefulSets() Kind {
	return Kind{
		GVK: appsv1.SchemeGroupVersion.WithKind("StatefulSet"), Title: "StatefulSet",
		Selector: on(func(s *appsv1.StatefulSet) *metav1.LabelSelector { return s.Spec.Selector }),
		Template: on(func(s *appsv1.StatefulSet) *corev1.PodTemplateSpec { return &s.Spec.Template }),
		Default:  inPlace(defaultStatefulSet),
		Tell: func(wanted client.Object, live Live, now time.Time) (story.Story, error) {
			before, _ := live.Object.(*appsv1.StatefulSet) // nil when there is none
			return builtin.StatefulSet(wanted.(*appsv1.StatefulSet), before, builtin.Live{Pods: live.Pods, Revisions: live.Revisions}, now)
		},
	}
}

func daemonSets() Kind {
	return Kind{
		GVK: appsv1.SchemeGroupVersion.WithKind("DaemonSet"), Title: "DaemonSet",
		Selector:  on(func(s *appsv1.DaemonSet) *metav1.LabelSelector { return s.Spec.Selector }),
		Template:  on(func(s *appsv1.DaemonSet) *corev1.PodTemplateSpec { return &s.Spec.Template }),
		Default:   inPlace(defaultDaemonSet),
		UsesNodes: func(client.Object) bool { return true }, NodesOfNew: true,
		Tell: func(wanted client.Object, live Live, now time.Time) (story.Story, error) {
			before, _ := live.Object.(*appsv1.DaemonSet) // nil when there is none
			return builtin.DaemonSet(wanted.(*appsv1.DaemonSet), before, builtin.Live{Pods: live.Pods, Revisions: live.Revisions, NodeLabels: live.NodeLabels}, now)
		},
	}
}
