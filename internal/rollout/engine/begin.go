// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"time"

	"k8s.io/utils/ptr"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
)

// locate waits for the workloads to be there. A kind that cannot be driven is for verify to say, when it is there.
func (m *machine) locate() verdict {
	if m.Blocked != "" {
		return waitForWorkload(m.Blocked)
	}
	for _, side := range m.sides() {
		w, ref := m.workload(side), m.ref(side)
		switch {
		case !w.Found && w.Unfit != "":
			return waitForWorkload(w.Unfit)
		case !w.Found:
			return waitForWorkload(fmt.Sprintf("waits for the %s: there is no %s %s", side, ref.Kind, ref.Name))
		case w.Going:
			return waitForWorkload(fmt.Sprintf("waits for the %s: %s %s is being deleted", side, ref.Kind, ref.Name))
		}
	}
	return verdict{event: Located, why: "the workloads are there"}
}

// verify finds out whether the plan can be carried out, before anything is claimed.
func (m *machine) verify() verdict {
	if m.Blocked != "" {
		return waitForWorkload(m.Blocked)
	}
	for _, side := range m.sides() {
		w, ref := m.workload(side), m.ref(side)
		switch {
		case !w.Found || w.Going:
			return waitForWorkload(fmt.Sprintf("waits for the %s: %s %s is gone", side, ref.Kind, ref.Name))
		case w.Unfit != "":
			return impossible("UnfitWorkload", w.Unfit)
		case w.Owner != "":
			return impossible("Controlled", fmt.Sprintf("%s %s is controlled by %s, and only one can be in charge", ref.Kind, ref.Name, w.Owner))
		case !w.Seen: // its status is of before, and can say that there is nothing to do
			v := waitForWorkload(fmt.Sprintf("waits until %s %s is seen by its own controller", ref.Kind, ref.Name))
			v.again = pollSoon
			return v
		}
	}
	running, v := m.kindOfRollout()
	if running == nil {
		running = &rolloutv1alpha1.RunningRollout{}
	}
	m.asked(running)
	if v != nil {
		if v.event == AlreadyDone {
			m.status.Running = running // what was asked for, to know what is new
			m.status.NewPodTemplateIdentifier = m.Target.Template
			m.status.RolloutOriginalSize, m.status.RolloutTargetSize = int32(m.Target.Replicas), int32(m.Target.Replicas)
		}
		return *v
	}
	for _, side := range m.sides() {
		w := m.workload(side)
		if side == Source && w.Stuck {
			continue // it never blocks its own fix: its pods go by the same batches, whatever template they are on
		}
		if w.Busy != "" && !w.Held {
			return m.untilIdle(side)
		}
	}
	running.RolloutBatches = Batches(&m.Rollout.Plan, int(running.Total))
	if err := CheckBatches(running.RolloutBatches, int(running.Total)); err != nil {
		return impossible("BatchesDoNotAddUp", err.Error())
	}
	m.status.Running = running
	m.status.RolloutOriginalSize = int32(m.Target.Replicas)
	m.status.RolloutTargetSize = running.Total
	if running.Mode == rolloutv1alpha1.ScaleMode {
		m.status.RolloutTargetSize = *m.Rollout.Plan.TargetSize
	}
	if m.Source != nil {
		m.status.RolloutOriginalSize = int32(m.Source.Replicas)
	}
	m.status.NewPodTemplateIdentifier = m.Target.Template
	return verdict{event: Verified, why: fmt.Sprintf("begins: %d pods in %d batches", running.Total, len(running.RolloutBatches))}
}

// untilIdle waits for a workload that is in the middle of something, and says what ends that where it may not end by itself. Only a
// person ends a pause.
func (m *machine) untilIdle(side Side) verdict {
	w, ref := m.workload(side), m.ref(side)
	v := waitForWorkload(fmt.Sprintf("waits until %s %s has ended what it is in the middle of: %s", ref.Kind, ref.Name, w.Busy))
	if w.Remedy != "" {
		v.why = waitsFor(v.why, w) + "; " + w.Remedy
	}
	if w.Stuck && w.Paused {
		v.reason, v.stalls = "PausedInUpdate", true
	}
	return v
}

