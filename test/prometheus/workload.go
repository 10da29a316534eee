// SPDX-License-Identifier: Apache-2.0

package prometheus

import (
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"
)

// Workload is what a target of Prometheus looks like: a server that counts the requests it has answered, by app and code. Between two scrapes
// it answers 100 of each app, of which as many fail as the test has set.
type Workload struct {
	// Address is where it is scraped.
	Address string
	server  *http.Server

	mu       sync.Mutex
	failing  map[string]int // of each 100
	answered map[string]int
	failed   map[string]int
}

// StartWorkload starts a workload without apps.
func StartWorkload() (*Workload, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("starting a workload: %w", err)
	}
	w := &Workload{Address: listener.Addr().String(), failing: map[string]int{}, answered: map[string]int{}, failed: map[string]int{}}
	w.server = &http.Server{Handler: w, ReadHeaderTimeout: time.Minute}
	go func() { _ = w.server.Serve(listener) }() // it ends when it is stopped
	return w, nil
}

// Fail sets how many of 100 requests to an app fail from now on. An app that was not there appears.
func (w *Workload) Fail(app string, ofHundred int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.failing[app] = ofHundred
}

// Stop ends the workload.
func (w *Workload) Stop() { _ = w.server.Close() } // connections that fail to close are closed as well

// ServeHTTP is one scrape.
func (w *Workload) ServeHTTP(out http.ResponseWriter, _ *http.Request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	out.Header().Set("Content-Type", "text/plain; version=0.0.4")
	_, _ = fmt.Fprintln(out, "# TYPE http_requests_total counter") // who scrapes may have gone
	for app, failing := range w.failing {
		w.failed[app] += failing
		w.answered[app] += 100 - failing
		_, _ = fmt.Fprintf(out, "http_requests_total{app=%q,code=\"200\"} %d\nhttp_requests_total{app=%q,code=\"500\"} %d\n", app, w.answered[app], app, w.failed[app])
	}
}
