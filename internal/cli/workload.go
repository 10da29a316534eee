// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cafev1alpha1 "slipway.dev/slipway/api/cafe/v1alpha1"
	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	kruisev1beta1 "slipway.dev/slipway/api/kruise/v1beta1"
	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	"slipway.dev/slipway/internal/budget"
	"slipway.dev/slipway/internal/cli/sets"
	"slipway.dev/slipway/internal/rollout/engine"
)

// workloadKind is a kind of workloads that rollouts know without being told.
type workloadKind struct {
	id schema.GroupVersionKind
	// names are what people write for it: in the singular, in the plural, and short.
	names []string
	// versions: it holds two versions of its template at once.
	versions bool
	// pause is the path of the field, below spec, that keeps its pods as they are. Without one it is held otherwise: see hold.
	pause []string
}

func workloadKinds() []workloadKind {
	return []workloadKind{
		{id: appsv1.SchemeGroupVersion.WithKind("Deployment"), names: []string{"deployment", "deployments", "deploy"}},
		{id: appsv1.SchemeGroupVersion.WithKind("StatefulSet"), names: []string{"statefulset", "statefulsets", "sts"}, versions: true},
		{id: appsv1.SchemeGroupVersion.WithKind("DaemonSet"), names: []string{"daemonset", "daemonsets", "ds"}, versions: true},
		{id: kruisev1alpha1.GroupVersion.WithKind(kruisev1alpha1.CloneSetKind), names: []string{"cloneset", "clonesets", "clone"}, versions: true,
			pause: []string{"updateStrategy", "paused"}},
		{id: kruisev1beta1.GroupVersion.WithKind(kruisev1beta1.StatefulSetKind), names: []string{"statefulset", "statefulsets", "sts", "asts"}, versions: true,
			pause: []string{"updateStrategy", "rollingUpdate", "paused"}},
		{id: cafev1alpha1.GroupVersion.WithKind(cafev1alpha1.InPlaceSetKind), names: []string{"inplaceset", "inplacesets", "ips"}, versions: true,
			pause: []string{"strategy", "paused"}},
		{id: cafev1alpha1.GroupVersion.WithKind(cafev1alpha1.CafeDeploymentKind), names: []string{"cafedeployment", "cafedeployments", "cafe"}, versions: true,
			pause: []string{"strategy", "pause"}},
	}
}

// knownWorkload is the kind of a reference; false for one that only the manager may know.
func knownWorkload(ref rolloutv1alpha1.WorkloadReference) (workloadKind, bool) {
	id := schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind)
	for _, k := range workloadKinds() {
		if k.id == id {
			return k, true
		}
	}
	return workloadKind{}, false
}

// readRef reads KIND/NAME, KIND.GROUP/NAME or GROUP/VERSION/KIND/NAME.
func readRef(flag, text string) (rolloutv1alpha1.WorkloadReference, error) {
	at := strings.LastIndex(text, "/")
	if at <= 0 || at == len(text)-1 {
		return rolloutv1alpha1.WorkloadReference{}, fmt.Errorf("--%s %q: write it as KIND/NAME, like deployment/web", flag, text)
	}
	kind, name := text[:at], text[at+1:]
	if at := strings.LastIndex(kind, "/"); at > 0 {
		return rolloutv1alpha1.WorkloadReference{APIVersion: kind[:at], Kind: kind[at+1:], Name: name}, nil
	}
	var found []workloadKind
	var known []string
	for _, k := range workloadKinds() {
		if slices.ContainsFunc(k.names, func(n string) bool { return strings.EqualFold(kind, n) || strings.EqualFold(kind, n+"."+k.id.Group) }) {
			found = append(found, k)
		}
		if !slices.Contains(known, k.names[0]) {
			known = append(known, k.names[0])
		}
	}
	switch len(found) {
	case 0:
		return rolloutv1alpha1.WorkloadReference{}, fmt.Errorf("--%s %q: the kind is not known, only: %s; others are written in full, like example.com/v1/Widget/%s",
			flag, text, strings.Join(known, ", "), name)
	case 1:
		return rolloutv1alpha1.WorkloadReference{APIVersion: found[0].id.GroupVersion().String(), Kind: found[0].id.Kind, Name: name}, nil
	}
	var full []string
	for _, k := range found {
		full = append(full, fmt.Sprintf("%s.%s/%s", k.names[0], k.id.Group, name))
	}
	return rolloutv1alpha1.WorkloadReference{}, fmt.Errorf("--%s %q: which one? Write %s", flag, text, strings.Join(full, " or "))
}

// shown is the kind as the commands that edit want it.
func (k workloadKind) shown() shownKind {
	return shownKind{shown: sets.Kind[*unstructured.Unstructured]{GVK: k.id}, command: k.names[0], plural: k.names[1], pause: k.pause}
}

