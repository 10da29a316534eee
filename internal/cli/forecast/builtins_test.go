// SPDX-License-Identifier: Apache-2.0

package forecast

import (
	"fmt"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"slipway.dev/slipway/internal/story"
	"slipway.dev/slipway/test/builders"
	"slipway.dev/slipway/test/golden"
)

func metaOf(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: builders.Namespace, Name: name, UID: "web-uid", ResourceVersion: "1", CreationTimestamp: metav1.NewTime(builders.Epoch())}
}

func template() corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: builders.Container, Image: builders.Image}}},
	}
}

var selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}

// podOf is an available pod of an owner.
func podOf(name, hash, node string, owner client.Object, kind string) *corev1.Pod {
	p := builders.Pod(name).Label(appsv1.ControllerRevisionHashLabelKey, hash).Node(node).ReadySince(builders.Epoch()).Build()
	p.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(owner, appsv1.SchemeGroupVersion.WithKind(kind))}
	return p
}

// foretell writes a golden text of a built-in kind.
func foretell(t *testing.T, k Kind, name string, live Live, wanted client.Object) {
	t.Helper()
	f, err := New("web.yaml", k, live, wanted, builders.Epoch().Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	golden.Lines(t, name+".txt", f.Lines(false))
	if quiet := strings.HasSuffix(name, "nothing"); quiet == f.ChangesAnything() {
		t.Errorf("changes anything: %v", f.ChangesAnything())
	}
}

func TestDeployments(t *testing.T) {
	type d = *appsv1.Deployment
	image := func(d d) { newImage(&d.Spec.Template) }
	recreate := func(d d) { d.Spec.Strategy = appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType} }
	for name, test := range map[string]struct {
		live, edit func(d)
		isNew      bool
	}{
		"nothing": {},
		"new":     {isNew: true},
		"rolling": {edit: image},
		"no-surge": {edit: func(d d) {
			image(d)
			d.Spec.Strategy.RollingUpdate = &appsv1.RollingUpdateDeployment{MaxSurge: ptr.To(intstr.FromInt32(0)), MaxUnavailable: ptr.To(intstr.FromInt32(2))}
		}},
		"recreate":   {live: recreate, edit: image},
		"paused":     {edit: func(d d) { image(d); d.Spec.Paused = true }},
		"scale-up":   {edit: func(d d) { *d.Spec.Replicas = 6 }},
		"scale-down": {edit: func(d d) { *d.Spec.Replicas = 1 }},
		"both":       {edit: func(d d) { image(d); *d.Spec.Replicas = 6; d.Spec.MinReadySeconds = 10 }},
	} {
		t.Run(name, func(t *testing.T) {
			web := &appsv1.Deployment{ObjectMeta: metaOf("web"), Spec: appsv1.DeploymentSpec{Replicas: ptr.To[int32](4), Selector: selector, Template: template()}}
			if test.live != nil {
				test.live(web)
			}
			var live Live
			if !test.isNew {
				rs := &appsv1.ReplicaSet{ObjectMeta: metaOf("web-5d4f"), Spec: appsv1.ReplicaSetSpec{Replicas: ptr.To[int32](4), Selector: selector, Template: template()}}
				rs.UID, rs.Labels = "rs-uid", map[string]string{"pod-template-hash": "5d4f"}
				rs.Spec.Template.Labels["pod-template-hash"] = "5d4f"
				rs.Annotations = map[string]string{"deployment.kubernetes.io/desired-replicas": "4"}
				rs.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(web, deployments().GVK)}
				live = Live{Object: web, Beside: []client.Object{rs}}
				for i := range 4 {
					live.Pods = append(live.Pods, podOf(fmt.Sprintf("web-5d4f-p%d", i), "", "n", rs, "ReplicaSet"))
				}
			}
			wanted := web.DeepCopy()
			if test.edit != nil {
				test.edit(wanted)
			}
			foretell(t, deployments(), "deployment-"+name, live, wanted)
		})
	}
}

