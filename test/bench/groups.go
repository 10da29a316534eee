// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"slipway.dev/slipway/test/audit"
)

// span is when a pod was on its way: from the first request that changed it to the last one.
type span struct {
	from, to time.Time
	// made: it was created meanwhile; gone: the first request was its deletion.
	made, gone bool
}

// follow adds a request.
func (s *span) follow(e event) {
	if s.from.IsZero() {
		s.from, s.gone = e.Received, e.Verb == "delete"
	}
	s.to = e.Received
	s.made = s.made || e.Verb == "create" && e.ObjectRef.Subresource == ""
}

// spansOf are the spans of all pods that were changed in a part of an audit log, by name. Times are those at which requests came
// in: what was caused by another request came in later. A log that has no times gives none.
func spansOf(r io.Reader) (map[string]span, error) {
	var events []event
	err := eachEvent(r, func(e event) {
		// The built-in controllers judge the health of nodes, and the pods' with it, which is no part of a release.
		judged := e.ObjectRef.Subresource == "status" && audit.Product(e.UserAgent) == controllerManager
		changed := !(request{Verb: e.Verb}).read() && e.ObjectRef.Resource == "pods" && e.ObjectRef.Name != "" && e.ResponseStatus.Code < http.StatusBadRequest
		if changed && !judged && !e.Received.IsZero() {
			events = append(events, e)
		}
	})
	slices.SortStableFunc(events, func(a, b event) int { return a.Received.Compare(b.Received) })
	spans := map[string]span{}
	for _, e := range events {
		s := spans[e.ObjectRef.Name]
		s.follow(e)
		spans[e.ObjectRef.Name] = s
	}
	return spans, err
}

// mostAtOnce is how many of the spans overlap at most.
func mostAtOnce(spans []span) int {
	type turn struct {
		at   time.Time
		step int
	}
	var turns []turn
	for _, s := range spans {
		turns = append(turns, turn{s.from, 1}, turn{s.to, -1})
	}
	slices.SortFunc(turns, func(a, b turn) int { return cmp.Or(a.at.Compare(b.at), cmp.Compare(b.step, a.step)) })
	now, most := 0, 0
	for _, t := range turns {
		now += t.step
		most = max(most, now)
	}
	return most
}

// checkOverlap finds in the audit log how many pods of one workload were on their way at once, and fails when these were more
// than the limit. A pod that only left, because a new one had come for it, is not on its way to anywhere.
func (b *bench) checkOverlap(r *row, pods []corev1.Pod, limit int, limitName string, from int64) error {
	if b.cluster.audit == "" {
		return nil
	}
	to, err := b.cluster.logEnd()
	if err != nil {
		return err
	}
	file, err := os.Open(b.cluster.audit)
	if err != nil {
		return fmt.Errorf("opening the audit log: %w", err)
	}
	defer file.Close()
	spans, err := spansOf(io.NewSectionReader(file, from, max(0, to-from)))
	if err != nil {
		return err
	}
	return judgeOverlap(r, pods, spans, limit, limitName)
}

// judgeOverlap notes the most pods of one workload that were on their way at once.
func judgeOverlap(r *row, pods []corev1.Pod, spans map[string]span, limit int, limitName string) error {
	owners := map[string]string{}
	for i := range pods {
		owners[pods[i].Name] = pods[i].Labels[labelApp]
	}
	byOwner := map[string][]span{}
	for name, s := range spans {
		if owner, known := owners[name]; known && (s.made || !s.gone) {
			byOwner[owner] = append(byOwner[owner], s)
		}
	}
	if len(byOwner) == 0 {
		r.note("the audit log does not tell when pods were on their way, so %s is not checked by it", limitName)
		return nil
	}
	most := 0
	for owner, list := range byOwner {
		n := mostAtOnce(list)
		if n > limit {
			return fmt.Errorf("%d pods of %s were on their way at once, and %s is %d", n, owner, limitName, limit)
		}
		most = max(most, n)
	}
	r.set(atOnce, float64(most))
	return nil
}