// asked notes what a rollout was asked for, to know what is new.
func (m *machine) asked(r *rolloutv1alpha1.RunningRollout) {
	r.TargetRef, r.SourceRef, r.TargetSize = m.Rollout.Target, m.Rollout.Source, m.Rollout.Plan.TargetSize
	if asks := m.Rollout.Revisions; asks != nil {
		r.TargetAppRevision, r.SourceAppRevision, r.Component = asks.Target, asks.Source, asks.Component
	}
}

// kindOfRollout says what kind of change is asked for, and how many pods the batches divide; or why it is none.
func (m *machine) kindOfRollout() (*rolloutv1alpha1.RunningRollout, *verdict) {
	size, asked := m.Rollout.Plan.TargetSize, int(ptr.Deref(m.Rollout.Plan.TargetSize, 0))
	target := &m.Target
	const field = "spec.rolloutPlan.targetSize"
	switch {
	case m.Source != nil && target.Versions:
		return nil, stop(impossible("SourceNotNeeded", fmt.Sprintf(
			"spec.sourceRef: must be empty, as a %s holds both versions of its template itself", m.Rollout.Target.Kind)))
	case m.Source != nil:
		total := m.sizeOfPair()
		if size != nil && asked < m.Source.Replicas {
			return nil, stop(impossible("TooSmall", fmt.Sprintf("%s: must be at least %d, the size of the source, and is %d", field, m.Source.Replicas, asked)))
		}
		if size != nil {
			total = asked
		}
		if m.Source.Replicas == 0 && m.Source.Pods == 0 && target.Replicas == total && !target.Held {
			return nil, stop(verdict{event: AlreadyDone, why: "the source has no pods, and the target has all"})
		}
		return &rolloutv1alpha1.RunningRollout{Mode: rolloutv1alpha1.TwoObjectsMode, Total: int32(total)}, nil
	case target.Versions && target.Differs:
		if size != nil && asked != target.Replicas {
			return nil, stop(impossible("SizeDiffers", fmt.Sprintf(
				"%s: must be %d, the size of the workload, while its template is rolled out, and is %d; scale it in a rollout of its own", field, target.Replicas, asked)))
		}
		return &rolloutv1alpha1.RunningRollout{Mode: rolloutv1alpha1.InPlaceMode, Total: int32(target.Replicas)}, nil
	case size != nil && asked == target.Replicas:
		return nil, stop(verdict{event: AlreadyDone, why: fmt.Sprintf("there are %d pods already", asked)})
	case size != nil:
		return &rolloutv1alpha1.RunningRollout{Mode: rolloutv1alpha1.ScaleMode, Total: int32(max(asked-target.Replicas, target.Replicas-asked))}, nil
	case target.Versions:
		return nil, stop(verdict{event: AlreadyDone, why: "all pods are on the newest template"})
	}
	return nil, stop(impossible("NothingAsked", fmt.Sprintf(
		"spec.sourceRef: is needed to roll out a %s, and spec.rolloutPlan.targetSize to scale one; there is neither", m.Rollout.Target.Kind)))
}

// sizeOfPair is how many pods two objects have in the end when nobody has said it: as many as the source. Pods of the target are never
// taken for that. And where a rollout of the same two has ended in the middle, the pods that it was about are on both sides.
func (m *machine) sizeOfPair() int {
	target, source := m.Target.Replicas, m.Source.Replicas
	total := max(source, target)
	u := m.status.Unfinished
	if u == nil || m.Rollout.Source == nil {
		return total
	}
	if pair := [2]rolloutv1alpha1.WorkloadReference{m.Rollout.Target, *m.Rollout.Source}; pair == [2]rolloutv1alpha1.WorkloadReference{u.TargetRef, u.SourceRef} ||
		pair == [2]rolloutv1alpha1.WorkloadReference{u.SourceRef, u.TargetRef} {
		return max(total, min(int(u.Size), source+target))
	}
	return total
}

