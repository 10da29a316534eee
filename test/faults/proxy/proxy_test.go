// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// backend is a server behind a proxy, and a client in front of it.
type backend struct {
	proxy  *Proxy
	client *http.Client
	writes atomic.Int64
	agent  atomic.Value
	// say is what every watch is told.
	say chan string
}

func begin(t *testing.T) *backend {
	t.Helper()
	b := &backend{say: make(chan string)}
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b.agent.Store(r.UserAgent())
		if r.Method != http.MethodGet {
			b.writes.Add(1)
		}
		if r.URL.Query().Get("watch") == "" {
			_, _ = io.WriteString(w, "as asked")
			return
		}
		w.(http.Flusher).Flush()
		for {
			select {
			case line := <-b.say:
				fmt.Fprintln(w, line)
				w.(http.Flusher).Flush()
			case <-r.Context().Done():
				return
			}
		}
	}))
	t.Cleanup(server.Close)
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	p, err := Start(Options{Name: "a", Server: server.URL, Authority: authority, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(p.Authority())
	b.proxy = p
	b.client = &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, ForceAttemptHTTP2: true}}
	return b
}

// ask returns the status and the body, or status 0 when there is no answer.
func (b *backend) ask(t *testing.T, method, path string) (int, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, b.proxy.URL()+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("User-Agent", "slipway-manager/v1")
	response, err := b.client.Do(request)
	if err != nil {
		return 0, ""
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return 0, ""
	}
	return response.StatusCode, string(body)
}

// watch opens a watch that works.
func (b *backend) watch(t *testing.T) *bufio.Reader {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, b.proxy.URL()+"/api/v1/pods?watch=true", nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := b.client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = response.Body.Close() })
	lines := bufio.NewReader(response.Body)
	b.say <- "first"
	if line, err := lines.ReadString('\n'); err != nil || line != "first\n" {
		t.Fatalf("the watch shows %q, error %v", line, err)
	}
	return lines
}

func TestWithoutRulesEverythingGetsThroughAndIsMarked(t *testing.T) {
	b := begin(t)
	if code, body := b.ask(t, http.MethodGet, "/api"); code != http.StatusOK || body != "as asked" {
		t.Errorf("answered %d %q", code, body)
	}
	if got := b.agent.Load(); got != "slipway-manager/v1 via/a" {
		t.Errorf("the server saw the user agent %q", got)
	}
	b.watch(t)
	b.ask(t, http.MethodPut, "/apis/coordination.k8s.io/v1/namespaces/x/leases/l")
	if n := b.proxy.Requests(); n != 2 {
		t.Errorf("%d requests were counted, want 2: a lease is none", n)
	}
}

func TestAClientThatIsCutOffGetsNothingThroughUntilItIsHealed(t *testing.T) {
	b := begin(t)
	lines := b.watch(t)
	b.proxy.Set(Rules{Cut: true})
	if line, err := lines.ReadString('\n'); err == nil {
		t.Errorf("the open watch goes on and shows %q", line)
	}
	if code, _ := b.ask(t, http.MethodPost, "/api"); code != 0 || b.writes.Load() != 0 {
		t.Errorf("a write is answered %d, and the server saw %d", code, b.writes.Load())
	}
	b.proxy.Set(Rules{})
	if code, _ := b.ask(t, http.MethodPost, "/api"); code != http.StatusOK || b.writes.Load() != 1 {
		t.Errorf("healed: a write is answered %d, and the server saw %d", code, b.writes.Load())
	}
}

func TestOnlyLeasesAreCutOff(t *testing.T) {
	b := begin(t)
	b.proxy.Set(Rules{CutLeases: true})
	if code, _ := b.ask(t, http.MethodPut, "/apis/coordination.k8s.io/v1/namespaces/x/leases/l"); code != 0 || b.writes.Load() != 0 {
		t.Errorf("a lease is answered %d", code)
	}
	if code, _ := b.ask(t, http.MethodPut, "/api/v1/namespaces/x/pods/p"); code != http.StatusOK {
		t.Errorf("a pod is answered %d", code)
	}
}

