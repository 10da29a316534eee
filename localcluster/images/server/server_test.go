// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"slipway.dev/slipway/localcluster/images/whoami"
)

func environment(values map[string]string) func(string) string {
	return func(name string) string { return values[name] }
}

func started(t *testing.T, values map[string]string, at time.Time) http.Handler {
	t.Helper()
	s, err := newSite(environment(values), at)
	if err != nil {
		t.Fatal(err)
	}
	return s.routes()
}

func ask(site http.Handler, method, path, body string) *httptest.ResponseRecorder {
	recorder := httptest.NewRecorder()
	site.ServeHTTP(recorder, httptest.NewRequest(method, path, strings.NewReader(body)))
	return recorder
}

func TestReadinessIsAsTheEnvironmentAsks(t *testing.T) {
	for name, tc := range map[string]struct {
		after   string
		running time.Duration
		want    int
	}{
		"at once when nothing is asked":    {"", 0, http.StatusOK},
		"not before the time has passed":   {"1h", time.Minute, http.StatusServiceUnavailable},
		"when the time has passed":         {"1h", 2 * time.Hour, http.StatusOK},
		"never, however long one may wait": {"never", 1000 * time.Hour, http.StatusServiceUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			site := started(t, map[string]string{"READY_AFTER": tc.after}, time.Now().Add(-tc.running))
			if got := ask(site, http.MethodGet, "/ready", "").Code; got != tc.want {
				t.Errorf("got %d, want %d", got, tc.want)
			}
		})
	}
}

func TestProbesAnswerAsTheyWereTold(t *testing.T) {
	for _, probe := range []string{"/ready", "/alive"} {
		site := started(t, nil, time.Now())
		for _, step := range []struct {
			is   string
			want int
		}{{"no", http.StatusServiceUnavailable}, {"yes", http.StatusOK}} {
			if got := ask(site, http.MethodPost, probe+"?is="+step.is, "").Code; got != http.StatusOK {
				t.Fatalf("telling %s: got %d", probe, got)
			}
			if got := ask(site, http.MethodGet, probe, "").Code; got != step.want {
				t.Errorf("%s after %s: got %d, want %d", probe, step.is, got, step.want)
			}
		}
		if got := ask(site, http.MethodPost, probe+"?is=maybe", "").Code; got != http.StatusBadRequest {
			t.Errorf("%s told maybe: got %d, want %d", probe, got, http.StatusBadRequest)
		}
	}
}

func TestTheServerTellsWhatItWasPackedWith(t *testing.T) {
	at := time.Now()
	site := started(t, map[string]string{"VERSION": "v2", "IMAGE": "registry.test/app:v2"}, at)
	ask(site, http.MethodGet, "/", "")
	var got whoami.Answer
	if err := json.Unmarshal(ask(site, http.MethodGet, "/", "").Body.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if got.Version != "v2" || got.Image != "registry.test/app:v2" || !got.Started.Equal(at) || got.Requests != 2 || got.PID == 0 {
		t.Errorf("got %+v", got)
	}
}

func TestAFileKeepsWhatWasWritten(t *testing.T) {
	site := started(t, nil, time.Now())
	path := "/file?path=" + url.QueryEscape(filepath.Join(t.TempDir(), "note"))
	if got := ask(site, http.MethodGet, path, "").Code; got != http.StatusNotFound {
		t.Errorf("before: got %d, want %d", got, http.StatusNotFound)
	}
	ask(site, http.MethodPut, path, "hello")
	if got := ask(site, http.MethodGet, path, "").Body.String(); got != "hello" {
		t.Errorf("got %q, want what was written", got)
	}
}

func TestLimitsAreReadInBothVersionsOfControlGroups(t *testing.T) {
	for name, tc := range map[string]struct {
		files map[string]string
		want  whoami.Limits
	}{
		"version 1": {
			map[string]string{
				"/sys/fs/cgroup/memory/memory.limit_in_bytes": "67108864\n",
				"/sys/fs/cgroup/cpu/cpu.cfs_quota_us":         "20000\n", "/sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n",
			},
			whoami.Limits{Memory: "67108864", CPUQuota: "20000", CPUPeriod: "100000"},
		},
		"version 2": {
			map[string]string{"/sys/fs/cgroup/memory.max": "67108864\n", "/sys/fs/cgroup/cpu.max": "max 100000\n"},
			whoami.Limits{Memory: "67108864", CPUQuota: "max", CPUPeriod: "100000"},
		},
		"nothing": {nil, whoami.Limits{}},
	} {
		t.Run(name, func(t *testing.T) {
			got := limits(func(path string) ([]byte, error) {
				content, there := tc.files[path]
				if !there {
					return nil, fs.ErrNotExist
				}
				return []byte(content), nil
			})
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestASettingThatMakesNoSenseEndsTheServer(t *testing.T) {
	for name, values := range map[string]map[string]string{
		"a crash that was asked for":      {"CRASH": "yes"},
		"a readiness that is no duration": {"READY_AFTER": "soon"},
		"a drain that is no duration":     {"DRAIN": "long"},
	} {
		t.Run(name, func(t *testing.T) {
			if err := run(context.Background(), environment(values)); err == nil {
				t.Error("got no error")
			}
		})
	}
}