func stop(v verdict) *verdict { return &v }

func impossible(reason, why string) verdict {
	return verdict{event: Impossible, reason: reason, why: why}
}

func waitForWorkload(why string) verdict {
	return verdict{why: why, waiting: rolloutv1alpha1.WaitingForWorkload, again: poll}
}

// initialize marks the rollout, calls the first webhooks and claims the workloads.
//
// What the rollout is about to hold is in the stored status before it holds anything: it must find its workloads again when
// the spec names others, or when the object is deleted.
func (m *machine) initialize() verdict {
	if m.Rollout.Status.Running == nil || m.Rollout.Status.Run != m.status.Run {
		return verdict{why: m.status.Message, again: time.Millisecond}
	}
	if !m.Rollout.Finalizer {
		return verdict{why: "begins", actions: []Action{Enter{Because("the workloads have to be let go before the rollout goes")}}}
	}
	if v, waits := m.hooks(rolloutv1alpha1.InitializeRolloutHook, string(rolloutv1alpha1.InitializingState)); waits {
		return v
	}
	if m.Blocked != "" { // what the workloads are for is gone
		return waitForWorkload(m.Blocked)
	}
	var actions []Action
	for _, side := range m.sides() {
		w := m.workload(side)
		if !w.Found {
			return m.gone(side)
		}
		if w.Held {
			continue
		}
		if w.Owner != "" {
			return m.fail("Controlled", fmt.Sprintf("%s %s has come under the control of %s", m.ref(side).Kind, m.ref(side).Name, w.Owner))
		}
		actions = append(actions, Hold{Because("its rollout begins"), side, m.status.Running.Mode, w.Updated})
	}
	m.asClaimed()
	if len(actions) > 0 {
		return verdict{why: "claims the workloads", actions: actions}
	}
	return m.unpause()
}

// unpause ends the pauses that are in the way of the rollout, once what holds back the pods instead is seen to stand: a server whose
// definition of the kind is older than that field drops it.
func (m *machine) unpause() verdict {
	mode := m.status.Running.Mode
	if path := m.Target.Unkept; path != "" && mode == rolloutv1alpha1.InPlaceMode {
		kind := m.ref(Target).Kind
		m.status.Ending = rolloutv1alpha1.LeaveEnding
		return m.broken("NotKept", fmt.Sprintf("the API server does not keep %s of %s %s, which is to hold back its pods, so nothing was unpaused: the "+
			"CustomResourceDefinition of %s is older than that field; apply a newer one, then use slipway rollout retry", path[1:], kind, m.ref(Target).Name, kind))
	}
	paused := m.Target.Paused
	if mode == rolloutv1alpha1.ScaleMode {
		paused = m.Target.Frozen
	}
	if paused {
		return verdict{why: "ends the pause of the workload", actions: []Action{Unpause{Because("its pods are held back by its rollout now"), Target}}}
	}
	return verdict{event: Claimed, why: "the workloads are held"}
}

// sides are those that the rollout has: the source first, so that of two objects the one that serves is never without us.
func (m *machine) sides() []Side {
	if m.Source == nil {
		return []Side{Target}
	}
	return []Side{Source, Target}
}

func (m *machine) workload(s Side) *Workload {
	if s == Source && m.Source != nil {
		return m.Source
	}
	return &m.Target
}

func (m *machine) ref(s Side) rolloutv1alpha1.WorkloadReference {
	target, source := m.Rollout.Target, m.Rollout.Source
	if r := m.status.Running; r != nil {
		target, source = r.TargetRef, r.SourceRef
	}
	if s == Source && source != nil {
		return *source
	}
	return target
}
