// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	"slipway.dev/slipway/internal/claim"
	"slipway.dev/slipway/internal/pod"
	"slipway.dev/slipway/internal/revision"
	"slipway.dev/slipway/internal/step"
)

// deadAfter is how long after the end of its grace period a terminating pod is waited for. Then its node
// is taken for dead, and its place is filled under another name.
const deadAfter = 30 * time.Second

// instance is what carries one instance id: a pod, its claims, or both.
type instance struct {
	// pod is nil when there is none. Where several pods carry the id, it is an active one.
	pod *corev1.Pod
	// claims are the set's own, those included that are on their way out.
	claims []*corev1.PersistentVolumeClaim
}

// holdings are the claims and instances of a world, found once for each pass.
type holdings struct {
	instances map[string]*instance
	claims    map[string]*corev1.PersistentVolumeClaim // by name
	mounted   map[string][]*corev1.Pod                 // the pods that mount a claim and are not on their way out, by its name
}

// holdings are found when they are first asked for: most passes of most sets never do.
func (p *pass) holdings() *holdings {
	if p.held == nil {
		p.held = holdingsOf(&p.world)
	}
	return p.held
}

func holdingsOf(world *World) *holdings {
	h := &holdings{instances: map[string]*instance{}, claims: map[string]*corev1.PersistentVolumeClaim{}, mounted: map[string][]*corev1.Pod{}}
	at := func(id string) *instance {
		if h.instances[id] == nil {
			h.instances[id] = &instance{}
		}
		return h.instances[id]
	}
	for _, candidate := range world.Pods {
		if i := at(instanceID(world.Set, candidate)); i.pod == nil || pod.IsActive(candidate) {
			i.pod = candidate
		}
		if pod.IsTerminating(candidate) {
			continue
		}
		for _, name := range claim.Mounts(candidate) {
			h.mounted[name] = append(h.mounted[name], candidate)
		}
	}
	for _, claim := range world.Claims {
		h.claims[claim.Name] = claim
		if id := claim.Labels[kruisev1alpha1.LabelInstanceID]; id != "" {
			i := at(id)
			i.claims = append(i.claims, claim)
		}
	}
	return h
}

// instanceID is the id of a pod. Where somebody has removed the label, the name still holds it.
func instanceID(set *kruisev1alpha1.CloneSet, p *corev1.Pod) string {
	if id := p.Labels[kruisev1alpha1.LabelInstanceID]; id != "" {
		return id
	}
	if prefix := podName(set, ""); len(p.Name) > len(prefix) && p.Name[:len(prefix)] == prefix {
		return p.Name[len(prefix):]
	}
	return ""
}

func claimName(set *kruisev1alpha1.CloneSet, template, id string) string {
	return claim.Name(template, podName(set, id))
}

// withClaims adds a volume for each claim template to the volumes of the template.
func withClaims(set *kruisev1alpha1.CloneSet, id string, volumes []corev1.Volume) []corev1.Volume {
	named := func(template string) string { return claimName(set, template, id) }
	return claim.Volumes(claim.Templates(set.Spec.VolumeClaimTemplates), named, volumes)
}

// newClaim is the claim of one pod, made from a template.
func newClaim(set *kruisev1alpha1.CloneSet, t *corev1.PersistentVolumeClaim, id string) *corev1.PersistentVolumeClaim {
	labels := map[string]string{}
	maps.Copy(labels, set.Spec.Selector.MatchLabels)
	labels[kruisev1alpha1.LabelInstanceID] = id
	return claim.New(t, metav1.ObjectMeta{
		Namespace: set.Namespace, Name: claimName(set, t.Name, id), Labels: labels,
		OwnerReferences: []metav1.OwnerReference{ownerReference(set)},
	})
}

// claimsFor creates the claims that a new pod lacks.
func (p *pass) claimsFor(id, why string) {
	for _, t := range claim.Templates(p.world.Set.Spec.VolumeClaimTemplates) {
		if p.holdings().claims[claimName(p.world.Set, t.Name, id)] == nil {
			p.creations = append(p.creations, step.CreateClaim{
				Because: step.Because(why), Claim: newClaim(p.world.Set, t, id), Pod: podName(p.world.Set, id),
			})
		}
	}
}

// leaving tells whether a claim is on its way out: it is not to be counted on.
func (p *pass) leaving(claim *corev1.PersistentVolumeClaim) bool {
	return claim.DeletionTimestamp != nil || p.world.Owed[claim.UID]
}

// blocked tells whether a pod with the id would need a claim that cannot be had now.
func (p *pass) blocked(id string) bool {
	for _, t := range claim.Templates(p.world.Set.Spec.VolumeClaimTemplates) {
		name := claimName(p.world.Set, t.Name, id)
		if existing := p.holdings().claims[name]; p.world.Taken[name] || existing != nil && p.leaving(existing) {
			return true
		}
	}
	return false
}

