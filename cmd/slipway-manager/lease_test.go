// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	testingclock "k8s.io/utils/clock/testing"
)

// wire answers every request, and has a write wait for a word when it is asked to.
type wire struct {
	code    int
	sent    []string
	arrived chan struct{}
	answer  chan struct{}
}

func (w *wire) RoundTrip(r *http.Request) (*http.Response, error) {
	w.sent = append(w.sent, r.Method+" "+r.URL.Path)
	if w.answer != nil && strings.Contains(r.URL.Path, "pods") {
		w.arrived <- struct{}{}
		<-w.answer
	}
	return &http.Response{StatusCode: w.code, Body: http.NoBody}, nil
}

const (
	aPod   = "http://server/api/v1/namespaces/demo/pods/web-a"
	aLease = "http://server/apis/coordination.k8s.io/v1/namespaces/slipway-system/leases/slipway-manager"
	held   = `{"spec":{"holderIdentity":"us"}}`
	free   = `{"spec":{}}`
)

func send(t *testing.T, by http.RoundTripper, ctx context.Context, method, url, body string) error {
	t.Helper()
	request, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	response, err := by.RoundTrip(request)
	if err == nil {
		_ = response.Body.Close()
	}
	return err
}

func TestNothingIsWrittenWithoutTheLease(t *testing.T) {
	for sentence, test := range map[string]struct {
		before func(clock *testingclock.FakeClock, w *wire, renew func(body string) error) error
		method string
		passes bool
	}{
		"not before it was ever held": {method: http.MethodPatch},
		"but everything may be read":  {method: http.MethodGet, passes: true},
		"a write passes after a renewal": {before: func(_ *testingclock.FakeClock, _ *wire, renew func(string) error) error {
			return renew(held)
		}, method: http.MethodDelete, passes: true},
		"and just before it has run out": {before: func(clock *testingclock.FakeClock, _ *wire, renew func(string) error) error {
			defer clock.Step(10*time.Second - 1)
			return renew(held)
		}, method: http.MethodPost, passes: true},
		"not when it has": {before: func(clock *testingclock.FakeClock, _ *wire, renew func(string) error) error {
			defer clock.Step(10 * time.Second)
			return renew(held)
		}, method: http.MethodPost},
		"not after a renewal that was refused": {before: func(_ *testingclock.FakeClock, w *wire, renew func(string) error) error {
			w.code = http.StatusConflict
			return renew(held)
		}, method: http.MethodPatch},
		"not after it was given back": {before: func(_ *testingclock.FakeClock, _ *wire, renew func(string) error) error {
			return errors.Join(renew(held), renew(free))
		}, method: http.MethodPatch},
		"not after giving it back failed": {before: func(_ *testingclock.FakeClock, w *wire, renew func(string) error) error {
			err := renew(held)
			w.code = http.StatusInternalServerError
			return errors.Join(err, renew(free))
		}, method: http.MethodPatch},
	} {
		t.Run(sentence, func(t *testing.T) {
			clock, w := testingclock.NewFakeClock(time.Unix(0, 0)), &wire{code: http.StatusOK}
			l := &lease{clock: clock, lasts: 10 * time.Second}
			renew := func(body string) error { return send(t, &renewals{l, w}, t.Context(), http.MethodPut, aLease, body) }
			if test.before != nil {
				if err := test.before(clock, w, renew); err != nil {
					t.Fatal(err)
				}
			}
			w.sent = nil
			err := send(t, &guard{l, w}, t.Context(), test.method, aPod, "{}")
			if test.passes != (err == nil) || test.passes != (len(w.sent) == 1) || err != nil && !errors.Is(err, errNotLeading) {
				t.Errorf("error %v, sent %v; want it to pass: %t", err, w.sent, test.passes)
			}
		})
	}
}

func TestTheLeaseIsGivenBackOnlyWhenNoWriteIsUnderWay(t *testing.T) {
	w := &wire{code: http.StatusOK, arrived: make(chan struct{}), answer: make(chan struct{})}
	l := &lease{clock: testingclock.NewFakeClock(time.Unix(0, 0)), lasts: 10 * time.Second}
	if err := send(t, &renewals{l, w}, t.Context(), http.MethodPut, aLease, held); err != nil {
		t.Fatal(err)
	}
	written := make(chan error)
	go func() { written <- send(t, &guard{l, w}, t.Context(), http.MethodPatch, aPod, "{}") }()
	<-w.arrived

	impatient, stop := context.WithCancel(t.Context())
	stop()
	if err := send(t, &renewals{l, w}, impatient, http.MethodPut, aLease, free); !errors.Is(err, context.Canceled) || len(w.sent) != 2 {
		t.Errorf("while a write is under way: error %v, sent %v", err, w.sent)
	}
	given := make(chan error)
	go func() { given <- send(t, &renewals{l, w}, t.Context(), http.MethodPut, aLease, free) }()
	if err := send(t, &guard{l, w}, t.Context(), http.MethodGet, "http://server/healthz", ""); err != nil {
		t.Errorf("a read: %v", err)
	}
	close(w.answer)
	if err := errors.Join(<-written, <-given); err != nil {
		t.Error(err)
	}
	if last := w.sent[len(w.sent)-1]; !strings.Contains(last, "leases") {
		t.Errorf("sent %v, want the lease at the end", w.sent)
	}
}
