// SPDX-License-Identifier: Apache-2.0

package plan

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	kruisev1beta1 "slipway.dev/slipway/api/kruise/v1beta1"
	"slipway.dev/slipway/internal/pod"
	"slipway.dev/slipway/internal/revision"
)

// record finds out which revision the template is, adopts revisions that lost their owner, and sets both sides of the
// release. It returns false when the revision has to be created first: pods must not carry the name of a revision that
// does not exist.
func (p *pass) record() bool {
	set := p.world.Set
	entry := revision.Books{
		Owner: set, Reference: ownerReference(set), Live: p.world.Live, Own: p.world.Revisions, Orphans: p.world.Orphans,
		Current: set.Status.CurrentRevision, Taken: p.world.Taken, CollisionCount: ptr.Deref(set.Status.CollisionCount, 0),
	}.Record()
	p.asked.Update, p.current = entry.Update, entry.Current
	p.plan.Steps = append(p.plan.Steps, entry.Steps...)
	p.plan.UpdateRevision, p.plan.CurrentRevision = entry.Update.Name, entry.Current.Name
	p.plan.CollisionCount, p.plan.Invalid = entry.CollisionCount, entry.Err
	return entry.Recorded
}

func ownerReference(set *kruisev1beta1.StatefulSet) metav1.OwnerReference {
	return *metav1.NewControllerRef(set, kruisev1beta1.GroupVersion.WithKind(kruisev1beta1.StatefulSetKind))
}

// tidy forgets history. It runs in every pass and holds nothing up.
func (p *pass) tidy() {
	kept := []string{p.asked.Update.Hash, p.current.Hash}
	for _, m := range p.members {
		kept = append(kept, pod.RevisionHash(m.Pod))
	}
	limit := int(ptr.Deref(p.world.Set.Spec.RevisionHistoryLimit, 10))
	p.plan.Steps = append(p.plan.Steps, revision.Forget(p.world.Revisions, kept, limit)...)
}