// leftBehind are the ids whose claims wait for a new pod, the oldest claims first, so that an old view asks
// for the same names: those that can be used now, and those whose pod object is still in the way. The pods
// in the way are returned.
func (p *pass) leftBehind() (reusable []string, inTheWay []*corev1.Pod) {
	noReuse := p.world.Set.Spec.ScaleStrategy.DisablePVCReuse
	for _, id := range p.idsByAge() {
		name, holder := podName(p.world.Set, id), p.holdings().instances[id].pod
		switch {
		case p.blocked(id) || p.world.Taken[name] || slices.Contains(p.world.Set.Spec.ScaleStrategy.PodsToDelete, name):
		case holder == nil && p.world.Unseen[name] == nil && (!noReuse || p.prepared(name)):
			reusable = append(reusable, id)
		case holder == nil || noReuse || pod.IsActive(holder):
		case pod.IsTerminating(holder) && p.now.After(holder.DeletionTimestamp.Add(deadAfter)):
		default:
			inTheWay = append(inTheWay, holder)
		}
	}
	return reusable, inTheWay
}

// idsByAge are the ids that have a claim to stay, by the age of their oldest one.
func (p *pass) idsByAge() []string {
	oldest := map[string]time.Time{}
	for id, i := range p.holdings().instances {
		for _, claim := range i.claims {
			if p.leaving(claim) {
				continue
			}
			if known, has := oldest[id]; !has || claim.CreationTimestamp.Time.Before(known) {
				oldest[id] = claim.CreationTimestamp.Time
			}
		}
	}
	return slices.SortedFunc(maps.Keys(oldest), func(a, b string) int {
		return cmp.Or(oldest[a].Compare(oldest[b]), cmp.Compare(a, b))
	})
}

// idsFor are the ids of n new pods: first those that left claims behind, then fresh ones. Where the pod
// object of such an id is still in the way, the new pod is waited with, since only that name brings the
// claims back.
func (p *pass) idsFor(n int) []string {
	reusable, inTheWay := p.leftBehind()
	ids := reusable[:min(n, len(reusable))]
	waiting := inTheWay[:min(n-len(ids), len(inTheWay))]
	for _, holder := range waiting {
		p.hold(fmt.Sprintf("a new pod waits until pod %s is gone, whose claims it takes over", holder.Name))
		if pod.IsTerminating(holder) {
			// A second more: what is waited for is a time after that moment.
			p.lookAgainIn(holder.DeletionTimestamp.Add(deadAfter).Sub(p.now).Truncate(time.Second) + time.Second)
		}
	}
	fresh := p.newNames()
	for len(ids) < n-len(waiting) {
		ids = append(ids, fresh.next())
	}
	return ids
}

// tendClaims brings claims without an active pod where they belong: those of pods that we deleted go, and
// where claims are not reused, they go with their pod.
func (p *pass) tendClaims() {
	noReuse := p.world.Set.Spec.ScaleStrategy.DisablePVCReuse
	for _, claim := range p.world.Claims {
		id := claim.Labels[kruisev1alpha1.LabelInstanceID]
		if id == "" || claim.DeletionTimestamp != nil {
			continue
		}
		name, holder := podName(p.world.Set, id), p.holdings().instances[id].pod
		going := holder == nil || pod.IsTerminating(holder)
		switch {
		case p.world.Unseen[name] != nil || p.world.Taken[name]:
		case p.world.Owed[claim.UID] && going:
			p.deleteClaim(claim, name, "its pod was deleted")
		case !noReuse:
		case holder == nil && !p.prepared(name):
			p.deleteClaim(claim, name, "its pod is gone and claims are not reused (scaleStrategy.disablePVCReuse)")
		case holder != nil && !pod.IsActive(holder):
			p.giveClaim(claim, holder)
		}
	}
}

// prepared tells whether claims are there for a pod that only has yet to be created.
func (p *pass) prepared(podName string) bool {
	return p.world.Prepared[podName] && len(p.plan.Members) < p.plan.Limits.Replicas
}

// deleteClaim deletes a claim, unless a pod mounts it that is to stay.
func (p *pass) deleteClaim(claim *corev1.PersistentVolumeClaim, podName, why string) {
	for _, user := range p.holdings().mounted[claim.Name] {
		if user.Name != podName {
			return
		}
	}
	p.plan.Steps = append(p.plan.Steps, step.DeleteClaim{Because: step.Because(why), Target: step.On(claim), Pod: podName})
}