// read reads a workload of the kind.
func (k workloadKind) read(ctx context.Context, c client.Reader, namespace, name string) (*unstructured.Unstructured, error) {
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(k.id)
	err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, o)
	return o, err
}

// seen is what can be said of a workload without its pods, for a look ahead.
func (k workloadKind) seen(o *unstructured.Unstructured) engine.Workload {
	w := engine.Workload{
		Found: true, Versions: k.versions, Seen: true, Template: "newest", Replicas: sizeOf(o), Differs: k.versions && !released(o),
		Going: o.GetDeletionTimestamp() != nil,
	}
	w.Pods = int(number(o, w.Replicas, "status", "replicas"))
	if owner := metav1.GetControllerOf(o); owner != nil && owner.Kind != rolloutv1alpha1.RolloutTraitKind {
		w.Owner = owner.Kind + " " + owner.Name
	}
	return w
}

// sizeOf is how many pods a workload is asked for. That of a DaemonSet is for the nodes to say.
func sizeOf(o *unstructured.Unstructured) int {
	if o.GetKind() == "DaemonSet" {
		return int(number(o, 0, "status", "desiredNumberScheduled"))
	}
	return int(number(o, 1, "spec", "replicas"))
}

func number(o *unstructured.Unstructured, otherwise int, path ...string) int64 {
	if n, found, err := unstructured.NestedInt64(o.Object, path...); err == nil && found {
		return n
	}
	return int64(otherwise)
}

// released tells whether the status says that all pods are on the newest template. A status that is older than the spec says
// nothing.
func released(o *unstructured.Unstructured) bool {
	if number(o, 0, "status", "observedGeneration") < o.GetGeneration() {
		return false
	}
	updated := "updatedReplicas"
	if o.GetKind() == "DaemonSet" {
		updated = "updatedNumberScheduled"
	}
	return int(number(o, -1, "status", updated)) >= sizeOf(o)
}

// hold changes a workload so that none of its pods moves for a new template, and says how.
func (k workloadKind) hold(o *unstructured.Unstructured) (string, error) {
	set := func(value any, path ...string) (string, error) {
		path = append([]string{"spec"}, path...)
		if err := unstructured.SetNestedField(o.Object, value, path...); err != nil {
			return "", fmt.Errorf("setting %s: %w", strings.Join(path, "."), err)
		}
		return fmt.Sprintf("%s is %v", strings.Join(path, "."), value), nil
	}
	strategy, _, _ := unstructured.NestedString(o.Object, "spec", "updateStrategy", "type")
	switch {
	case strategy == "OnDelete":
		return "spec.updateStrategy.type is OnDelete", nil
	case len(k.pause) > 0:
		return set(true, k.pause...)
	case k.id.Kind == "DaemonSet":
		unstructured.RemoveNestedField(o.Object, "spec", "updateStrategy", "rollingUpdate")
		return set("OnDelete", "updateStrategy", "type")
	}
	return set(pastLast(o), "updateStrategy", "rollingUpdate", "partition")
}

// moves tells whether pods go to the newest template without a rollout: nothing that people write holds all of them.
func (k workloadKind) moves(o *unstructured.Unstructured) bool {
	if strategy, _, _ := unstructured.NestedString(o.Object, "spec", "updateStrategy", "type"); strategy == "OnDelete" || k.isHeld(o) {
		return false
	}
	if len(k.pause) == 0 {
		return true
	}
	path := append([]string{"spec"}, k.pause...)
	path[len(path)-1] = "partition" // it stands beside the pause
	held, found, err := unstructured.NestedFieldNoCopy(o.Object, path...)
	if err != nil || !found {
		return true
	}
	n, err := budget.Resolve(ptr.To(intstr.Parse(fmt.Sprint(held))), sizeOf(o), budget.Up, strings.Join(path, "."))
	return err != nil || n < sizeOf(o)
}

// isHeld tells whether no pod moves for a new template. Of OnDelete it cannot be told why it stands there.
func (k workloadKind) isHeld(o *unstructured.Unstructured) bool {
	switch {
	case len(k.pause) > 0:
		paused, _, _ := unstructured.NestedBool(o.Object, append([]string{"spec"}, k.pause...)...)
		return paused
	case k.id.Kind == "StatefulSet":
		return sizeOf(o) > 0 && number(o, 0, "spec", "updateStrategy", "rollingUpdate", "partition") >= pastLast(o)
	}
	return false
}

// pastLast is the partition of a StatefulSet that holds back all pods.
func pastLast(o *unstructured.Unstructured) int64 {
	return number(o, 0, "spec", "ordinals", "start") + int64(sizeOf(o))
}
