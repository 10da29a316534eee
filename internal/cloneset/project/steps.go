// SPDX-License-Identifier: Apache-2.0

package project

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	"slipway.dev/slipway/internal/revision"
	"slipway.dev/slipway/internal/step"
)

// carryOut does what the API server does with a step.
func (p *projection) carryOut(s step.Step) {
	switch s := s.(type) {
	case step.CreatePod:
		p.create(s.Pod)
	case step.DeletePod:
		p.modify(s.Target, func(c *corev1.Pod) { c.DeletionTimestamp = ptr.To(metav1.NewTime(p.now)) })
	case step.ReleasePod:
		p.world.Pods = slices.DeleteFunc(p.world.Pods, func(c *corev1.Pod) bool { return c.UID == s.UID })
		p.world.Taken[s.Name] = true // it lives on under its name
	case step.PatchPod:
		p.modify(s.Target, func(c *corev1.Pod) {
			setConditions(c, s.Conditions)
			patch(c, s.Patch)
		})
	case step.SetConditions:
		p.modify(s.Target, func(c *corev1.Pod) { setConditions(c, s.Conditions) })
	case step.UpdateInPlace:
		p.modify(s.Target, func(c *corev1.Pod) {
			setConditions(c, s.Drain)
			resize(c, s.Resize)
			patch(c, s.Patch)
		})
	case step.CreateRevision:
		stored := s.Revision.DeepCopy()
		stored.UID, stored.ResourceVersion, stored.CreationTimestamp = p.uid(), p.version(), metav1.NewTime(p.now)
		p.world.Revisions = append(p.world.Revisions, revision.Decode(stored))
	case step.AdoptRevision:
		p.adopt(s)
	case step.RenumberRevision:
		for i, r := range p.world.Revisions {
			if r.Name == s.Name {
				stored := r.Object.DeepCopy()
				stored.Revision, stored.ResourceVersion = s.Number, p.version()
				p.world.Revisions[i] = revision.Decode(stored)
			}
		}
	case step.ForgetRevision:
		p.world.Revisions = slices.DeleteFunc(p.world.Revisions, func(r revision.Revision) bool { return r.Name == s.Name })
	case step.CreateClaim:
		claim := s.Claim.DeepCopy()
		claim.UID, claim.ResourceVersion = p.uid(), p.version()
		p.world.Claims = append(p.world.Claims, claim)
	case step.DeleteClaim:
		p.dropClaim(s.UID)
	case step.GiveClaim: // it goes with its pod, which is about to go
		p.dropClaim(s.UID)
	case step.TrimPodsToDelete:
		p.world.Set.Spec.ScaleStrategy.PodsToDelete = s.Keep
	default: // what touches neither pods nor revisions has no consequences that are told
	}
	revision.Sort(p.world.Revisions)
}

func (p *projection) dropClaim(uid types.UID) {
	p.world.Claims = slices.DeleteFunc(p.world.Claims, func(c *corev1.PersistentVolumeClaim) bool { return c.UID == uid })
}

func (p *projection) adopt(s step.AdoptRevision) {
	for _, r := range p.world.Orphans {
		if r.Name == s.Name {
			stored := r.Object.DeepCopy()
			stored.OwnerReferences, stored.ResourceVersion = append(stored.OwnerReferences, s.Owner), p.version()
			p.world.Revisions = append(p.world.Revisions, revision.Decode(stored))
		}
	}
	p.world.Orphans = slices.DeleteFunc(p.world.Orphans, func(r revision.Revision) bool { return r.Name == s.Name })
}

func (p *projection) create(from *corev1.Pod) {
	created := from.DeepCopy()
	created.UID, created.ResourceVersion, created.Generation = p.uid(), p.version(), 1
	created.CreationTimestamp = metav1.NewTime(p.now.Truncate(pace))
	created.Status = corev1.PodStatus{Phase: corev1.PodPending, Conditions: created.Status.Conditions}
	p.world.Pods = append(p.world.Pods, created)
	p.touched[created.UID] = true
}

// uid is one that no other story gives which goes on from here: by then the time has moved.
func (p *projection) uid() types.UID {
	p.serial++
	return types.UID(fmt.Sprintf("projected-%d-%d", p.now.Unix(), p.serial))
}

func (p *projection) version() string {
	p.serial++
	return fmt.Sprintf("projected-%d", p.serial)
}

// modify changes a copy of the target, so that the world that was handed in stays as it is.
func (p *projection) modify(t step.Target, change func(*corev1.Pod)) {
	i := slices.IndexFunc(p.world.Pods, func(c *corev1.Pod) bool { return c.UID == t.UID })
	if i < 0 {
		return
	}
	changed := p.world.Pods[i].DeepCopy()
	change(changed)
	changed.ResourceVersion = p.version()
	p.world.Pods[i] = changed
	p.touched[t.UID] = true
}

func setConditions(c *corev1.Pod, conditions []corev1.PodCondition) {
	for _, condition := range conditions {
		i := slices.IndexFunc(c.Status.Conditions, func(old corev1.PodCondition) bool { return old.Type == condition.Type })
		if i < 0 {
			c.Status.Conditions = append(c.Status.Conditions, condition)
			continue
		}
		c.Status.Conditions[i] = condition
	}
}

func patch(c *corev1.Pod, change step.Patch) {
	c.Labels = patched(c.Labels, change.Labels)
	c.Annotations = patched(c.Annotations, change.Annotations)
	for _, finalizer := range change.AddFinalizers {
		if !slices.Contains(c.Finalizers, finalizer) {
			c.Finalizers = append(c.Finalizers, finalizer)
		}
	}
	c.Finalizers = slices.DeleteFunc(c.Finalizers, func(f string) bool { return slices.Contains(change.RemoveFinalizers, f) })
	specChanges := false
	for i := range c.Spec.Containers {
		if image, changes := change.Images[c.Spec.Containers[i].Name]; changes {
			c.Spec.Containers[i].Image = image
			specChanges = true
		}
	}
	if specChanges {
		c.Generation++
	}
}

func patched(values map[string]string, change map[string]*string) map[string]string {
	if values == nil && len(change) > 0 {
		values = map[string]string{}
	}
	for key, value := range change {
		if value == nil {
			delete(values, key)
			continue
		}
		values[key] = *value
	}
	return values
}

// prepares tells whether a patch begins what a lifecycle hook comes before.
func prepares(change step.Patch) bool {
	state := ptr.Deref(change.Labels[kruisev1alpha1.LabelLifecycleState], "")
	return state == string(kruisev1alpha1.LifecyclePreparingUpdate) || state == string(kruisev1alpha1.LifecyclePreparingDelete)
}

// resize changes amounts of containers, and has the node follow at once.
func resize(c *corev1.Pod, amounts map[string]corev1.ResourceRequirements) {
	for i := range c.Spec.Containers {
		spec := &c.Spec.Containers[i]
		change, changes := amounts[spec.Name]
		if !changes {
			continue
		}
		spec.Resources.Requests = withAmounts(spec.Resources.Requests, change.Requests)
		spec.Resources.Limits = withAmounts(spec.Resources.Limits, change.Limits)
		c.Generation++
		if status := statusOf(c, spec.Name); status != nil {
			status.Resources, status.AllocatedResources = spec.Resources.DeepCopy(), spec.Resources.Requests.DeepCopy()
		}
	}
}

func withAmounts(amounts, change corev1.ResourceList) corev1.ResourceList {
	for name, amount := range change {
		if amounts == nil {
			amounts = corev1.ResourceList{}
		}
		amounts[name] = amount
	}
	return amounts
}
