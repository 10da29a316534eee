// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kruisev1beta1 "slipway.dev/slipway/api/kruise/v1beta1"
	"slipway.dev/slipway/internal/claim"
	"slipway.dev/slipway/internal/revision"
	"slipway.dev/slipway/internal/step"
)

func (p *pass) templates() []*corev1.PersistentVolumeClaim {
	return claim.Templates(p.world.Set.Spec.VolumeClaimTemplates)
}

func (p *pass) volumes(podName string, from revision.Revision) []corev1.Volume {
	named := func(template string) string { return claim.Name(template, podName) }
	return claim.Volumes(p.templates(), named, from.Written.Spec.Volumes)
}

// blocked says why a pod cannot have its claims yet; empty when it can.
func (p *pass) blocked(podName string) string {
	for _, t := range p.templates() {
		c := p.world.Claims[claim.Name(t.Name, podName)]
		switch {
		case c == nil:
		case c.DeletionTimestamp != nil:
			return fmt.Sprintf("claim %s is being deleted", c.Name)
		case p.retention().scaled && refersTo(c, podName):
			return fmt.Sprintf("claim %s is about to be deleted with the pod before", c.Name)
		}
	}
	return ""
}

// createClaims creates the claims that a new pod lacks. Those that exist are used, whoever made them.
func (p *pass) createClaims(podName string, why step.Because) {
	for _, t := range p.templates() {
		if p.world.Claims[claim.Name(t.Name, podName)] == nil {
			p.creations = append(p.creations, step.CreateClaim{Because: why, Claim: p.newClaim(t, podName), Pod: podName})
		}
	}
}

// restoreClaims creates claims anew that somebody has deleted before their pod could start: it would wait for them for
// ever.
func (p *pass) restoreClaims(m *Member) {
	wanted := claim.Mounts(m.Pod)
	for _, t := range p.templates() {
		if name := claim.Name(t.Name, m.Pod.Name); slices.Contains(wanted, name) && p.world.Claims[name] == nil {
			p.creations = append(p.creations, step.CreateClaim{
				Because: "its pod mounts it and it is gone", Claim: p.newClaim(t, m.Pod.Name), Pod: m.Pod.Name,
			})
		}
	}
}

func (p *pass) newClaim(t *corev1.PersistentVolumeClaim, podName string) *corev1.PersistentVolumeClaim {
	set := p.world.Set
	meta := metav1.ObjectMeta{Namespace: set.Namespace, Name: claim.Name(t.Name, podName), Labels: set.Spec.Selector.MatchLabels}
	if p.retention().deleted {
		meta.OwnerReferences = []metav1.OwnerReference{setOwner(set)}
	}
	return claim.New(t, meta)
}

// resizes tells whether claims that exist follow their templates.
func (p *pass) resizes() bool {
	return p.world.Set.Spec.VolumeClaimUpdateStrategy.Type == kruisev1beta1.OnPodRollingUpdateVolumeClaimUpdateStrategyType
}

// forClaims visits the claims of a pod that are there to stay, each with its template.
func (p *pass) forClaims(podName string, visit func(c, t *corev1.PersistentVolumeClaim)) {
	for _, t := range p.templates() {
		if c := p.world.Claims[claim.Name(t.Name, podName)]; c != nil && c.DeletionTimestamp == nil {
			visit(c, t)
		}
	}
}

// claimsBehind tells whether a claim of a pod is not what its template asks for.
func (p *pass) claimsBehind(m *Member) (behind bool) {
	if p.resizes() {
		p.forClaims(m.Pod.Name, func(c, t *corev1.PersistentVolumeClaim) { behind = behind || !claim.Compatible(c, t) })
	}
	return behind
}

// grows tells whether a volume of the position has not its size yet.
func (p *pass) grows(s *slot) (grows bool) {
	if p.resizes() {
		p.forClaims(s.name, func(c, _ *corev1.PersistentVolumeClaim) { grows = grows || claim.Growing(c) })
	}
	return grows
}

// grow enlarges the claims of a pod that are too small. It returns true when it does, and settled when nothing is left to
// be done but what needs the pod. A claim that cannot become what its template asks for holds its pod, and no other.
func (p *pass) grow(m *Member) (grown, settled bool) {
	if !p.resizes() {
		return false, true
	}
	settled = true
	refused := false
	var steps []step.Step
	p.forClaims(m.Pod.Name, func(c, t *corev1.PersistentVolumeClaim) {
		switch differs := claim.Differs(c, t); {
		case differs != "":
			refused = true
			p.tell(&p.plan.RefusedClaims, fmt.Sprintf("claim %s of pod %s: %s is not that of its template, and only a size can change", c.Name, m.Pod.Name, differs))
		case claim.TooSmall(c, t) && p.rigid(c):
			refused = true
			p.tell(&p.plan.RefusedClaims, fmt.Sprintf("claim %s of pod %s is smaller than its template, and its storage class lets no volume grow", c.Name, m.Pod.Name))
		case claim.TooSmall(c, t):
			steps = append(steps, resize(p.world.Set, c, t, m.Pod.Name))
		case !claim.Finished(c) && c.Status.Phase == corev1.ClaimBound:
			settled = false
			p.hold(fmt.Sprintf("pod %s waits: claim %s is being resized", m.Pod.Name, c.Name))
		}
	})
	if refused {
		return false, false
	}
	for _, s := range steps {
		p.doToClaim(m.Pod.Name, s)
	}
	return len(steps) > 0, settled
}

func resize(set *kruisev1beta1.StatefulSet, c, t *corev1.PersistentVolumeClaim, podName string) step.ResizeClaim {
	return step.ResizeClaim{
		Because: step.Because(fmt.Sprintf("its template asks for %s", t.Spec.Resources.Requests.Storage())),
		Target:  step.On(c), Pod: podName, Resources: *t.Spec.Resources.DeepCopy(),
		Annotations: map[string]string{kruisev1beta1.AnnotationOwnedByStatefulSet: set.Name},
	}
}

// rigid tells whether the volume of a claim cannot grow. A claim of no class at all has nobody to forbid it.
func (p *pass) rigid(c *corev1.PersistentVolumeClaim) bool {
	switch class := c.Spec.StorageClassName; {
	case class == nil:
		return p.world.Rigid[""]
	case *class == "":
		return false
	default:
		return p.world.Rigid[*class]
	}
}

// countClaims tells how far the claims of live pods follow their templates.
func (p *pass) countClaims() {
	for _, t := range p.templates() {
		count := ClaimCount{Template: t.Name}
		for i := range p.slots {
			c := p.world.Claims[claim.Name(t.Name, p.slots[i].name)]
			if p.slots[i].member == nil || c == nil || c.DeletionTimestamp != nil || !claim.Compatible(c, t) {
				continue
			}
			count.Compatible++
			if claim.Ready(c) {
				count.Ready++
			}
		}
		p.plan.Claims = append(p.plan.Claims, count)
	}
}
