// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cafev1alpha1 "slipway.dev/slipway/api/cafe/v1alpha1"
)

// report fills in the status: what was decided, and what was seen.
func (p *pass) report() {
	s := &p.plan.Status
	s.ObservedGeneration = p.d.Generation
	s.UpdateRevision, s.CurrentRevision = p.update, p.promoted
	s.LabelSelector = metav1.FormatLabelSelector(p.spec.Selector)
	if !p.aimed { // the groups in writing are for the template of before
		s.UpdateRevision = p.d.Status.UpdateRevision
	}
	s.Groups = p.writtenGroups()
	if p.running() {
		s.CurrentGroup = int32(p.current + 1)
	}
	anyMoved := false
	for _, u := range p.units {
		anyMoved = anyMoved || u.moved != 0
		s.Units = append(s.Units, p.writtenUnit(u))
		s.Replicas += int32(u.Has)
		s.ReadyReplicas += int32(u.Ready)
		s.AvailableReplicas += int32(u.Available)
		s.UpdatedReplicas += int32(u.Updated)
		s.UpdatedAvailableReplicas += int32(u.UpdatedAvailable)
		p.judge(u)
	}
	if anyMoved {
		s.RescheduledFor = p.movedFor
	}
	s.Phase = p.phase()
}

func (p *pass) writtenGroups() []cafev1alpha1.ReleaseGroup {
	var written []cafev1alpha1.ReleaseGroup
	for i, g := range p.groups {
		group := cafev1alpha1.ReleaseGroup{Index: int32(i + 1), Kind: cafev1alpha1.BatchGroup, Done: p.done[i]}
		if g.Beta {
			group.Kind = cafev1alpha1.BetaGroup
		}
		for _, w := range g.Units {
			group.Units = append(group.Units, cafev1alpha1.GroupQuota{Name: w.Unit, Pods: int32(w.Pods()), New: int32(w.Create)})
		}
		written = append(written, group)
	}
	return written
}

func (p *pass) writtenUnit(u *unit) cafev1alpha1.UnitStatus {
	desired := u.split + u.moved
	if !p.aimed {
		desired = u.was + u.moved
	}
	in := max(0, u.moved)
	if p.now.Before(u.movedAt.Add(rest)) {
		in = max(in, u.came)
	}
	written := cafev1alpha1.UnitStatus{
		Name: u.name, Desired: int32(desired), Replicas: int32(u.Has), Ready: int32(u.Ready), Available: int32(u.Available),
		Updated: int32(u.Updated), UpdatedAvailable: int32(u.UpdatedAvailable), Partition: int32(u.held),
		RescheduledIn: int32(in), RescheduledOut: int32(in - u.moved), Short: int32(u.short),
		RescheduledAt: written(u.movedAt), ShortUntil: written(u.shortUntil),
	}
	for _, s := range u.sets {
		if written.PodSet == "" || s.Revision == p.update {
			written.PodSet = s.Name
		}
	}
	return written
}

func written(t time.Time) *metav1.Time {
	if t.IsZero() {
		return nil
	}
	return &metav1.Time{Time: t}
}

// judge notes a unit that has fewer available pods than it should have even in the middle of its group.
func (p *pass) judge(u *unit) {
	floor := min(u.asked, u.final())
	if p.running() && !p.done[p.current] {
		for _, w := range p.groups[p.current].Units {
			if w.Unit == u.name {
				floor -= w.Pods()
			}
		}
	}
	if u.Available < floor {
		p.plan.Lacks = append(p.plan.Lacks, fmt.Sprintf("%s has %d of %d pods available", named(u.name), u.Available, floor))
	}
}

func (p *pass) phase() cafev1alpha1.CafeDeploymentPhase {
	switch {
	case p.plan.Invalid != nil || p.plan.Topology != nil:
		return cafev1alpha1.BlockedPhase
	case p.spec.Strategy.Pause && !p.stable():
		return cafev1alpha1.PausedPhase
	case p.plan.Confirm != "":
		return cafev1alpha1.WaitingForConfirmPhase
	case p.stable():
		return cafev1alpha1.StablePhase
	case len(p.plan.Full) > 0:
		return cafev1alpha1.BlockedPhase
	case p.stays:
		return cafev1alpha1.PausedPhase
	}
	return cafev1alpha1.ProgressingPhase
}

// stable tells whether everything is as the spec wants it.
func (p *pass) stable() bool {
	if p.running() || p.groups == nil && !p.idle || !p.aimed {
		return false
	}
	for _, u := range p.units {
		if n := u.final(); !u.listed || !u.seen || u.asked != n || u.Has != n || u.Updated != n || u.Available != n {
			return false
		}
	}
	return true
}
