// SPDX-License-Identifier: Apache-2.0

package sets

import (
	"cmp"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"slipway.dev/slipway/internal/budget"
	"slipway.dev/slipway/internal/cli/tree"
	"slipway.dev/slipway/internal/pod"
	"slipway.dev/slipway/internal/revision"
)

// View is one set as people look at it.
type View struct {
	Kind            string
	Namespace, Name string
	// Generation is that of the spec that the view shows, Observed that of the spec that the status tells of.
	Generation, Observed int64
	Deleting             bool
	Age                  time.Duration

	// Phase and Headline say in a word and in a sentence how the set is doing.
	Phase    Phase
	Headline string
	// Stage tells the parts of a phase apart whose headlines are news.
	Stage string

	// The numbers are of pods. Total, Ready, Available and Updated are counted from the
	// pods themselves, so that they agree with the rows below them.
	Desired, Total, Ready, Available, Updated, UpdatedAvailable int
	// Leaving is how many of Total are taken for being on their way out, where the numbers cannot tell.
	Leaving int
	// Reported are the numbers of the status.
	Reported Reported
	// Misplaced is how many pods have a place that is not wanted, or lack one that is, beyond what the numbers tell.
	Misplaced int
	// Limits are the strategy's numbers resolved; LimitsErr says why they could not be.
	Limits    budget.Limits
	LimitsErr error
	// Strategy says in a line how pods are updated.
	Strategy string
	// Halt says why pods are not updated until a person does something, like "paused"; empty while they are.
	Halt string
	// Facts are what else there is to say about the set, a line each.
	Facts []Fact

	Conditions []Condition
	Revisions  []Revision // the newest first
	// Others are groups of rows below the revisions.
	Others []Group

	// Podless objects have no pods of their own: Facts and Body tell all.
	Podless bool
	// Cells are its row in a table of a kind that has columns of its own.
	Cells []tree.Span

	// Body is shown in place of Revisions and Others, by kinds that lay their pods out otherwise. Changes are told by
	// Revisions all the same.
	Body *Body

	// UpdateRevision and Images are those of the template.
	UpdateRevision string
	Images         []string
}

// Body is a table that takes the place of the tree of revisions.
type Body struct {
	Columns []tree.Column
	Nodes   []tree.Node
}

// Reported are numbers of a status.
type Reported struct{ Total, Available, Updated int }

// Fact is a name and what is known under it. Alert says that it is worth a look.
type Fact struct {
	Name, Text string
	Alert      bool
}

// Condition is one condition of a set.
type Condition struct {
	Type, Reason, Message string
	Status                corev1.ConditionStatus
	// Quiet conditions say nothing that the rest of the view does not say. Trouble conditions need a person.
	Quiet, Trouble bool
}

// The types of conditions that every kind means alike.
const (
	conditionReady       = "Ready"
	conditionStalled     = "Stalled"
	conditionProgressing = "Progressing"
)

// Revision is one revision that has pods, or that the set is on or going to.
type Revision struct {
	Name, Hash string
	// Number is 0 when the revision object is gone.
	Number          int64
	Update, Current bool
	Images          []string // of the template, in its order
	Pods            []Pod
	Available       int
}

// Group is rows that belong to no revision.
type Group struct {
	Title string
	Rows  []Row
}

// Row is a row without a pod: the name of what is not there, in a word why, and lines below it.
type Row struct {
	Name, State string
	Lines       []Line
}

// Line is what belongs to a row. Alert says that it is worth a look.
type Line struct {
	Text  string
	Alert bool
}

// Settle computes phase and headline from all the rest.
func (v View) Settle() View {
	v.Phase, v.Headline = phase(v)
	return v
}

// Contents is what belongs to one set.
type Contents struct {
	Owner types.UID
	// UpdateRevision and CurrentRevision are the names in the status.
	UpdateRevision, CurrentRevision string
	MinReadySeconds                 int32
	// Revisions and Pods may hold those of others.
	Revisions []*appsv1.ControllerRevision
	Pods      []*corev1.Pod
	// Order is that of the pods of one revision.
	Order func(a, b Pod) int
}

// Fill groups the set's pods by the revision that they carry, and counts them.
func (v View) Fill(c Contents, now time.Time) View {
	return v.Hold(c.revisions(now))
}

// Hold gives the view its revisions with their pods, and counts them.
func (v View) Hold(revisions []Revision) View {
	v.Revisions = revisions
	for i := range v.Revisions {
		r := &v.Revisions[i]
		r.Available = 0
		for _, p := range r.Pods {
			v.count(*r, p)
			if p.available {
				r.Available++
			}
		}
	}
	return v
}

func (v *View) count(r Revision, p Pod) {
	if !p.active {
		return
	}
	v.Total++
	if p.State == pod.Ready || p.available {
		v.Ready++
	}
	if p.available {
		v.Available++
	}
	if r.Update {
		v.Updated++
	}
	if r.Update && p.available {
		v.UpdatedAvailable++
	}
}

func (c Contents) revisions(now time.Time) []Revision {
	update, current := revision.HashOf(c.UpdateRevision), revision.HashOf(c.CurrentRevision)
	byHash := map[string]*Revision{}
	get := func(hash string) *Revision {
		if byHash[hash] == nil {
			byHash[hash] = &Revision{Hash: hash, Name: hash, Update: hash != "" && hash == update, Current: hash != "" && hash == current}
		}
		return byHash[hash]
	}
	for _, p := range c.Pods {
		if pod.IsControlledBy(p, c.Owner) {
			r := get(pod.RevisionHash(p))
			r.Pods = append(r.Pods, NewPod(p, c.MinReadySeconds, now))
		}
	}
	for _, object := range c.Revisions {
		hash := revision.HashOf(object.Name)
		if !pod.IsControlledBy(object, c.Owner) || (byHash[hash] == nil && hash != update && hash != current) {
			continue
		}
		r := get(hash)
		r.Name, r.Number = object.Name, object.Revision
		if decoded := revision.Decode(object); decoded.Err == nil {
			r.Images = ImagesOf(decoded.Written.Spec.Containers)
		}
	}
	all := make([]Revision, 0, len(byHash))
	for _, r := range byHash {
		slices.SortFunc(r.Pods, c.Order)
		all = append(all, *r)
	}
	slices.SortFunc(all, func(a, b Revision) int {
		return cmp.Or(cmp.Compare(b.Number, a.Number), cmp.Compare(a.Hash, b.Hash))
	})
	return all
}

// ImagesOf are the images of containers, in their order.
func ImagesOf(containers []corev1.Container) []string {
	names := make([]string, 0, len(containers))
	for _, c := range containers {
		names = append(names, c.Image)
	}
	return names
}

// condition finds a condition that is in a given status.
func (v View) condition(t string, status corev1.ConditionStatus) *Condition {
	for i := range v.Conditions {
		if v.Conditions[i].Type == t && v.Conditions[i].Status == status {
			return &v.Conditions[i]
		}
	}
	return nil
}

func join(list []string) string { return strings.Join(list, ", ") }
