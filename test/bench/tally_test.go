// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const ours = "slipway-manager/v1 (linux/amd64)"

// line is an audit line as the API server writes it.
func line(agent, verb, resource, sub string, code int, rest string) string {
	stage := "ResponseComplete"
	if verb == "watch" {
		stage = "ResponseStarted"
	}
	return fmt.Sprintf(`{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"RequestResponse","stage":%q,"requestURI":"/api/v1/x","verb":%q,`+
		`"user":{"username":"admin"},"userAgent":%q,"objectRef":{"resource":%q,"namespace":"n","name":"p","subresource":%q,"apiVersion":"v1"},`+
		`"responseStatus":{"metadata":{},"code":%d}%s}`+"\n", stage, verb, agent, resource, sub, code, rest)
}

func TestTally(t *testing.T) {
	one := count{Requests: 1}
	tests := map[string]struct {
		log  string
		want map[string]map[string]count
	}{
		"requests are counted by client, verb, resource and subresource": {
			log: line(ours, "create", "pods", "", 201, "") + line(ours, "patch", "pods", "status", 200, "") + line(ours, "patch", "pods", "status", 200, "") +
				line("slipway-node/v0", "patch", "pods", "status", 200, "") + line("kubelet/v1.36", "patch", "pods", "status", 200, "") +
				line("kube-scheduler/v1.36", "create", "pods", "binding", 201, "") + line(benchAgent, "create", "clonesets", "", 201, ""),
			want: map[string]map[string]count{
				byManager:        {"create pods": one, "patch pods/status": {Requests: 2}},
				byNodes:          {"patch pods/status": {Requests: 2}},
				"kube-scheduler": {"create pods/binding": one},
				byBench:          {"create clonesets": one},
			},
		},
		"conflicts are told from other refusals": {
			log: line(ours, "patch", "pods", "", 409, "") + line(ours, "patch", "pods", "", 422, "") + line(ours, "patch", "pods", "", 200, ""),
			want: map[string]map[string]count{
				byManager: {"patch pods": {Requests: 3, Conflicts: 1, Refused: 1}},
			},
		},
		"objects are not read, whatever stands in them": {
			log: line(ours, "create", "pods", "", 201, `,"requestObject":{"verb":"delete","x":"\",\"userAgent\":\"y"},"responseObject":{"userAgent":"z"},"stageTimestamp":"t"`) +
				line(ours, "delete", "pods", "", 200, `,"responseObject":{"verb":"create"}`),
			want: map[string]map[string]count{byManager: {"create pods": one, "delete pods": one}},
		},
		"a key in a text does not end what is read": {
			log:  line(ours+` ,"requestObject":`, "create", "pods", "", 201, `,"requestObject":{}`),
			want: map[string]map[string]count{byManager: {"create pods": one}},
		},
		"a watch counts when it begins, and no other request does": {
			log: line(ours, "watch", "pods", "", 200, "") + strings.Replace(line(ours, "watch", "pods", "", 200, ""), "ResponseStarted", "ResponseComplete", 1) +
				strings.Replace(line(ours, "get", "pods", "", 200, ""), "ResponseComplete", "ResponseStarted", 1),
			want: map[string]map[string]count{byManager: {"watch pods": one}},
		},
		"what is only tried out does not count": {
			log:  strings.Replace(line(ours, "patch", "pods", "", 200, ""), "/api/v1/x", "/api/v1/x?dryRun=All", 1),
			want: map[string]map[string]count{},
		},
		"what is no request for a resource does not count": {
			log:  `{"stage":"ResponseComplete","verb":"get","requestURI":"/healthz","userAgent":"kube-probe/1"}` + "\n\n",
			want: map[string]map[string]count{},
		},
		"a line that is still being written is left out": {
			log:  line(ours, "create", "pods", "", 201, "") + strings.TrimSuffix(line(ours, "create", "pods", "", 201, ""), "\n"),
			want: map[string]map[string]count{byManager: {"create pods": one}},
		},
		"a client without a name has one here": {
			log:  line("", "create", "pods", "", 201, ""),
			want: map[string]map[string]count{"unknown": {"create pods": one}},
		},
	}
	for sentence, test := range tests {
		t.Run(sentence, func(t *testing.T) {
			got, err := tallyLines(strings.NewReader(test.log), "slipway-manager")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got.plain()); diff != "" {
				t.Errorf("want -, got +:\n%s", diff)
			}
		})
	}
}

func TestTallyNamesABrokenLine(t *testing.T) {
	_, err := tallyLines(strings.NewReader(line(ours, "create", "pods", "", 201, "")+"{broken\n"), "slipway-manager")
	if err == nil || !strings.Contains(err.Error(), "line 2") {
		t.Errorf("got error %v, want one that names line 2", err)
	}
}

func TestTallyReadsOnlyItsPart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.log")
	before, during, after := line(ours, "create", "pods", "", 201, ""), line(ours, "patch", "pods", "", 200, ""), line(ours, "delete", "pods", "", 200, "")
	if err := os.WriteFile(path, []byte(before+during+after), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := tallyFile(path, int64(len(before)), int64(len(before+during)), "slipway-manager")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]map[string]count{byManager: {"patch pods": {Requests: 1}}}
	if diff := cmp.Diff(want, got.plain()); diff != "" {
		t.Errorf("want -, got +:\n%s", diff)
	}
}

func TestSums(t *testing.T) {
	log := line(ours, "create", "pods", "", 201, "") + line(ours, "patch", "pods", "status", 409, "") +
		line(ours, "create", "controllerrevisions", "", 201, "") + line(ours, "patch", "clonesets", "status", 409, "") +
		line(ours, "create", "events", "", 201, "") + line(ours, "update", "leases", "", 200, "") +
		line("slipway-node/v0", "patch", "pods", "status", 200, "")
	counts, err := tallyLines(strings.NewReader(log), "slipway-manager")
	if err != nil {
		t.Fatal(err)
	}
	if requests, conflicts := counts.writes(byManager, false); requests != 3 || conflicts != 1 {
		t.Errorf("without the set's status, events and leases: %d writes, %d conflicts; want 3, 1", requests, conflicts)
	}
	if requests, conflicts := counts.writes(byManager, true); requests != 4 || conflicts != 2 {
		t.Errorf("with the set's status: %d writes, %d conflicts; want 4, 2", requests, conflicts)
	}
	if counts.knowsReads() {
		t.Error("a log without reads knows about reads")
	}
	counts, err = tallyLines(strings.NewReader(log+line(ours, "get", "pods", "", 404, "")+line(ours, "list", "pods", "", 200, "")), "slipway-manager")
	if err != nil {
		t.Fatal(err)
	}
	if n := counts.reads(byManager); n != 2 || !counts.knowsReads() {
		t.Errorf("%d reads, known: %t; want 2, true", n, counts.knowsReads())
	}
	if n := counts.reads(byNodes); n != 0 {
		t.Errorf("the nodes have %d reads, want none", n)
	}
}
