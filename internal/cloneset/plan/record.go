// SPDX-License-Identifier: Apache-2.0

package plan

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	"slipway.dev/slipway/internal/revision"
)

// record finds out which revision the template is, adopts revisions that lost their owner, and sets both
// sides of the release. It returns false when the revision has to be created first.
func (p *pass) record() bool {
	set := p.world.Set
	entry := revision.Books{
		Owner: set, Reference: ownerReference(set), Live: p.world.Live, Own: p.world.Revisions, Orphans: p.world.Orphans,
		Current: set.Status.CurrentRevision, Taken: p.world.Taken, CollisionCount: ptr.Deref(set.Status.CollisionCount, 0),
		Annotations: p.claimHash,
	}.Record()
	p.plan.Steps = append(p.plan.Steps, entry.Steps...)
	p.plan.Invalid, p.plan.CollisionCount = entry.Err, entry.CollisionCount
	p.asked.Update, p.currentRevision = entry.Update, entry.Current
	p.plan.UpdateRevision, p.plan.CurrentRevision = entry.Update.Name, entry.Current.Name
	return entry.Recorded
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