func TestBuiltInStatefulSets(t *testing.T) {
	type s = *appsv1.StatefulSet
	image := func(s s) { newImage(&s.Spec.Template) }
	partition := func(n int32) func(s) {
		return func(s s) {
			image(s)
			s.Spec.UpdateStrategy.RollingUpdate = &appsv1.RollingUpdateStatefulSetStrategy{Partition: &n}
		}
	}
	for name, test := range map[string]struct {
		live, edit func(s)
		isNew      bool
	}{
		"nothing":            {},
		"new":                {isNew: true},
		"rolling":            {edit: image},
		"parallel":           {live: func(s s) { s.Spec.PodManagementPolicy = appsv1.ParallelPodManagement }, edit: func(s s) { image(s); *s.Spec.Replicas = 5 }},
		"partition":          {edit: partition(2)},
		"partition-and-more": {edit: func(s s) { partition(4)(s); *s.Spec.Replicas = 5 }},
		"on-delete":          {edit: func(s s) { image(s); s.Spec.UpdateStrategy.Type = appsv1.OnDeleteStatefulSetStrategyType }},
		"scale-up":           {edit: func(s s) { *s.Spec.Replicas = 5 }},
		"scale-down":         {edit: func(s s) { *s.Spec.Replicas = 1 }},
	} {
		t.Run(name, func(t *testing.T) {
			web := &appsv1.StatefulSet{ObjectMeta: metaOf("web"), Spec: appsv1.StatefulSetSpec{Replicas: ptr.To[int32](3), Selector: selector, Template: template()}}
			if test.live != nil {
				test.live(web)
			}
			var live Live
			if !test.isNew {
				web.Status.CurrentRevision, web.Status.UpdateRevision = "web-6b7c", "web-6b7c"
				live = Live{Object: web}
				for i := range 3 {
					live.Pods = append(live.Pods, podOf(fmt.Sprintf("web-%d", i), "web-6b7c", "n", web, "StatefulSet"))
				}
			}
			wanted := web.DeepCopy()
			if test.edit != nil {
				test.edit(wanted)
			}
			foretell(t, builtInStatefulSets(), "builtin-statefulset-"+name, live, wanted)
		})
	}
}

func TestDaemonSets(t *testing.T) {
	type s = *appsv1.DaemonSet
	image := func(s s) { newImage(&s.Spec.Template) }
	zones := map[string]map[string]string{}
	for i := range 4 {
		zones[fmt.Sprintf("node-%d", i)] = map[string]string{"zone": string(rune('a' + i%2))}
	}
	inZone := func(s s) { s.Spec.Template.Spec.NodeSelector = map[string]string{"zone": "b"} }
	rolling := func(surge, unavailable int32) func(s) {
		return func(s s) {
			image(s)
			s.Spec.UpdateStrategy.RollingUpdate = &appsv1.RollingUpdateDaemonSet{MaxSurge: ptr.To(intstr.FromInt32(surge)), MaxUnavailable: ptr.To(intstr.FromInt32(unavailable))}
		}
	}
	for name, test := range map[string]struct {
		edit     func(s)
		isNew    bool
		nodeless bool
	}{
		"nothing":       {},
		"new":           {isNew: true},
		"new-nodeless":  {isNew: true, nodeless: true},
		"rolling":       {edit: image},
		"two-at-a-time": {edit: rolling(0, 2)},
		"surge":         {edit: rolling(2, 0)},
		"on-delete":     {edit: func(s s) { image(s); s.Spec.UpdateStrategy.Type = appsv1.OnDeleteDaemonSetStrategyType }},
		"fewer-nodes":   {edit: inZone},
		"nodes-by-names": {edit: func(s s) {
			s.Spec.Template.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
				NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchFields: []corev1.NodeSelectorRequirement{{Key: "metadata.name", Operator: corev1.NodeSelectorOpNotIn, Values: []string{"node-3"}}}}},
			}}}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			web := &appsv1.DaemonSet{ObjectMeta: metaOf("web"), Spec: appsv1.DaemonSetSpec{Selector: selector, Template: template()}}
			live := Live{Objects: story.Objects{NodeLabels: zones}}
			if test.nodeless {
				live.NodeLabels = nil
			}
			if !test.isNew {
				web.Status.DesiredNumberScheduled, web.Status.UpdatedNumberScheduled = 4, 4
				live.Object = web
				for i := range 4 {
					live.Pods = append(live.Pods, podOf(fmt.Sprintf("web-p%d", i), "6b7c", fmt.Sprintf("node-%d", i), web, "DaemonSet"))
				}
			}
			wanted := web.DeepCopy()
			if test.edit != nil {
				test.edit(wanted)
			}
			foretell(t, daemonSets(), "daemonset-"+name, live, wanted)
		})
	}
}
