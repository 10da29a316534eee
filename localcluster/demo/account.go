// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"slipway.dev/slipway/test/audit"
)

// product is the manager's name in its user agent.
const product = "slipway-manager"

const (
	// writesPerCreate is how many writes a new pod may take: the creation, and into service.
	writesPerCreate = 2
	// writesPerUpdate is how many writes an update in place may take: out of service, the change, and back.
	writesPerUpdate = 3
)

// Account is what a release did to the pods.
type Account struct {
	Replicas, Allowance int
	// Image is the one that was released, and Got the number of pods that run it in the end.
	Image string
	Got   int
	// Kept is how many pods have the UID and the IP that they had before.
	Kept int
	// Worst is how many pods were unavailable at the worst moment, of States that were seen.
	Worst, States int
	// MostPods is the highest number of pods at any moment.
	MostPods int
	// Order are the pods in the order in which they got the image, and Ordered those in which they have to; nil when any
	// order is fine.
	Order, Ordered []string
	// Writes is nil when they could not be counted.
	Writes *Writes
	Took   time.Duration
}

// Writes are the manager's requests for the pods.
type Writes struct {
	Kinds map[audit.Kind]int // accepted ones
	Most  int                // to one pod
	// Refused requests did nothing: the pod had changed meanwhile.
	Refused int
}

// evidence is all that is known of a release when it has ended.
type evidence struct {
	history *audit.History
	window  audit.Window
	// writes since the release began; nil when there is no audit log.
	writes []audit.Write
	took   time.Duration
}

func newAccount(e evidence, replicas, allowance int, image string) Account {
	moments := e.history.Moments(e.window, 0)
	worst, _ := audit.Worst(moments, replicas)
	after := e.history.At(e.window.To)
	a := Account{
		Replicas: replicas, Allowance: allowance, Image: image, Worst: worst, States: len(moments), MostPods: audit.MostPods(moments),
		Kept: len(audit.Kept(e.history.At(e.window.From), after)), Took: e.took,
		Order: e.history.Order(e.window, func(p *corev1.Pod) bool { return runs(p, image) }),
	}
	for _, p := range after {
		if runs(p, image) {
			a.Got++
		}
	}
	if e.writes != nil {
		a.Writes = newWrites(e.writes, after)
	}
	return a
}

func newWrites(writes []audit.Write, pods map[string]*corev1.Pod) *Writes {
	var accepted []audit.Write
	w := &Writes{}
	for _, write := range writes {
		switch _, ours := pods[write.Name]; {
		case !ours || audit.Product(write.UserAgent) != product:
		case write.Accepted():
			accepted = append(accepted, write)
		default:
			w.Refused++
		}
	}
	tally := audit.Count(accepted, product)
	w.Kinds, w.Most = tally.Kinds(), tally.Most()
	return w
}

// Total is the number of accepted writes.
func (w Writes) Total() int {
	sum := 0
	for _, n := range w.Kinds {
		sum += n
	}
	return sum
}

func runs(p *corev1.Pod, image string) bool { return p.Spec.Containers[0].Image == image }

// Lines tell the account.
func (a Account) Lines() []string {
	lines := []string{
		fmt.Sprintf("pods         %d of %d kept their UID and IP, %d run %s", a.Kept, a.Replicas, a.Got, a.Image),
		fmt.Sprintf("unavailable  at most %d at any time, %d allowed (%d states seen)", a.Worst, a.Allowance, a.States),
		"API writes   " + a.writes(),
	}
	if a.Ordered != nil {
		lines = append(lines, "order        "+strings.Join(a.Order, ", "))
	}
	if a.Took > 0 {
		lines = append(lines, fmt.Sprintf("time         %.1f seconds", a.Took.Seconds()))
	}
	return lines
}

func (a Account) writes() string {
	if a.Writes == nil {
		return "cannot be measured: this cluster's audit log is not at hand"
	}
	return a.Writes.String()
}

// String is the writes in one line.
func (w Writes) String() string {
	line := fmt.Sprintf("%d by %s, at most %d to one pod (%s)", w.Total(), product, w.Most, kinds(w.Kinds))
	if w.Refused > 0 {
		line += fmt.Sprintf(", %d more refused, since the pod had just changed", w.Refused)
	}
	return line
}

func kinds(counts map[audit.Kind]int) string {
	if len(counts) == 0 {
		return "none"
	}
	sorted := slices.SortedFunc(maps.Keys(counts), func(a, b audit.Kind) int { return cmp.Compare(a.String(), b.String()) })
	parts := make([]string, 0, len(sorted))
	for _, kind := range sorted {
		parts = append(parts, fmt.Sprintf("%d %s", counts[kind], kind))
	}
	return strings.Join(parts, ", ")
}

// Broken lists the promises of every release in place that were not kept; got is how many pods must run the
// image in the end.
func (a Account) Broken(got int) []string {
	var broken []string
	promise := func(kept bool, format string, args ...any) {
		if !kept {
			broken = append(broken, fmt.Sprintf(format, args...))
		}
	}
	promise(a.Kept == a.Replicas, "%d of %d pods did not keep their UID and IP", a.Replicas-a.Kept, a.Replicas)
	promise(a.MostPods <= a.Replicas, "%d pods existed at a time, %d were wanted", a.MostPods, a.Replicas)
	promise(a.Got == got, "%d pods run %s, %d should", a.Got, a.Image, got)
	promise(a.Worst <= a.Allowance, "%d pods were unavailable at a time, %d were allowed", a.Worst, a.Allowance)
	if a.Ordered != nil {
		want := a.Ordered[:min(len(a.Order), len(a.Ordered))]
		promise(slices.Equal(a.Order, want), "pods got the image in the order %s", strings.Join(a.Order, ", "))
	}
	if a.Writes != nil {
		promise(a.Writes.Most <= writesPerUpdate, "%d writes to one pod, %d should do", a.Writes.Most, writesPerUpdate)
		promise(a.Writes.Total() > 0, "the audit log shows no write of %s: it is not the log of this release", product)
	}
	return broken
}
