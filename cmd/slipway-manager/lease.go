// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
)

// errNotLeading is what a write gets that comes without the lease.
var errNotLeading = errors.New("the lease is not held, so nothing is written")

// lease stands between this process and the API server, so that no write leaves without the lease. Leader election alone
// does not see to that: when it cannot renew in time, it first gives the lease back, and only then has the work stopped.
type lease struct {
	clock clock.PassiveClock
	// lasts is how long a renewal is good for, counted from its sending. Others wait for longer than that.
	lasts time.Duration

	mu       sync.Mutex
	until    time.Time
	inFlight int
	// idle is closed when the last write in flight has its answer, if somebody waits for that.
	idle chan struct{}
}

// fence returns a configuration for leader election, and has every write by the given one wait on what that achieves.
func (l *lease) fence(config *rest.Config) *rest.Config {
	election := rest.CopyConfig(config)
	election.ContentType = runtime.ContentTypeJSON // it is read here
	election.Wrap(func(next http.RoundTripper) http.RoundTripper { return &renewals{l, next} })
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return &guard{l, next} })
	return election
}

// guard lets writes through while the lease is held.
type guard struct {
	lease *lease
	next  http.RoundTripper
}

// RoundTrip returns errNotLeading for a write without the lease, which then has not left this process.
func (g *guard) RoundTrip(r *http.Request) (*http.Response, error) {
	if !isWrite(r) {
		return g.next.RoundTrip(r)
	}
	if !g.lease.enter() {
		if r.Body != nil {
			_ = r.Body.Close() // as the contract of RoundTripper wants it
		}
		return nil, errNotLeading
	}
	defer g.lease.leave()
	return g.next.RoundTrip(r)
}

func isWrite(r *http.Request) bool {
	return r.Method != http.MethodGet && r.Method != http.MethodHead && r.Method != http.MethodOptions
}

func (l *lease) enter() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.clock.Now().Before(l.until) {
		return false
	}
	l.inFlight++
	return true
}

func (l *lease) leave() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.inFlight--; l.inFlight == 0 && l.idle != nil {
		close(l.idle)
		l.idle = nil
	}
}

// giveUp lets no further write out and waits for the answers to those that are out.
func (l *lease) giveUp(ctx context.Context) error {
	l.mu.Lock()
	l.until = time.Time{}
	idle := make(chan struct{})
	if l.inFlight == 0 {
		close(idle)
	} else {
		l.idle = idle
	}
	l.mu.Unlock()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("waiting for the last writes before the lease is given back: %w", ctx.Err())
	}
}

// renewals learns from what leader election sends, and the server accepts.
type renewals struct {
	lease *lease
	next  http.RoundTripper
}

// RoundTrip notes each renewal. The lease is given back only when no write is under way; an error leaves it to run out.
func (t *renewals) RoundTrip(r *http.Request) (*http.Response, error) {
	if !isWrite(r) || !strings.Contains(r.URL.Path, "/leases") {
		return t.next.RoundTrip(r)
	}
	holds, err := namesHolder(r)
	if err != nil {
		return nil, err
	}
	if !holds {
		if err := t.lease.giveUp(r.Context()); err != nil {
			_ = r.Body.Close() // as the contract of RoundTripper wants it
			return nil, err
		}
		return t.next.RoundTrip(r)
	}
	sent := t.lease.clock.Now()
	response, err := t.next.RoundTrip(r)
	if err == nil && response.StatusCode < http.StatusMultipleChoices {
		t.lease.mu.Lock()
		t.lease.until = sent.Add(t.lease.lasts)
		t.lease.mu.Unlock()
	}
	return response, err
}

// namesHolder says whether the lease in the request has a holder, which can only be this process.
func namesHolder(r *http.Request) (bool, error) {
	body, err := io.ReadAll(r.Body)
	if err = errors.Join(err, r.Body.Close()); err != nil {
		return false, fmt.Errorf("reading the lease that is to be written: %w", err)
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	var written coordinationv1.Lease
	if err := json.Unmarshal(body, &written); err != nil {
		return false, fmt.Errorf("reading the lease that is to be written: %w", err)
	}
	return written.Spec.HolderIdentity != nil && *written.Spec.HolderIdentity != "", nil
}
