// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	"slipway.dev/slipway/internal/revision"
	"slipway.dev/slipway/internal/step"
)

// record finds out which revision the template is, adopts revisions that lost their owner, and sets both
// sides of the release. It returns false when the revision has to be created first: pods must not carry
// the name of a revision that does not exist.
func (p *pass) record() bool {
	set := p.world.Set
	for _, orphan := range p.world.Orphans {
		p.plan.Steps = append(p.plan.Steps, step.AdoptRevision{
			Because: "it matches the selector and nobody controls it", Target: step.On(orphan.Object), Owner: ownerReference(set),
		})
	}
	p.plan.CollisionCount = ptr.Deref(set.Status.CollisionCount, 0)
	listed := slices.Concat(p.world.Revisions, p.world.Orphans)
	revision.Sort(listed)
	recorded := true
	switch found := revision.Decide(listed, p.world.Live).(type) {
	case revision.Unchanged:
		p.updateRevision = found.Revision
	case revision.RollBack:
		p.updateRevision = found.Revision
		p.plan.Steps = append(p.plan.Steps, step.RenumberRevision{
			Because: step.Because("the template is that of this earlier revision again"),
			Target:  step.On(found.Revision.Object), Number: found.Number, Annotations: p.claimHash(),
		})
	case revision.New:
		recorded = false
		p.create(found)
	}
	p.plan.UpdateRevision = p.updateRevision.Name
	p.currentRevision = p.updateRevision
	for _, r := range listed {
		if r.Name == set.Status.CurrentRevision {
			p.currentRevision = r
		}
	}
	p.plan.CurrentRevision = p.currentRevision.Name
	return recorded
}

// create plans the revision of a new template, under the first name that is free.
func (p *pass) create(found revision.New) {
	set := p.world.Set
	for {
		object, err := revision.Draft{
			Owner: set, Reference: ownerReference(set), Template: found.Template, Number: found.Number,
			CollisionCount: p.plan.CollisionCount, Annotations: p.claimHash(),
		}.Object()
		if err != nil {
			p.plan.Invalid = fmt.Errorf("spec.template: %w", err)
			return
		}
		if p.world.Taken[object.Name] {
			p.plan.CollisionCount++
			continue
		}
		p.updateRevision = p.world.Live
		p.updateRevision.Name, p.updateRevision.Hash, p.updateRevision.Number = object.Name, revision.HashOf(object.Name), found.Number
		p.plan.Steps = append(p.plan.Steps, step.CreateRevision{Because: "no revision holds this template yet", Revision: object})
		return
	}
}

// claimHash is the annotation by which readers of revisions tell whether the claim templates have changed
// since; they are not part of a revision's data.
func (p *pass) claimHash() map[string]string {
	hash, err := revision.ClaimHash(p.world.Set.Spec.VolumeClaimTemplates)
	if err != nil {
		return nil // a missing hash counts as equal to every other
	}
	return map[string]string{kruisev1alpha1.AnnotationClaimTemplateHash: hash}
}

func ownerReference(set *kruisev1alpha1.CloneSet) metav1.OwnerReference {
	return *metav1.NewControllerRef(set, kruisev1alpha1.GroupVersion.WithKind("CloneSet"))
}
