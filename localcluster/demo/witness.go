// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"context"
	"fmt"
	"os"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"slipway.dev/slipway/test/audit"
)

const (
	// logPatience is how long the audit log may lag behind what a watch shows.
	logPatience = 10 * time.Second
	lookEvery   = 50 * time.Millisecond
)

// witness remembers all that happened to pods since the demo began: from the audit log if there is
// one, else from a watch.
type witness struct {
	log    string // empty: none
	offset int64
	writes []audit.Write

	mu   sync.Mutex
	seen []audit.Sighting // by the watch
}

// newWitness starts at the end of the log.
func newWitness(log string) (*witness, error) {
	w := &witness{log: log}
	if log == "" {
		return w, nil
	}
	info, err := os.Stat(log)
	if err != nil {
		return nil, fmt.Errorf("looking for the audit log: %w", err)
	}
	w.offset = info.Size()
	return w, nil
}

// see takes what a watch shows.
func (w *witness) see(p *corev1.Pod, removed bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen = append(w.seen, audit.See(p, time.Now(), removed))
}

// testify returns the history of the owner's pods.
func (w *witness) testify(ctx context.Context, owner types.UID, known []*corev1.Pod) (*audit.History, error) {
	return w.testifyOf(ctx, func(p *corev1.Pod) bool { return metav1.IsControlledBy(p, &metav1.ObjectMeta{UID: owner}) }, known)
}

// testifyOf returns the history of the pods that match. The API server answers a request just before it logs it, so
// the log is read until it knows the states of these pods, which a watch has shown.
func (w *witness) testifyOf(ctx context.Context, matches func(*corev1.Pod) bool, known []*corev1.Pod) (*audit.History, error) {
	if w.log == "" {
		w.mu.Lock()
		defer w.mu.Unlock()
		return audit.HistoryOf(matches, w.seen), nil
	}
	ctx, cancel := context.WithTimeout(ctx, logPatience)
	defer cancel()
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		fresh, offset, err := audit.ReadFile(w.log, w.offset)
		if err != nil {
			return nil, err
		}
		w.writes, w.offset = append(w.writes, fresh...), offset
		history := audit.HistoryOf(matches, audit.Sightings(w.writes))
		missing := behind(history, known)
		if missing == "" {
			return history, nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil, fmt.Errorf("the audit log %s does not show the newest state of pod %s: %w", w.log, missing, ctx.Err())
		}
	}
}

// behind names a pod whose known state the history does not have.
func behind(h *audit.History, known []*corev1.Pod) string {
	for _, p := range known {
		if !h.Knows(p) {
			return p.Name
		}
	}
	return ""
}

// count is how many writes are known; those of a release are what is known at its end beyond what was at its beginning.
func (w *witness) count() int { return len(w.writes) }

// since are the writes beyond a count, nil when there is no log.
func (w *witness) since(count int) []audit.Write {
	if w.log == "" {
		return nil
	}
	return append([]audit.Write{}, w.writes[count:]...)
}