func (p *pass) giveClaim(claim *corev1.PersistentVolumeClaim, holder *corev1.Pod) {
	owners := slices.DeleteFunc(slices.Clone(claim.OwnerReferences), func(o metav1.OwnerReference) bool { return o.UID == p.world.Set.UID })
	owners = append(owners, metav1.OwnerReference{APIVersion: "v1", Kind: "Pod", Name: holder.Name, UID: holder.UID, Controller: ptr.To(true)})
	p.plan.Steps = append(p.plan.Steps, step.GiveClaim{
		Because: "claims are not reused (scaleStrategy.disablePVCReuse), so it goes with its pod",
		Target:  step.On(claim), Pod: holder.Name, Owners: owners,
	})
}

// deleteWith deletes the claims of a pod that is being deleted.
func (p *pass) deleteWith(doomed *corev1.Pod) {
	if len(p.world.Claims) == 0 {
		return
	}
	i := p.holdings().instances[instanceID(p.world.Set, doomed)]
	if i == nil || i.pod != doomed {
		return // somebody has given it the id of another pod, whose claims these are
	}
	for _, claim := range i.claims {
		if claim.DeletionTimestamp == nil {
			p.deleteClaim(claim, doomed.Name, "its pod is deleted")
		}
	}
}

// mend creates claims anew that somebody has deleted before their pod came to a node, where it would wait
// for them for ever.
func (p *pass) mend() {
	if len(p.world.Set.Spec.VolumeClaimTemplates) == 0 {
		return
	}
	for _, m := range p.plan.Members {
		if _, doomed := p.pods[m.Pod.UID].(step.DeletePod); doomed || m.Pod.Spec.NodeName != "" {
			continue
		}
		id, wanted := instanceID(p.world.Set, m.Pod), claim.Mounts(m.Pod)
		for _, t := range claim.Templates(p.world.Set.Spec.VolumeClaimTemplates) {
			name := claimName(p.world.Set, t.Name, id)
			if slices.Contains(wanted, name) && p.holdings().claims[name] == nil && !p.world.Taken[name] {
				p.plan.Steps = append(p.plan.Steps, step.CreateClaim{
					Because: "its pod mounts it and it is gone", Claim: newClaim(p.world.Set, t, id), Pod: m.Pod.Name,
				})
			}
		}
	}
}

// lostClaim names a claim of ours that a pod needs before it can come to a node, that is gone, and that mend cannot make
// again because its template is gone too. Empty when there is none, and for a pod whose successor would be refused for
// want of the same volume.
func (p *pass) lostClaim(waiting *corev1.Pod) string {
	if waiting.Spec.NodeName != "" {
		return ""
	}
	for i := range waiting.Spec.Volumes {
		v := &waiting.Spec.Volumes[i]
		if !claim.IsOwn(v, waiting.Name) || p.holdings().claims[v.PersistentVolumeClaim.ClaimName] != nil {
			continue
		}
		made := slices.ContainsFunc(p.world.Set.Spec.VolumeClaimTemplates, func(t corev1.PersistentVolumeClaim) bool { return t.Name == v.Name })
		if _, lacking := claim.Lacking(&waiting.Spec, slices.DeleteFunc(slices.Clone(waiting.Spec.Volumes), func(other corev1.Volume) bool { return other.Name == v.Name })); !made && lacking == "" {
			return v.PersistentVolumeClaim.ClaimName
		}
	}
	return ""
}

// keepsClaims tells whether a finished pod is in the way of a new one that takes its claims over, or keeps
// its claims from being deleted.
func (p *pass) keepsClaims(finished *corev1.Pod) bool {
	if len(p.world.Claims) > 0 {
		if i := p.holdings().instances[instanceID(p.world.Set, finished)]; len(i.claims) > 0 {
			return true
		}
	}
	for i := range finished.Spec.Volumes {
		if claim.IsOwn(&finished.Spec.Volumes[i], finished.Name) {
			return true
		}
	}
	return false
}

// creatable is the revision n times, or not at all when the API server would refuse its pods: that is how a
// revision ends up whose claim template is gone. To try it again and again would help nobody.
func (p *pass) creatable(from revision.Revision, n int) []revision.Revision {
	if n == 0 {
		return nil
	}
	container, volume := claim.Lacking(&from.Written.Spec, withClaims(p.world.Set, "", from.Written.Spec.Volumes))
	if volume == "" {
		return slices.Repeat([]revision.Revision{from}, n)
	}
	p.plan.Uncreatable = fmt.Sprintf("pods of revision %s cannot be created: container %s mounts volume %q, for which there is neither a volume nor a claim template",
		from.Name, container, volume)
	p.hold(p.plan.Uncreatable)
	return nil
}

// hasClaim tells whether a claim that a pod with the id would need is there or cannot be had.
func (p *pass) hasClaim(id string) bool {
	for _, t := range claim.Templates(p.world.Set.Spec.VolumeClaimTemplates) {
		if name := claimName(p.world.Set, t.Name, id); p.holdings().claims[name] != nil || p.world.Taken[name] {
			return true
		}
	}
	return false
}
