// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"fmt"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Disorder says where pods that have to wait for one another did not, one sentence for each time; nothing when all went in
// order. The pods' names end with their ordinals, which count from 0 without a gap. In order is:
//
//   - A pod comes when all below it are available.
//   - A pod that is available leaves service, to be updated or for good, when all others are available and none is on its
//     way out.
//   - It leaves after all above it were brought from its revision to one other.
//
// What happens to a pod that is not available is no disorder: nobody misses it.
func (h *History) Disorder(w Window) []string {
	o := &ordered{pods: map[int]*corev1.Pod{}, leaving: map[int]bool{}}
	for _, s := range h.seen {
		if w.To != 0 && s.Version > w.To {
			break
		}
		n, counted := ordinal(s.Name)
		switch {
		case s.Version <= w.From:
		case !counted:
			o.complain("%s has no ordinal", s.Name)
		case o.pods[n] == nil && !s.over():
			o.come(n, s)
		case o.serves(n, s) && (s.over() || !Available(s.Pod, 0, s.At)):
			o.leave(n, s)
		}
		o.note(n, s)
	}
	return o.wrong
}

// ordered is what Disorder knows of the pods at one moment, by ordinal.
type ordered struct {
	pods map[int]*corev1.Pod
	// leaving are pods that were asked to end, until they are gone.
	leaving map[int]bool
	wrong   []string
}

func (s Sighting) over() bool { return s.Gone || !active(s.Pod) }

func ordinal(name string) (int, bool) {
	digits := name[strings.LastIndex(name, "-")+1:]
	n, err := strconv.Atoi(digits)
	return n, err == nil && strconv.Itoa(n) == digits
}

func (o *ordered) complain(format string, args ...any) {
	o.wrong = append(o.wrong, fmt.Sprintf(format, args...))
}

func (o *ordered) serves(n int, s Sighting) bool {
	return o.pods[n] != nil && Available(o.pods[n], 0, s.At)
}

func (o *ordered) come(n int, s Sighting) {
	for below := range n {
		if !o.serves(below, s) {
			o.complain("%s came at version %d while %d was not available", s.Name, s.Version, below)
		}
	}
}

func (o *ordered) leave(n int, s Sighting) {
	highest := n
	for other := range o.pods {
		highest = max(highest, other)
	}
	revisions := map[string]bool{revision(o.pods[n]): true}
	for other := range highest + 1 {
		if other == n {
			continue
		}
		if !o.serves(other, s) {
			o.complain("%s left at version %d while %d was not available", s.Name, s.Version, other)
			continue
		}
		if above := revision(o.pods[other]); other > n {
			if above == revision(o.pods[n]) {
				o.complain("%s left at version %d before %d", s.Name, s.Version, other)
			}
			revisions[above] = true
		}
	}
	if len(revisions) > 2 {
		o.complain("%s left at version %d while those above it were not all at one revision", s.Name, s.Version)
	}
	for other := range o.leaving {
		o.complain("%s left at version %d while %d was on its way out", s.Name, s.Version, other)
	}
}

func (o *ordered) note(n int, s Sighting) {
	switch {
	case !s.over():
		o.pods[n] = s.Pod
		delete(o.leaving, n)
	case s.Deletion && (o.leaving[n] || s.Pod == nil || s.Pod.DeletionTimestamp == nil):
		delete(o.pods, n)
		delete(o.leaving, n)
	case s.Pod != nil && s.Pod.DeletionTimestamp != nil:
		delete(o.pods, n)
		o.leaving[n] = true
	default:
		delete(o.pods, n)
	}
}

func revision(pod *corev1.Pod) string { return pod.Labels["controller-revision-hash"] }