func TestRefusedRequestsNeverReachTheServer(t *testing.T) {
	b := begin(t)
	b.proxy.Set(Rules{Refuse: 1})
	codes := map[int]int{}
	for range 60 {
		code, body := b.ask(t, http.MethodPost, "/api")
		codes[code]++
		if !strings.Contains(body, `"kind":"Status"`) {
			t.Fatalf("the answer is %q", body)
		}
	}
	if b.writes.Load() != 0 || len(codes) != 3 || codes[429] == 0 || codes[500] == 0 || codes[409] == 0 {
		t.Errorf("answers %v, and the server saw %d writes", codes, b.writes.Load())
	}
	for range 30 {
		if code, _ := b.ask(t, http.MethodGet, "/api"); code == http.StatusConflict {
			t.Error("a read is answered 409")
		}
	}
}

func TestALostAnswerWasCarriedOut(t *testing.T) {
	b := begin(t)
	b.proxy.Set(Rules{Lose: 1})
	if code, _ := b.ask(t, http.MethodPost, "/api"); code != http.StatusInternalServerError || b.writes.Load() != 1 {
		t.Errorf("answered %d, the server saw %d writes", code, b.writes.Load())
	}
	if code, _ := b.ask(t, http.MethodGet, "/api"); code != http.StatusOK {
		t.Errorf("a read is answered %d", code)
	}
}

func TestWritesAreHeldBackAndReadsAreNot(t *testing.T) {
	b := begin(t)
	b.proxy.Set(Rules{WriteDelay: 200 * time.Millisecond})
	began := time.Now()
	b.ask(t, http.MethodPost, "/api")
	if took := time.Since(began); took < 100*time.Millisecond || b.writes.Load() != 1 {
		t.Errorf("the write took %s", took)
	}
	ended := make(chan struct{})
	b.proxy.Set(Rules{WriteDelay: time.Hour})
	go func() {
		defer close(ended)
		b.ask(t, http.MethodPost, "/api")
	}()
	if code, _ := b.ask(t, http.MethodGet, "/api"); code != http.StatusOK {
		t.Errorf("a read is answered %d", code)
	}
	b.proxy.Set(Rules{Cut: true})
	<-ended // what was held back is gone with the connection
	if b.writes.Load() != 1 {
		t.Errorf("the server saw %d writes", b.writes.Load())
	}
}

func TestWatchesEnd(t *testing.T) {
	b := begin(t)
	open := b.watch(t)
	b.proxy.Set(Rules{WatchLife: 20 * time.Millisecond})
	if _, err := open.ReadString('\n'); err == nil {
		t.Error("the open watch goes on")
	}
	limited, cancel := context.WithTimeout(t.Context(), time.Minute) // only ends a test that has failed
	defer cancel()
	request, err := http.NewRequestWithContext(limited, http.MethodGet, b.proxy.URL()+"/api/v1/pods?watch=1", nil)
	if err != nil {
		t.Fatal(err)
	}
	if response, err := b.client.Do(request); err == nil {
		defer response.Body.Close()
		_, _ = io.ReadAll(response.Body) // it may break off or come to its end
	}
	if limited.Err() != nil {
		t.Error("a new watch goes on")
	}
}

func TestWatchesAreShownLateAndInOrder(t *testing.T) {
	b := begin(t)
	lines := b.watch(t)
	const delay = 150 * time.Millisecond
	b.proxy.Set(Rules{WatchDelay: delay})
	began := time.Now()
	for _, line := range []string{"one", "two", "three"} {
		b.say <- line
	}
	for _, want := range []string{"one\n", "two\n", "three\n"} {
		if got, err := lines.ReadString('\n'); err != nil || got != want {
			t.Fatalf("the watch shows %q, error %v, want %q", got, err, want)
		}
		if took := time.Since(began); took < delay {
			t.Errorf("%q was shown after %s", want, took)
		}
	}
}
