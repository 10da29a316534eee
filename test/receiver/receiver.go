// SPDX-License-Identifier: Apache-2.0

package receiver

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// KeyHeader is the header that tells deliveries of the same call from other calls.
const KeyHeader = "Idempotency-Key"

// Delivery is a request that came in.
type Delivery struct {
	Method, Path, Query string
	Header              http.Header
	Body                []byte
	// Key is the value of KeyHeader without its quotes.
	Key string
}

// Payload is the body of a delivery by a rollout.
type Payload struct {
	Name      string            `json:"name"`
	Namespace string            `json:"namespace"`
	Phase     string            `json:"phase"`
	Metadata  map[string]string `json:"metadata"`
}

// Payload reads the body.
func (d Delivery) Payload() (Payload, error) {
	var p Payload
	decoder := json.NewDecoder(bytes.NewReader(d.Body))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&p); err != nil {
		return p, fmt.Errorf("reading the body of %s %s: %w", d.Method, d.Path, err)
	}
	return p, nil
}

// Behaviour is what happens to one delivery.
type Behaviour func(r *Receiver, w http.ResponseWriter, request *http.Request)

// Receiver is a server that runs until it is closed.
type Receiver struct {
	listener net.Listener
	server   *http.Server
	url      string
	closed   chan struct{}

	mu         sync.Mutex
	paths      map[string][]Behaviour
	deliveries []Delivery
	changed    chan struct{} // is closed with each delivery
}

// Start starts a receiver on a free port of the loopback device.
func Start() (*Receiver, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("starting a receiver: %w", err)
	}
	r := &Receiver{
		listener: listener, url: "http://" + listener.Addr().String(), closed: make(chan struct{}),
		paths: map[string][]Behaviour{}, changed: make(chan struct{}),
	}
	r.server = &http.Server{Handler: http.HandlerFunc(r.serve), ReadHeaderTimeout: time.Minute}
	go func() { _ = r.server.Serve(listener) }() // it ends when it is closed, and with nothing else to tell
	return r, nil
}

// For starts a receiver that runs until the test ends.
func For(t testing.TB) *Receiver {
	t.Helper()
	r, err := Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r
}

// Close ends the server and all deliveries that it holds.
func (r *Receiver) Close() {
	close(r.closed)
	_ = r.listener.Close() // the server may not have begun with it, and would close it later; it fails when it is closed
	_ = r.server.Close()   // connections that fail to close are closed as well
}

// URL is where a path is called.
func (r *Receiver) URL(path string) string { return r.url + path }

// On tells a path what to do with its deliveries from now on, one after the other; the last behaviour stays. A path that was
// told nothing answers 200.
func (r *Receiver) On(path string, behaviours ...Behaviour) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.paths[path] = behaviours
}

// Deliveries returns what came in under a key, or everything for none.
func (r *Receiver) Deliveries(key string) []Delivery {
	r.mu.Lock()
	defer r.mu.Unlock()
	var found []Delivery
	for _, d := range r.deliveries {
		if key == "" || d.Key == key {
			found = append(found, d)
		}
	}
	return found
}

// Keys returns how often each key was delivered to a path.
func (r *Receiver) Keys(path string) map[string]int {
	keys := map[string]int{}
	for _, d := range r.Deliveries("") {
		if d.Path == path {
			keys[d.Key]++
		}
	}
	return keys
}

// Next returns a channel that is closed when one more delivery has come in.
func (r *Receiver) Next() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.changed
}

func (r *Receiver) serve(w http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(io.LimitReader(request.Body, 1<<20))
	if err != nil {
		return // whoever called has gone
	}
	r.record(request, body)(r, w, request)
}

func (r *Receiver) record(request *http.Request, body []byte) Behaviour {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.deliveries = append(r.deliveries, Delivery{
		Method: request.Method, Path: request.URL.Path, Query: request.URL.RawQuery, Header: request.Header.Clone(), Body: body,
		Key: strings.Trim(request.Header.Get(KeyHeader), `"`),
	})
	close(r.changed)
	r.changed = make(chan struct{})
	behaviours := r.paths[request.URL.Path]
	switch len(behaviours) {
	case 0:
		return Answer(http.StatusOK, "")
	case 1:
	default:
		r.paths[request.URL.Path] = behaviours[1:]
	}
	return behaviours[0]
}
