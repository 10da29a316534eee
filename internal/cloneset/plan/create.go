// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	"slipway.dev/slipway/internal/member"
	"slipway.dev/slipway/internal/revision"
)

// newPod is a pod of the set made from a revision.
func (p *pass) newPod(from revision.Revision, id string) *corev1.Pod {
	set := p.world.Set
	created := p.asked.New(from, metav1.ObjectMeta{
		Namespace: set.Namespace, Name: podName(set, id), Labels: map[string]string{kruisev1alpha1.LabelInstanceID: id},
		OwnerReferences: []metav1.OwnerReference{ownerReference(set)},
	})
	created.Spec.Volumes = withClaims(set, id, from.Written.Spec.Volumes)
	return created
}

func podName(set *kruisev1alpha1.CloneSet, id string) string { return set.Name + "-" + id }

// names gives out ids for new pods: the first of a fixed sequence that nothing uses.
//
// The sequence depends on the set alone: see member.ID.
type names struct {
	pass *pass
	used map[string]bool
	n    int
}

func (p *pass) newNames() *names {
	used := maps.Clone(p.world.Taken)
	if used == nil {
		used = map[string]bool{}
	}
	for _, existing := range p.world.Pods {
		used[existing.Name] = true
	}
	for _, doomed := range p.world.Set.Spec.ScaleStrategy.PodsToDelete {
		used[doomed] = true // a new pod of that name would be chosen for deletion at once
	}
	return &names{pass: p, used: used}
}

func (n *names) next() string {
	for {
		set, held := n.pass.world.Set, n.pass.holdings()
		id := member.ID(set.UID, n.n)
		n.n++
		// A claim may be in the way of a name as well: one that is on its way out, or that has lost its label.
		if name := podName(set, id); !n.used[name] && held.instances[id] == nil && !n.pass.hasClaim(id) {
			n.used[name] = true
			return id
		}
	}
}
