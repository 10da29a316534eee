// SPDX-License-Identifier: Apache-2.0

package api

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	oamv1beta1 "slipway.dev/slipway/api/oam/v1beta1"
)

// protection keeps a claim as long as pods use it.
const protection = "kubernetes.io/pvc-protection"

func immutableUID(kind Kind, obj client.Object, uid types.UID) error {
	return invalid(kind, obj, field.NewPath("metadata", "uid"), uid, "field is immutable")
}

func invalid(kind Kind, obj client.Object, path *field.Path, value any, detail string) error {
	return apierrors.NewInvalid(kind.groupKind(), obj.GetName(), field.ErrorList{field.Invalid(path, value, detail)})
}

// prepareForCreate sets what the server decides about a new object.
func prepareForCreate(obj client.Object) {
	if divided[KindOf(obj)] {
		_, status := halves(obj)
		status.SetZero()
		obj.SetGeneration(1)
		return
	}
	switch o := obj.(type) {
	case *corev1.Pod:
		o.Status = corev1.PodStatus{Phase: corev1.PodPending, QOSClass: qualityOf(&o.Spec)}
		o.Generation = 1
		if o.Spec.RestartPolicy == "" {
			o.Spec.RestartPolicy = corev1.RestartPolicyAlways
		}
		if o.Spec.TerminationGracePeriodSeconds == nil {
			o.Spec.TerminationGracePeriodSeconds = ptr.To[int64](corev1.DefaultTerminationGracePeriodSeconds)
		}
		for i := range o.Spec.Containers {
			if o.Spec.Containers[i].ImagePullPolicy == "" {
				o.Spec.Containers[i].ImagePullPolicy = corev1.PullIfNotPresent
			}
		}
	case *corev1.PersistentVolumeClaim:
		o.Status = corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimPending}
		if !slices.Contains(o.Finalizers, protection) {
			o.Finalizers = append(o.Finalizers, protection)
		}
	}
}

func validateCreate(obj client.Object) error {
	pod, isPod := obj.(*corev1.Pod)
	if isPod && len(pod.Spec.Containers) == 0 {
		return invalid(Pods, obj, field.NewPath("spec", "containers"), nil, "a pod needs a container")
	}
	for k, v := range obj.GetLabels() {
		if len(v) > 63 {
			return invalid(KindOf(obj), obj, field.NewPath("metadata", "labels").Key(k), v, "must be no more than 63 characters")
		}
	}
	for _, o := range obj.GetOwnerReferences() {
		if o.UID == "" || o.Name == "" || o.Kind == "" || o.APIVersion == "" {
			return invalid(KindOf(obj), obj, field.NewPath("metadata", "ownerReferences"), o, "must be complete")
		}
	}
	return validateControllers(obj)
}

// validateControllers: only one owner may be the controller.
func validateControllers(obj client.Object) error {
	controllers := 0
	for _, o := range obj.GetOwnerReferences() {
		if ptr.Deref(o.Controller, false) {
			controllers++
		}
	}
	if controllers > 1 {
		return invalid(KindOf(obj), obj, field.NewPath("metadata", "ownerReferences"), obj.GetOwnerReferences(), "Only one reference can have Controller set to true")
	}
	return nil
}

// prepareForUpdate confines a write to its subresource, validates it, and counts the generation.
func prepareForUpdate(sub Subresource, before, after client.Object) error {
	if divided[KindOf(before)] {
		return prepareDivided(sub, before, after)
	}
	switch old := before.(type) {
	case *oamv1beta1.ApplicationRevision:
		if next := after.(*oamv1beta1.ApplicationRevision); !apiequality.Semantic.DeepEqual(old.Spec, next.Spec) {
			return invalid(ApplicationRevisions, old, field.NewPath("spec"), nil, "a revision is never changed")
		}
	case *corev1.Pod:
		return preparePod(sub, old, after.(*corev1.Pod))
	case *corev1.PersistentVolumeClaim:
		if next := after.(*corev1.PersistentVolumeClaim); sub == Status {
			next.Spec = old.Spec
		} else {
			next.Status = old.Status
		}
	}
	return nil
}

// prepareDivided: a write of the status may touch neither metadata nor spec, and any other one not the status.
func prepareDivided(sub Subresource, before, after client.Object) error {
	oldSpec, oldStatus := halves(before)
	newSpec, newStatus := halves(after)
	if sub == Status {
		*metaOf(after) = *metaOf(before).DeepCopy()
		newSpec.Set(oldSpec)
		return nil
	}
	newStatus.Set(oldStatus)
	if apiequality.Semantic.DeepEqual(oldSpec.Addr().Interface(), newSpec.Addr().Interface()) {
		return nil
	}
	if set, is := before.(*kruisev1alpha1.CloneSet); is {
		if selector := after.(*kruisev1alpha1.CloneSet).Spec.Selector; !apiequality.Semantic.DeepEqual(set.Spec.Selector, selector) {
			return invalid(CloneSets, before, field.NewPath("spec", "selector"), selector, "field is immutable")
		}
	}
	after.SetGeneration(after.GetGeneration() + 1)
	return nil
}

