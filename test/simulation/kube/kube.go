// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"slipway.dev/slipway/internal/revision"
	"slipway.dev/slipway/test/simulation/api"
	"slipway.dev/slipway/test/simulation/world"
)

// Controllers are those of one world.
type Controllers struct {
	*world.World
	// Stopped: they are out of order, and see nothing.
	Stopped bool
	made    int
}

// Step returns what one of them would do next; nil for nothing.
func (c *Controllers) Step() func() {
	if c.Stopped {
		return nil
	}
	for _, kind := range []struct {
		stored api.Kind
		next   func(client.Object) func()
	}{
		{api.Deployments, func(o client.Object) func() { return c.deployment(o.(*appsv1.Deployment)) }},
		{api.ReplicaSets, func(o client.Object) func() { return c.replicaSet(o.(*appsv1.ReplicaSet)) }},
		{api.BuiltInStatefulSets, func(o client.Object) func() { return c.statefulSet(o.(*appsv1.StatefulSet)) }},
		{api.DaemonSets, func(o client.Object) func() { return c.daemonSet(o.(*appsv1.DaemonSet)) }},
	} {
		for _, o := range c.Server.List(kind.stored) {
			if o.GetDeletionTimestamp() != nil {
				continue
			}
			if act := kind.next(o); act != nil {
				return act
			}
		}
	}
	return nil
}

// Wakes is when a pod of theirs becomes available by the time alone; zero for never.
func (c *Controllers) Wakes() time.Time {
	var next time.Time
	for _, stored := range []api.Kind{api.ReplicaSets, api.BuiltInStatefulSets, api.DaemonSets} {
		for _, o := range c.Server.List(stored) {
			minReady := minReadySeconds(o)
			if minReady == 0 {
				continue
			}
			for _, pod := range c.active(o) {
				if !world.Ready(pod) || world.Available(pod, minReady, c.Clock.Now()) {
					continue
				}
				at := world.Condition(pod, corev1.PodReady).LastTransitionTime.Add(time.Duration(minReady) * time.Second)
				if next.IsZero() || at.Before(next) {
					next = at
				}
			}
		}
	}
	return next
}

func minReadySeconds(o client.Object) int32 {
	switch o := o.(type) {
	case *appsv1.ReplicaSet:
		return o.Spec.MinReadySeconds
	case *appsv1.StatefulSet:
		return o.Spec.MinReadySeconds
	case *appsv1.DaemonSet:
		return o.Spec.MinReadySeconds
	}
	return 0
}

// all are the pods of a set with those that are on their way out, and active the others.
func (c *Controllers) all(set client.Object) []*corev1.Pod {
	return slices.DeleteFunc(c.Pods(), func(pod *corev1.Pod) bool { return !metav1.IsControlledBy(pod, set) })
}

func (c *Controllers) active(set client.Object) []*corev1.Pod {
	return slices.DeleteFunc(c.all(set), func(pod *corev1.Pod) bool { return !world.Active(pod) })
}

func (c *Controllers) number() int {
	c.made++
	return c.made
}

// revisionOf is the name of the revision of a template.
func revisionOf(set client.Object, template *corev1.PodTemplateSpec) (name, hash string, data []byte) {
	data, err := revision.Data(template)
	if err != nil {
		panic(fmt.Sprintf("a template has no JSON form: %v", err))
	}
	name, hash = revision.Name(set.GetName(), data, 0)
	return name, hash, data
}

// record stores the revision of a template, and numbers it as the newest. It does nothing when that is so already.
func (c *Controllers) record(set client.Object, kind string, template *corev1.PodTemplateSpec) {
	name, hash, data := revisionOf(set, template)
	newest, last := int64(0), ""
	for _, o := range c.Server.List(api.Revisions) {
		if r := o.(*appsv1.ControllerRevision); metav1.IsControlledBy(r, set) && r.Revision > newest {
			newest, last = r.Revision, r.Name
		}
	}
	if last == name {
		return
	}
	key := client.ObjectKey{Namespace: set.GetNamespace(), Name: name}
	if c.Server.Get(api.Revisions, key) != nil {
		c.Must(c.Server.Modify(actor, api.Revisions, key, api.Main, func(o client.Object) { o.(*appsv1.ControllerRevision).Revision = newest + 1 }))
		return
	}
	labels := map[string]string{appsv1.ControllerRevisionHashLabelKey: hash}
	for k, v := range template.Labels {
		labels[k] = v
	}
	c.Must(c.Server.Create(actor, &appsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: set.GetNamespace(), Name: name, Labels: labels,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(set, appsv1.SchemeGroupVersion.WithKind(kind))},
		},
		Data: runtime.RawExtension{Raw: data}, Revision: newest + 1,
	}))
}

// templateOf is the template that a revision holds; nil when there is no such revision.
func (c *Controllers) templateOf(set client.Object, name string) *corev1.PodTemplateSpec {
	stored, is := c.Server.Get(api.Revisions, client.ObjectKey{Namespace: set.GetNamespace(), Name: name}).(*appsv1.ControllerRevision)
	if !is {
		return nil
	}
	var data struct {
		Spec struct {
			Template corev1.PodTemplateSpec `json:"template"`
		} `json:"spec"`
	}
	if err := json.Unmarshal(stored.Data.Raw, &data); err != nil {
		panic(fmt.Sprintf("revision %s cannot be read: %v", name, err))
	}
	return &data.Spec.Template
}

// actor is who writes.
const actor = "kubernetes"

func (c *Controllers) create(set client.Object, template *corev1.PodTemplateSpec, name, kind string, change func(*corev1.Pod)) {
	pod := &corev1.Pod{ObjectMeta: *template.ObjectMeta.DeepCopy(), Spec: *template.Spec.DeepCopy()}
	pod.Namespace, pod.Name = set.GetNamespace(), name
	pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(set, appsv1.SchemeGroupVersion.WithKind(kind))}
	if change != nil {
		change(pod)
	}
	c.Must(c.Server.Create(actor, pod))
	c.Tell("kubernetes: creates %s", name)
	c.Notice()
}

func (c *Controllers) remove(pod *corev1.Pod) {
	if err := c.Server.Delete(actor, api.Pods, client.ObjectKeyFromObject(pod), nil, &metav1.Preconditions{UID: &pod.UID}); err != nil {
		panic(fmt.Sprintf("the deletion of a controller of Kubernetes failed: %v", err))
	}
	c.Tell("kubernetes: deletes %s", pod.Name)
	c.Notice()
}

func (c *Controllers) report(set client.Object, change func(client.Object)) {
	c.Bench.Look() // what it has seen, the judge must have seen
	c.Must(c.Server.Modify(actor, api.KindOf(set), client.ObjectKeyFromObject(set), api.Status, change))
	c.Tell("kubernetes: reports on %s", set.GetName())
}
