// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"slipway.dev/slipway/internal/claim"
	"slipway.dev/slipway/internal/revision"
	"slipway.dev/slipway/internal/step"
)

// create creates the pod of a position and the claims that it lacks. It returns false when that cannot be done now.
func (p *pass) create(s *slot) bool {
	if s.inTheWay != "" {
		p.hold(fmt.Sprintf("pod %s cannot be created: %s", s.name, s.inTheWay))
		return false
	}
	if why := p.blocked(s.name); why != "" {
		p.hold(fmt.Sprintf("pod %s cannot be created yet: %s", s.name, why))
		return false
	}
	from := p.revisionFor(s)
	volumes := p.volumes(s.name, from)
	if container, volume := claim.Lacking(&from.Written.Spec, volumes); volume != "" {
		p.plan.Uncreatable = fmt.Sprintf("pods of revision %s cannot be created: container %s mounts volume %q, for which there is neither a volume nor a claim template",
			from.Name, container, volume)
		p.hold(p.plan.Uncreatable)
		return false
	}
	p.own(s.name, nil)
	why := step.Because(fmt.Sprintf("there is no pod at position %d", s.position))
	p.createClaims(s.name, why)
	p.creations = append(p.creations, step.CreatePod{Because: why, Pod: p.newPod(s, from, volumes)})
	if from.Hash != p.asked.Update.Hash {
		p.older++
	}
	return true
}

func (p *pass) newPod(s *slot, from revision.Revision, volumes []corev1.Volume) *corev1.Pod {
	set := p.world.Set
	created := p.asked.New(from, metav1.ObjectMeta{
		Namespace: set.Namespace, Name: s.name, Labels: identity(s.name, s.ordinal),
		OwnerReferences: []metav1.OwnerReference{ownerReference(set)},
	})
	created.Spec.Hostname, created.Spec.Subdomain, created.Spec.Volumes = s.name, set.Spec.ServiceName, volumes
	return created
}

// revisionFor is the revision of a pod that is created: the current one for those that the partition keeps. Where
// ordinals do not matter, that is as many as are missing on older revisions.
func (p *pass) revisionFor(s *slot) revision.Revision {
	if !updates(p.world.Set) {
		return p.asked.Update
	}
	below := s.position
	if p.unordered() {
		below = p.older
	}
	if below >= p.plan.Limits.Partition {
		return p.asked.Update
	}
	return p.current
}