// Status writes of pods may carry metadata, as on a real server, but neither spec nor owner references.
func preparePod(sub Subresource, before, after *corev1.Pod) error {
	switch sub {
	case Status:
		after.Spec = before.Spec
		after.OwnerReferences = before.OwnerReferences
		return nil
	case Binding:
		if before.Spec.NodeName != "" {
			return apierrors.NewConflict(Pods.resource(), before.Name, fmt.Errorf("pod %s is already assigned to node %q", before.Name, before.Spec.NodeName))
		}
		node := after.Spec.NodeName
		after.Spec = *before.Spec.DeepCopy()
		after.Spec.NodeName = node
		return nil
	case Resize:
		return resize(before, after)
	}
	after.Status = before.Status
	if apiequality.Semantic.DeepEqual(before.Spec, after.Spec) {
		return nil
	}
	if err := podSpecMayBecome(before, after); err != nil {
		return err
	}
	after.Generation++
	return nil
}

// resize lets CPU and memory of containers change, and nothing else: whatever else was in the write is dropped.
func resize(before, after *corev1.Pod) error {
	path := field.NewPath("spec", "containers")
	if len(before.Spec.Containers) != len(after.Spec.Containers) {
		return invalid(Pods, before, path, nil, "pod updates may not add or remove containers")
	}
	next := before.DeepCopy()
	for i := range next.Spec.Containers {
		c := &next.Spec.Containers[i]
		old := c.Resources
		c.Resources = after.Spec.Containers[i].Resources
		for _, lists := range [][2]corev1.ResourceList{{old.Limits, c.Resources.Limits}, {old.Requests, c.Resources.Requests}} {
			for name := range lists[0] {
				if _, kept := lists[1][name]; !kept {
					return invalid(Pods, before, path.Index(i).Child("resources"), name, "resources cannot be removed")
				}
			}
			for name, amount := range lists[1] {
				if resizable := name == corev1.ResourceCPU || name == corev1.ResourceMemory; !resizable && !apiequality.Semantic.DeepEqual(amount, lists[0][name]) {
					return invalid(Pods, before, path.Index(i).Child("resources"), name, "only cpu and memory resources are mutable")
				}
			}
		}
	}
	if quality := qualityOf(&next.Spec); quality != before.Status.QOSClass {
		return invalid(Pods, before, field.NewPath("spec"), quality, "Pod QOS Class may not change as a result of resizing")
	}
	*after = *next
	if !apiequality.Semantic.DeepEqual(before.Spec, after.Spec) {
		after.Generation++
	}
	return nil
}

// qualityOf is the QoS class of a pod: guaranteed when each container has equal limits and requests of CPU and memory, best
// effort when none has any.
func qualityOf(spec *corev1.PodSpec) corev1.PodQOSClass {
	some, all := false, true
	for i := range spec.Containers {
		r := &spec.Containers[i].Resources
		some = some || len(r.Requests)+len(r.Limits) > 0
		for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
			limit, limited := r.Limits[name]
			request, requested := r.Requests[name]
			all = all && limited && (!requested || request.Cmp(limit) == 0)
		}
	}
	switch {
	case !some:
		return corev1.PodQOSBestEffort
	case all:
		return corev1.PodQOSGuaranteed
	}
	return corev1.PodQOSBurstable
}

// podSpecMayBecome allows what the API server lets change in a pod's spec: images, and two fields nobody here writes.
func podSpecMayBecome(before, after *corev1.Pod) error {
	if len(before.Spec.Containers) != len(after.Spec.Containers) || len(before.Spec.InitContainers) != len(after.Spec.InitContainers) {
		return invalid(Pods, before, field.NewPath("spec", "containers"), nil, "pod updates may not add or remove containers")
	}
	munged := after.Spec.DeepCopy()
	for i := range munged.Containers {
		if munged.Containers[i].Image == "" {
			return invalid(Pods, before, field.NewPath("spec", "containers").Index(i).Child("image"), "", "required")
		}
		munged.Containers[i].Image = before.Spec.Containers[i].Image
	}
	for i := range munged.InitContainers {
		munged.InitContainers[i].Image = before.Spec.InitContainers[i].Image
	}
	if !apiequality.Semantic.DeepEqual(before.Spec, *munged) {
		return invalid(Pods, before, field.NewPath("spec"), nil, "pod updates may not change fields other than `spec.containers[*].image`")
	}
	return nil
}
