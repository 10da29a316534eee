// SPDX-License-Identifier: Apache-2.0

package install

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path"
	"sync"
	"testing"

	"k8s.io/client-go/rest"
)

// front stands before the API server, and can be as old as those that give a watch no list to begin with, and as broken as
// those that answer a creation without saying what became of it.
type front struct {
	url string
	old bool

	mu sync.Mutex
	// failing are the resources of which the next creation fails.
	failing map[string]bool
}

func startFront(t *testing.T, old bool) *front {
	t.Helper()
	target, err := url.Parse(cluster.Host)
	if err != nil {
		t.Fatal(err)
	}
	transport, err := rest.TransportFor(cluster)
	if err != nil {
		t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(target) },
		Transport:     transport,
		FlushInterval: -1,
		ErrorHandler:  func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) }, // mostly the client has gone
	}
	f := &front{old: old}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case f.old && r.URL.Query().Get("sendInitialEvents") == "true":
			refuse(w, http.StatusUnprocessableEntity, "Invalid")
		case r.Method == http.MethodPost && f.fails(path.Base(r.URL.Path)):
			refuse(w, http.StatusInternalServerError, "InternalError")
		default:
			proxy.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	f.url = server.URL
	return f
}

// failNext has the next creation of each of the resources fail.
func (f *front) failNext(resources ...string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.failing = map[string]bool{}
	for _, resource := range resources {
		f.failing[resource] = true
	}
}

func (f *front) fails(resource string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	fails := f.failing[resource]
	delete(f.failing, resource)
	return fails
}

func refuse(w http.ResponseWriter, code int, reason string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_, _ = fmt.Fprintf(w, `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": %q, "code": %d}`, reason, code) // the client may be gone
}
