// SPDX-License-Identifier: Apache-2.0

package server

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"k8s.io/client-go/rest"
)

func TestResizingNeedsAServerThatOffersIt(t *testing.T) {
	for sentence, c := range map[string]struct {
		resources string
		want      bool
	}{
		"a server that offers it":   {`{"name": "pods"}, {"name": "pods/resize"}, {"name": "pods/status"}`, true},
		"a server from before 1.32": {`{"name": "pods"}, {"name": "pods/status"}`, false},
	} {
		t.Run(sentence, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/api/v1" {
					http.NotFound(w, r)
					return
				}
				w.Header().Set("Content-Type", "application/json")
				if _, err := w.Write([]byte(`{"kind": "APIResourceList", "groupVersion": "v1", "resources": [` + c.resources + `]}`)); err != nil {
					t.Error(err)
				}
			}))
			defer server.Close()
			got, err := OffersResize(&rest.Config{Host: server.URL}, server.Client())
			if err != nil || got != c.want {
				t.Errorf("got %v, %v; want %v", got, err, c.want)
			}
		})
	}
}

func TestAServerThatDoesNotAnswerIsAnError(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	if _, err := OffersResize(&rest.Config{Host: server.URL}, server.Client()); err == nil {
		t.Error("no error")
	}
}
