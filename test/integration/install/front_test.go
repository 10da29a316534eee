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
// those that answer a write without saying what became of it.
type front struct {
	url string
	old bool

	mu sync.Mutex
	// failing is how many of the next writes of a kind fail.
	failing map[string]int
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
		case r.Method == http.MethodPost && f.fails(path.Base(r.URL.Path)),
			r.Method == http.MethodPatch && f.fails("patch of "+path.Base(path.Dir(r.URL.Path))):
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

// failNext has the next creation of each of the resources fail, or the next patch of one where it is called "patch of" that;
// of what is named twice, the next two.
func (f *front) failNext(resources ...string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.failing = map[string]int{}
	for _, resource := range resources {
		f.failing[resource]++
	}
}

func (f *front) fails(resource string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.failing[resource] == 0 {
		return false
	}
	f.failing[resource]--
	return true
}

func refuse(w http.ResponseWriter, code int, reason string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_, _ = fmt.Fprintf(w, `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": %q, "code": %d}`, reason, code) // the client may be gone
}
