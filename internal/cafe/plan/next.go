// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"

	cafev1alpha1 "slipway.dev/slipway/api/cafe/v1alpha1"
	"slipway.dev/slipway/internal/revision"
)

// Next decides one pass. First it is put in writing which revision the template is. Then the policies below are tried
// in their order, and the first one that has something to write down ends the pass:
//
//	goal        a new template voids all groups; a new split voids those that have not begun
//	reschedule  quota of units that are short moves to others
//	group       cut what there is to do into groups
//	advance     end the group that has reached its numbers, and begin the next, with a confirmation where one is wanted
//	tidy        take back a question that is not open any more
//
// When none has, the pod sets are asked for what stands in writing.
func Next(world World, now time.Time) Plan {
	p := &pass{world: world, now: now, d: world.Deployment, spec: &world.Deployment.Spec, current: none}
	recorded := p.record()
	p.read()
	decided := p.plan.Invalid != nil || p.plan.Topology != nil || !recorded || p.d.DeletionTimestamp != nil
	if p.d.DeletionTimestamp != nil {
		p.plan.Steps = nil
	}
	for _, policy := range []func() (decided bool){p.goal, p.reschedule, p.group, p.advance, p.tidy} {
		if decided {
			break
		}
		decided = policy()
	}
	if !decided {
		p.ask()
		p.forget()
	}
	p.report()
	return p.plan
}

// none is the current group when there is none.
const none = -1

// pass is the working memory of one call of Next.
type pass struct {
	world World
	now   time.Time
	d     *cafev1alpha1.CafeDeployment
	spec  *cafev1alpha1.CafeDeploymentSpec
	plan  Plan
	// update and promoted are the names of the template's revision and of the last one that reached all pods.
	update, promoted string
	// units are those of the topology in its order, then the others by name.
	units []*unit
	// groups are those in writing, done tells which have ended, and current is the one that runs.
	groups  []Group
	done    []bool
	current int
	// idle: there is nothing to do in groups.
	idle bool
	// stays: the partition keeps pods on older versions, and nothing else is left to do.
	stays bool
	// aimed: what stands in writing is for the present template and split.
	aimed bool
	// movedFor is what quota was moved for.
	movedFor string
}

// record finds out which revision the template is. It returns false when that has to be created first.
func (p *pass) record() bool {
	before := &p.d.Status
	p.update, p.promoted = before.UpdateRevision, before.CurrentRevision
	p.plan.Status.CollisionCount = before.CollisionCount
	if p.plan.Invalid = p.selects(); p.plan.Invalid != nil {
		return false
	}
	entry := revision.Books{
		Owner: p.d, Reference: *metav1.NewControllerRef(p.d, cafev1alpha1.GroupVersion.WithKind(cafev1alpha1.CafeDeploymentKind)),
		Live: p.world.Live, Own: p.world.Revisions, Current: before.CurrentRevision, Taken: p.world.Taken,
		CollisionCount: ptr.Deref(before.CollisionCount, 0),
	}.Record()
	if p.plan.Invalid = entry.Err; entry.Err != nil {
		return false
	}
	p.update, p.promoted = entry.Update.Name, entry.Current.Name
	p.plan.Steps = append(p.plan.Steps, entry.Steps...)
	if entry.CollisionCount != ptr.Deref(before.CollisionCount, 0) {
		p.plan.Status.CollisionCount = &entry.CollisionCount
	}
	return entry.Recorded
}

// selects tells whether the selector can be used: pods that it does not match would be nobody's.
func (p *pass) selects() error {
	if p.world.Live.Err != nil {
		return fmt.Errorf("spec.template: %w", p.world.Live.Err)
	}
	selector, err := metav1.LabelSelectorAsSelector(p.spec.Selector)
	switch {
	case err != nil:
		return fmt.Errorf("spec.selector: %w", err)
	case selector.Empty():
		return fmt.Errorf("spec.selector must not be empty: it would match all pods")
	case !selector.Matches(labels.Set(p.spec.Template.Labels)):
		return fmt.Errorf("spec.selector %s does not match the labels of spec.template", selector)
	}
	return nil
}

// forget deletes revisions that neither history nor a pod set needs.
func (p *pass) forget() {
	used := []string{p.update, p.promoted}
	for _, u := range p.units {
		for _, s := range u.sets {
			used = append(used, s.Revision)
		}
	}
	p.plan.Steps = append(p.plan.Steps, revision.Forget(p.world.Revisions, used, int(ptr.Deref(p.spec.HistoryLimit, 20)))...)
}

func (p *pass) lookAgainIn(wait time.Duration) {
	if wait > 0 && (p.plan.LookAgain == 0 || wait < p.plan.LookAgain) {
		p.plan.LookAgain = wait
	}
}

func (p *pass) tell(reason, format string, args ...any) {
	p.plan.News = append(p.plan.News, News{Reason: reason, Note: fmt.Sprintf(format, args...)})
}

func (p *pass) wait(format string, args ...any) {
	p.plan.Waits = append(p.plan.Waits, fmt.Sprintf(format, args...))
}
