// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"net/http"
	"strings"
	"time"
)

// Rules are the trouble that is made. The zero value makes none.
type Rules struct {
	// Cut lets nothing through: open connections end, new ones are closed at once.
	Cut bool
	// CutLeases lets everything through but requests for leases.
	CutLeases bool
	// WriteDelay holds each write back for up to so long, and for at least half of it.
	WriteDelay time.Duration
	// Refuse is the share of requests, from 0 to 1, that the server never sees: they are answered 429 or 500, writes also 409.
	Refuse float64
	// Lose is the share of writes, from 0 to 1, that the server carries out and that are answered 500 all the same.
	Lose float64
	// WatchLife ends each watch after up to so long; 0 lets them live.
	WatchLife time.Duration
	// WatchDelay shows everything on a watch so much later.
	WatchDelay time.Duration
}

func writes(r *http.Request) bool {
	switch r.Method {
	case http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete:
		return true
	default:
		return false
	}
}

func watches(r *http.Request) bool {
	if r.Method != http.MethodGet {
		return false
	}
	asked := r.URL.Query().Get("watch")
	return asked != "" && asked != "0" && asked != "false"
}

func ofLeases(r *http.Request) bool {
	return strings.HasPrefix(r.URL.Path, "/apis/coordination.k8s.io/")
}
