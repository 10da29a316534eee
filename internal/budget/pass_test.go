// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"k8s.io/utils/ptr"
)

// This file is a model of a pass over a workload, just large enough to ask
// what the quantities of a pass lead to.

type modelPod struct {
	new    bool
	health byte   // 'A' available, 'u' unready, 'r' ready but not yet available
	state  string // "", PD, U or PU
	chosen bool
}

func (p modelPod) available() bool { return p.health == 'A' && p.state == "" }

var notation = regexp.MustCompile(`^(\d+)([on])([Aur])(\*?)(?:@(PD|PU|U))?$`)

// podsOf reads "3oA 1nu*@PD": three old available pods and one new unready
// pod that is chosen and prepares for its deletion.
func podsOf(s string) []modelPod {
	var pods []modelPod
	for _, word := range strings.Fields(s) {
		m := notation.FindStringSubmatch(word)
		if m == nil {
			panic("cannot read pods " + word)
		}
		n, _ := strconv.Atoi(m[1])
		for range n {
			pods = append(pods, modelPod{new: m[2] == "n", health: m[3][0], chosen: m[4] == "*", state: m[5]})
		}
	}
	return pods
}

// show is the inverse of podsOf; equal pods are counted together.
func show(pods []modelPod) string {
	counts := map[string]int{}
	for _, p := range pods {
		word := "o"
		if p.new {
			word = "n"
		}
		word += string(p.health)
		if p.chosen {
			word += "*"
		}
		if p.state != "" {
			word += "@" + p.state
		}
		counts[word]++
	}
	words := make([]string, 0, len(counts))
	for word := range counts {
		words = append(words, word)
	}
	slices.SortFunc(words, func(a, b string) int { // old pods first, as people tell it
		if a[0] != b[0] {
			return strings.Compare(b[:1], a[:1])
		}
		return strings.Compare(a, b)
	})
	for i, word := range words {
		words[i] = strconv.Itoa(counts[word]) + word
	}
	return strings.Join(words, " ")
}

type model struct {
	limits   Limits
	options  Options
	paused   bool
	hookHeld bool // the deletion hook is not released
	recreate bool // an update deletes the pod; else it becomes new in place
}

// countScaling counts a pod that prepares for its update as new.
func countScaling(pods []modelPod) Counts {
	return count(pods, func(p modelPod) bool { return p.new || p.state == "PU" })
}

func countUpdating(pods []modelPod) Counts {
	return count(pods, func(p modelPod) bool { return p.new })
}

func count(pods []modelPod, isNew func(modelPod) bool) Counts {
	var c Counts
	for _, p := range pods {
		class := &c.Old
		if isNew(p) {
			class = &c.New
		}
		class.Add(Member{PreparingDelete: p.state == "PD", Chosen: p.chosen, Available: p.available()})
	}
	return c
}

// pass returns what one pass does, in words, and the pods after it.
func (m model) pass(before []modelPod) (string, []modelPod) {
	pods := slices.Clone(before)
	s := Scale(m.limits, countScaling(pods), m.options)
	for _, step := range []func([]modelPod, Scaling) (string, []modelPod){
		m.revoke, m.create, m.deletePrepared, m.deleteChosen, m.scaleIn, m.update,
	} {
		if action, after := step(pods, s); action != "" {
			return action, after
		}
	}
	if s.Limited {
		return "nothing, creation is limited", pods
	}
	return "nothing", pods
}

func (m model) revoke(pods []modelPod, s Scaling) (string, []modelPod) {
	revoked := 0
	for i := range pods {
		if revoked < s.Revoke && pods[i].state == "PD" && !pods[i].chosen {
			pods[i].state = ""
			revoked++
		}
	}
	if revoked == 0 {
		return "", pods
	}
	return fmt.Sprintf("cancel %d PreparingDelete", revoked), pods
}

func (m model) create(pods []modelPod, s Scaling) (string, []modelPod) {
	if s.Create.Total() == 0 {
		return "", pods
	}
	for range s.Create.Old {
		pods = append(pods, modelPod{health: 'u'})
	}
	for range s.Create.New {
		pods = append(pods, modelPod{new: true, health: 'u'})
	}
	return fmt.Sprintf("create %d old + %d new", s.Create.Old, s.Create.New), pods
}

