// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"slices"
	"strings"

	cafev1alpha1 "slipway.dev/slipway/api/cafe/v1alpha1"
	"slipway.dev/slipway/internal/step"
)

// group cuts what there is to do into groups. It waits until every pod set has taken the template on, holding all its pods
// back: only then its counts say how many of them are on that version already.
func (p *pass) group() (decided bool) {
	if p.groups != nil {
		return false
	}
	var todo []Work
	total := 0
	for _, u := range p.units {
		if !u.listed {
			continue
		}
		if why := p.unprepared(u); why != "" {
			p.wait("%s: %s", named(u.name), why)
			return false
		}
		w := p.todo(u)
		todo = append(todo, w)
		total += w.Pods()
	}
	switch {
	case total == 0:
		p.idle = true
		p.promoted = p.update
		return false
	case p.spec.Strategy.Pause:
		return false
	case p.annotation(cafev1alpha1.AnnotationUpgradeConfirmed) != "" || p.annotation(cafev1alpha1.AnnotationUpgradeGroup) != "":
		p.annotate("a new release begins: confirmations of an earlier one do not count", "", nil, nil)
		return true
	}
	groups, rest := p.cut(todo, p.spec.Strategy.UpgradeType == cafev1alpha1.BetaUpgradeType)
	if len(groups) == 0 {
		p.stay()
		return false
	}
	p.groups = append(groups, rest...)
	p.done = make([]bool, len(p.groups))
	p.current = 0
	p.divide()
	p.tell("GroupStarted", "%s begins: %s", p.title(0), p.contents(0))
	return true
}

// unprepared says why it is not known yet what a unit has to do.
func (p *pass) unprepared(u *unit) string {
	if versioned(p.spec.PodSetType) {
		return ""
	}
	for _, s := range u.sets {
		if s.Revision != p.update {
			return "pod set " + s.Name + " has not been given the new template yet"
		}
		if !s.Seen {
			return "pod set " + s.Name + " has not looked at its new template yet"
		}
		if s.Doubtful {
			return "pods of pod set " + s.Name + " have changed, and it is not seen yet which are on the template"
		}
	}
	return ""
}

// todo is what a unit has to do, seen from what its pod sets are asked for.
//
// Pods beyond the unit's number need no update, because sets give older ones up first. Not so those with ordinals: they update the highest
// first, which are those beyond, and as long as these are kept for others the groups have to count them.
func (p *pass) todo(u *unit) Work {
	if ordinal(p.spec.PodSetType) {
		w := Work{Unit: u.name, Create: max(0, u.final()-u.asked)}
		if u.final() > 0 { // else all of them are beyond, and none is updated
			w.Update = u.olderBelow(u.held)
		}
		return w
	}
	excess := max(0, u.asked-u.final()) // it goes, and needs no update
	return Work{
		Unit:   u.name,
		Update: max(0, min(u.held, u.asked-u.Updated)-excess),
		Create: max(0, u.final()-u.asked),
	}
}

// advance ends the current group when it has reached its numbers, and begins the next one.
func (p *pass) advance() (decided bool) {
	if !p.running() {
		return false
	}
	last := p.current == len(p.groups)-1
	if !p.done[p.current] {
		if missing := p.missing(); len(missing) > 0 {
			p.wait("%s: %s", p.title(p.current), strings.Join(missing, ", "))
			return false
		}
		for i := range p.done[:p.current+1] { // with a partition, groups begin before others have ended
			p.done[i] = true
		}
		decided = true
		p.tell("GroupDone", "%s is done: %s", p.title(p.current), p.contents(p.current))
	}
	switch {
	case last:
		p.current = none
		p.promoted = p.update
		p.divide()
		p.tell("ReleaseDone", "all groups of revision %s are done", p.update)
		return true
	case p.spec.Strategy.Pause:
		p.wait("strategy.pause: %s does not begin", p.title(p.current+1))
	case p.partitioned():
		p.stay()
	case !p.spec.Strategy.NeedWaitingForConfirm:
		return p.begin()
	case !decided: // else the question is asked when the end of the group stands in writing
		return p.confirm()
	}
	return decided
}

func (p *pass) begin() bool {
	p.current++
	p.divide()
	p.tell("GroupStarted", "%s begins: %s", p.title(p.current), p.contents(p.current))
	return true
}

