// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"slipway.dev/slipway/localcluster/images/whoami"
)

// site is what the server knows of itself.
type site struct {
	getenv   func(string) string
	started  time.Time
	requests atomic.Int64

	mu sync.Mutex
	// readyAt is the zero time for never.
	readyAt time.Time
	sick    bool
}

func newSite(getenv func(string) string, now time.Time) (*site, error) {
	s := &site{getenv: getenv, started: now}
	after := getenv("READY_AFTER")
	if after == "never" {
		return s, nil
	}
	wait, err := duration(after)
	if err != nil {
		return nil, fmt.Errorf("reading READY_AFTER: %w", err)
	}
	s.readyAt = now.Add(wait)
	return s, nil
}

func (s *site) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", s.tell)
	mux.HandleFunc("GET /wait", s.wait)
	mux.HandleFunc("GET /ready", s.answer(s.isReady))
	mux.HandleFunc("GET /alive", s.answer(s.isAlive))
	mux.HandleFunc("POST /ready", s.set(func(yes bool) {
		s.readyAt = time.Time{}
		if yes {
			s.readyAt = time.Now()
		}
	}))
	mux.HandleFunc("POST /alive", s.set(func(yes bool) { s.sick = !yes }))
	mux.HandleFunc("POST /exit", s.exit)
	mux.HandleFunc("GET /file", s.read)
	mux.HandleFunc("PUT /file", s.write)
	return mux
}

func (s *site) tell(w http.ResponseWriter, _ *http.Request) {
	hostname, err := os.Hostname()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	environment := map[string]string{}
	for _, entry := range os.Environ() {
		name, value, _ := strings.Cut(entry, "=")
		environment[name] = value
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(whoami.Answer{ // only a client that went away does not get it
		Version: s.getenv("VERSION"), Image: s.getenv("IMAGE"),
		PID: os.Getpid(), Started: s.started, Hostname: hostname,
		Requests: s.requests.Add(1), Environment: environment, Limits: limits(os.ReadFile),
	})
}

func (s *site) wait(w http.ResponseWriter, r *http.Request) {
	pause, err := time.ParseDuration(r.FormValue("for"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	select {
	case <-time.After(pause):
		s.tell(w, r)
	case <-r.Context().Done():
	}
}

func (s *site) isReady() bool { return !s.readyAt.IsZero() && !time.Now().Before(s.readyAt) }
func (s *site) isAlive() bool { return !s.sick }

func (s *site) answer(is func() bool) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if !is() {
			http.Error(w, "no", http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "yes")
	}
}

func (s *site) set(to func(yes bool)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		answer := r.FormValue("is")
		if answer != "yes" && answer != "no" {
			http.Error(w, "?is=yes or ?is=no", http.StatusBadRequest)
			return
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		to(answer == "yes")
	}
}

func (s *site) exit(w http.ResponseWriter, r *http.Request) {
	code, err := strconv.Atoi(r.FormValue("code"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	fmt.Printf("exits with code %d, as it was asked to\n", code)
	os.Exit(code)
}

func (s *site) read(w http.ResponseWriter, r *http.Request) {
	content, err := os.ReadFile(r.URL.Query().Get("path"))
	if err != nil {
		status := http.StatusInternalServerError
		if errors.Is(err, fs.ErrNotExist) {
			status = http.StatusNotFound
		}
		http.Error(w, err.Error(), status)
		return
	}
	_, _ = w.Write(content)
}

func (s *site) write(w http.ResponseWriter, r *http.Request) {
	content, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	if err == nil {
		err = os.WriteFile(r.URL.Query().Get("path"), content, 0o644)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
	}
}

// limits are what the container's own cgroup says, in either version of cgroups. What cannot be read is left out.
func limits(read func(string) ([]byte, error)) whoami.Limits {
	first := func(paths ...string) string {
		for _, path := range paths {
			if content, err := read(path); err == nil {
				return strings.TrimSpace(string(content))
			}
		}
		return ""
	}
	l := whoami.Limits{Memory: first("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")}
	if both := strings.Fields(first("/sys/fs/cgroup/cpu.max")); len(both) == 2 {
		l.CPUQuota, l.CPUPeriod = both[0], both[1]
		return l
	}
	l.CPUQuota = first("/sys/fs/cgroup/cpu/cpu.cfs_quota_us")
	l.CPUPeriod = first("/sys/fs/cgroup/cpu/cpu.cfs_period_us")
	return l
}
