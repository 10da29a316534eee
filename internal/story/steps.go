// SPDX-License-Identifier: Apache-2.0

package story

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
func (p *play) carryOut(s step.Step) {
	switch s := s.(type) {
	case step.CreatePod:
		p.create(s.Pod)
	case step.DeletePod:
		p.modify(s.Target, func(c *corev1.Pod) { c.DeletionTimestamp = ptr.To(metav1.NewTime(p.scene.Now)) })
	case step.ReleasePod:
		p.scene.Pods = slices.DeleteFunc(p.scene.Pods, func(c *corev1.Pod) bool { return c.UID == s.UID })
		p.scene.Taken[s.Name] = true // it lives on under its name
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
		stored.UID, stored.ResourceVersion, stored.CreationTimestamp = p.uid(), p.version(), metav1.NewTime(p.scene.Now)
		p.scene.Revisions = append(p.scene.Revisions, revision.Decode(stored))
	case step.AdoptRevision:
		p.adopt(s)
	case step.RenumberRevision:
		for i, r := range p.scene.Revisions {
			if r.Name == s.Name {
				stored := r.Object.DeepCopy()
				stored.Revision, stored.ResourceVersion = s.Number, p.version()
				p.scene.Revisions[i] = revision.Decode(stored)
			}
		}
	case step.ForgetRevision:
		p.scene.Revisions = slices.DeleteFunc(p.scene.Revisions, func(r revision.Revision) bool { return r.Name == s.Name })
	case step.CreateClaim:
		claim := s.Claim.DeepCopy()
		claim.UID, claim.ResourceVersion = p.uid(), p.version()
		bind(claim)
		p.scene.Claims = append(p.scene.Claims, claim)
	case step.DeleteClaim:
		p.drop(func(c *corev1.PersistentVolumeClaim) bool { return c.UID == s.UID })
	case step.GiveClaim:
		p.modifyClaim(s.Target, func(c *corev1.PersistentVolumeClaim) { c.OwnerReferences = s.Owners })
	case step.ResizeClaim:
		p.modifyClaim(s.Target, func(c *corev1.PersistentVolumeClaim) {
			c.Spec.Resources = s.Resources
			bind(c)
		})
	case step.AdoptPod:
		p.adoptPod(s)
	case step.TrimPodsToDelete:
		p.set.Trim(s)
	default: // what touches neither pods nor revisions has no consequences that are told
	}
	revision.Sort(p.scene.Revisions)
}

func (p *play) drop(which func(*corev1.PersistentVolumeClaim) bool) {
	p.scene.Claims = slices.DeleteFunc(p.scene.Claims, which)
}

// goesWith tells whether a claim is deleted when an object is.
func goesWith(c *corev1.PersistentVolumeClaim, owner types.UID) bool {
	return slices.ContainsFunc(c.OwnerReferences, func(o metav1.OwnerReference) bool { return o.UID == owner })
}

func (p *play) modifyClaim(t step.Target, change func(*corev1.PersistentVolumeClaim)) {
	for i, c := range p.scene.Claims {
		if c.UID == t.UID {
			changed := c.DeepCopy()
			change(changed)
			changed.ResourceVersion = p.version()
			p.scene.Claims[i] = changed
		}
	}
}

// bind is what the storage makes of a claim: a volume of the size that is asked for.
func bind(c *corev1.PersistentVolumeClaim) {
	c.Status.Phase, c.Status.Capacity = corev1.ClaimBound, c.Spec.Resources.Requests.DeepCopy()
}

func (p *play) adopt(s step.AdoptRevision) {
	for _, r := range p.scene.Orphans {
		if r.Name == s.Name {
			stored := r.Object.DeepCopy()
			stored.OwnerReferences, stored.ResourceVersion = s.Owners, p.version()
			p.scene.Revisions = append(p.scene.Revisions, revision.Decode(stored))
		}
	}
	p.scene.Orphans = slices.DeleteFunc(p.scene.Orphans, func(r revision.Revision) bool { return r.Name == s.Name })
}

// adoptPod brings a stray pod to the set's own.
func (p *play) adoptPod(s step.AdoptPod) {
	for _, stray := range p.scene.Strays {
		if stray.UID == s.UID {
			adopted := stray.DeepCopy()
			adopted.OwnerReferences, adopted.ResourceVersion = append(adopted.OwnerReferences, s.Owner), p.version()
			p.scene.Pods = append(p.scene.Pods, adopted)
			p.touched[s.UID] = true
			delete(p.scene.Taken, s.Name)
		}
	}
	p.scene.Strays = slices.DeleteFunc(p.scene.Strays, func(c *corev1.Pod) bool { return c.UID == s.UID })
}

func (p *play) create(from *corev1.Pod) {
	created := from.DeepCopy()
	created.UID, created.ResourceVersion, created.Generation = p.uid(), p.version(), 1
	created.CreationTimestamp = metav1.NewTime(p.scene.Now.Truncate(pace))
	created.Status = corev1.PodStatus{Phase: corev1.PodPending, Conditions: created.Status.Conditions}
	p.scene.Pods = append(p.scene.Pods, created)
	p.touched[created.UID] = true
}

// uid is one that no story gives which goes on from the end of this one: by then the time has moved.
func (p *play) uid() types.UID {
	p.serial++
	return types.UID(fmt.Sprintf("projected-%d-%d", p.scene.Now.Unix(), p.serial))
}

func (p *play) version() string {
	p.serial++
	return fmt.Sprintf("projected-%d", p.serial)
}

// modify changes a copy of the target, so that the world that was handed in stays as it is.
func (p *play) modify(t step.Target, change func(*corev1.Pod)) {
	i := slices.IndexFunc(p.scene.Pods, func(c *corev1.Pod) bool { return c.UID == t.UID })
	if i < 0 {
		return
	}
	changed := p.scene.Pods[i].DeepCopy()
	change(changed)
	changed.ResourceVersion = p.version()
	p.scene.Pods[i] = changed
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