func (m model) deletePrepared(pods []modelPod, _ Scaling) (string, []modelPod) {
	kept, gone := m.remove(pods, func(p modelPod) bool { return p.state == "PD" && !m.hookHeld })
	if gone.Total() == 0 {
		return "", pods
	}
	return fmt.Sprintf("delete the %d PreparingDelete", gone.Total()), kept
}

func (m model) deleteChosen(pods []modelPod, s Scaling) (string, []modelPod) {
	deletions := NewDeletions(s)
	kept, gone := m.remove(pods, func(p modelPod) bool {
		return p.chosen && p.state != "PD" && deletions.Spend(p.available())
	})
	if gone.Total() == 0 {
		return "", pods
	}
	return fmt.Sprintf("delete %d old + %d new (specified)", gone.Old, gone.New), kept
}

func (m model) scaleIn(pods []modelPod, s Scaling) (string, []modelPod) {
	if s.Over == 0 {
		return "", pods
	}
	if slices.ContainsFunc(pods, func(p modelPod) bool { return p.chosen || p.state == "PD" }) {
		return "scale-in waits", pods
	}
	ranked := unavailableFirst(pods)
	deletions, victims := NewDeletions(s), s.Victims()
	kept, gone := m.remove(ranked, func(p modelPod) bool {
		left := &victims.Old
		if p.new || p.state == "PU" {
			left = &victims.New
		}
		if *left == 0 {
			return false
		}
		*left--
		return deletions.Spend(p.available())
	})
	if gone.Total() == 0 {
		return "scale-in blocked by budget", pods
	}
	return fmt.Sprintf("delete %d old + %d new (scale-in, chose %d)", gone.Old, gone.New, s.Victims().Total()), kept
}

func (m model) update(pods []modelPod, _ Scaling) (string, []modelPod) {
	if m.paused {
		return "paused", pods
	}
	s := Scale(m.limits, countUpdating(pods), m.options)
	if s.Wish == 0 {
		return "", pods
	}
	toNew, side := s.Wish > 0, "o"
	if toNew {
		side = "n"
	}
	unavailable, onTarget := 0, 0
	for _, p := range pods {
		if !p.available() {
			unavailable++
			if p.new == toNew {
				onTarget++
			}
		}
	}
	allowance := NewAllowance(s, unavailable, onTarget)
	updated := 0
	var after []modelPod
	candidates := unavailableFirst(pods)
	slices.SortStableFunc(candidates, func(a, b modelPod) int { return compare(a.state != "PU", b.state != "PU") })
	for _, p := range candidates {
		if p.new == toNew || p.state == "PD" || allowance.Refuses(p.available()) != NotStopped {
			after = append(after, p)
			continue
		}
		allowance.Spend(p.available())
		updated++
		if !m.recreate {
			after = append(after, modelPod{new: toNew, health: 'u', chosen: p.chosen, state: "U"})
		}
	}
	return fmt.Sprintf("update %d → %s (want %d, cap %d)", updated, side, abs(s.Wish), s.Cap), after
}

func (m model) remove(pods []modelPod, which func(modelPod) bool) (kept []modelPod, gone Split) {
	for _, p := range pods {
		switch {
		case !which(p):
			kept = append(kept, p)
		case p.new:
			gone.New++
		default:
			gone.Old++
		}
	}
	return kept, gone
}

func unavailableFirst(pods []modelPod) []modelPod {
	sorted := slices.Clone(pods)
	slices.SortStableFunc(sorted, func(a, b modelPod) int { return compare(a.available(), b.available()) })
	return sorted
}

// compare puts false first.
func compare(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// heal lets every pod become available and end its update.
func heal(pods []modelPod) []modelPod {
	healed := slices.Clone(pods)
	for i := range healed {
		healed[i].health = 'A'
		if healed[i].state != "PD" {
			healed[i].state = ""
		}
	}
	return healed
}

func countOf(pods []modelPod, which func(modelPod) bool) int {
	n := 0
	for _, p := range pods {
		if which(p) {
			n++
		}
	}
	return n
}

// limitsOf reads limits as people write them; percentages of the replicas.
func limitsOf(r int32, p, s, u, c string, paused bool) Limits {
	limits, err := NewLimits(Spec{
		Replicas: ptr.To(r), Partition: number(p), MaxSurge: number(s), MaxUnavailable: number(u),
		ScaleMaxUnavailable: number(c), Paused: paused,
	})
	if err != nil {
		panic(err)
	}
	return limits
}