// confirm asks a person whether the next group may begin, and takes the answer. Question and answer are each one patch of
// two annotations, so an answer counts for the group that it was given for, and once.
func (p *pass) confirm() (decided bool) {
	id := fmt.Sprintf("%s/%d", p.update, p.current+1)
	confirmed := id + " confirmed"
	asked, answer := p.annotation(cafev1alpha1.AnnotationUpgradeGroup), p.annotation(cafev1alpha1.AnnotationUpgradeConfirmed)
	next := p.title(p.current + 1)
	switch {
	case asked == confirmed:
		return p.begin()
	case asked == id && answer == cafev1alpha1.ConfirmationGiven:
		p.annotate(p.title(p.current)+" was confirmed: "+next+" may begin", "Confirmed", nil, &confirmed)
		return true
	case asked == id && answer == cafev1alpha1.ConfirmationAwaited:
		p.plan.Confirm = fmt.Sprintf("%s is done; %s (%s) waits until annotation %s is set to %q",
			p.title(p.current), next, p.contents(p.current+1), cafev1alpha1.AnnotationUpgradeConfirmed, cafev1alpha1.ConfirmationGiven)
		return false
	}
	why := fmt.Sprintf("%s is done: %s waits for a confirmation", p.title(p.current), next)
	if answer == cafev1alpha1.ConfirmationGiven {
		why += "; the one that was there had been given before, and does not count"
	}
	awaited := cafev1alpha1.ConfirmationAwaited
	p.annotate(why, "WaitingForConfirm", &awaited, &id)
	return true
}

// tidy takes back a question that nobody needs to answer any more.
func (p *pass) tidy() (decided bool) {
	if p.spec.Strategy.Pause || p.plan.Confirm != "" {
		return false
	}
	waiting := p.running() && p.done[p.current] && !p.partitioned()
	open := p.annotation(cafev1alpha1.AnnotationUpgradeConfirmed) == cafev1alpha1.ConfirmationAwaited && !waiting
	over := p.annotation(cafev1alpha1.AnnotationUpgradeGroup) != "" && (!p.running() || p.partitioned())
	if !open && !over {
		return false
	}
	p.annotate("no group waits for a confirmation", "", nil, nil)
	return true
}

func (p *pass) annotation(key string) string { return p.d.Annotations[key] }

// annotate writes both annotations at once; nil removes one.
func (p *pass) annotate(why, event string, confirmed, group *string) {
	p.plan.Annotates = true
	p.plan.Steps = append(p.plan.Steps, step.Annotate{
		Because: step.Because(why), Target: step.On(p.d), Object: &cafev1alpha1.CafeDeployment{}, Event: event,
		Annotations: map[string]*string{cafev1alpha1.AnnotationUpgradeConfirmed: confirmed, cafev1alpha1.AnnotationUpgradeGroup: group},
	})
}

// missing says what keeps the current group from its end, and others that have begun before it, unit by unit.
func (p *pass) missing() []string {
	var words []string
	p.keep()
	looked := map[string]bool{}
	for i, g := range p.groups[:p.current+1] {
		for _, w := range g.Units {
			if p.done[i] || looked[w.Unit] {
				continue
			}
			looked[w.Unit] = true
			if word := p.lacks(w.Unit); word != "" {
				words = append(words, word)
			}
		}
	}
	return words
}

// due is how many pods of a unit must be available on the release for the current group to end.
func (p *pass) due(u *unit) int {
	granted := p.granted(u)
	if ordinal(p.spec.PodSetType) && granted > 0 { // those beyond its number are among the first, and count as long as they are there
		granted = max(granted, u.asked)
		return granted - min(u.tail.Update, u.olderBelow(granted))
	}
	return max(0, granted-u.tail.Update)
}

// lacks says what keeps a unit from having all that has begun; empty for nothing.
func (p *pass) lacks(name string) string {
	u := p.unit(name)
	if u == nil || !u.listed {
		return ""
	}
	goal := p.due(u)
	switch {
	case !u.seen || !p.told(u):
		return fmt.Sprintf("%s has not taken it up yet", named(u.name))
	case u.UpdatedAvailable < goal:
		return fmt.Sprintf("%s has %d of %s available on revision %s", named(u.name), u.UpdatedAvailable, step.Counted(goal, "pod", "pods"), p.update)
	}
	return ""
}

// told tells whether the pod sets of a unit have been asked for all that the current group gives them.
func (p *pass) told(u *unit) bool {
	granted := p.granted(u)
	if versioned(p.spec.PodSetType) {
		return u.Updated >= granted-u.tail.Update
	}
	if granted == 0 {
		return true
	}
	return slices.ContainsFunc(u.sets, func(s Set) bool {
		return s.Revision == p.update && s.Asked >= granted && s.Partition <= p.partition(u, s.Asked)
	})
}

// title is a group in a sentence.
func (p *pass) title(group int) string {
	kind := "group"
	if p.groups[group].Beta {
		kind = "Beta group"
	}
	return fmt.Sprintf("%s %d of %d", kind, group+1, len(p.groups))
}

// contents tells what a group does: A 2, B 1.
func (p *pass) contents(group int) string {
	var words []string
	for _, w := range p.groups[group].Units {
		word := step.Counted(w.Pods(), "pod", "pods")
		if w.Unit != "" {
			word += " in " + w.Unit
		}
		words = append(words, word)
	}
	return strings.Join(words, ", ")
}
