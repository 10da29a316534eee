// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestReadFindsFinishedWritesOfPods(t *testing.T) {
	writes, _, err := ReadFile(filepath.Join("testdata", "inplace.log"), 0)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, w := range writes {
		got = append(got, fmt.Sprintf("%s %s %s %q %d accepted=%t pods=%d",
			Product(w.UserAgent), Kind{w.Verb, w.Subresource}, w.Namespace, w.Name, w.Code, w.Accepted(), len(w.Pods)))
	}
	want := []string{
		`slipway-manager create demo "web-a" 201 accepted=true pods=1`,
		`kube-scheduler create/binding demo "web-a" 201 accepted=true pods=0`,
		`slipway-manager patch/status demo "web-a" 409 accepted=false pods=0`,
		`kube-controller-manager deletecollection demo "" 200 accepted=true pods=1`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("writes (-want +got):\n%s", diff)
	}
}

func TestInOrderIsByVersionAndNotByTheLog(t *testing.T) {
	write := func(version string, code int32) Write {
		return Write{Code: code, Verb: "patch", Pods: []corev1.Pod{{ObjectMeta: metav1.ObjectMeta{Name: "web-a", ResourceVersion: version}}}}
	}
	log := []Write{write("9", 200), write("11", 200), write("10", 200), write("12", 409), {Code: 201, Verb: "create", Subresource: "binding"}}
	var got []string
	for _, w := range InOrder(log) {
		got = append(got, w.Pods[0].ResourceVersion)
	}
	if diff := cmp.Diff([]string{"9", "10", "11"}, got); diff != "" {
		t.Errorf("versions (-want +got):\n%s", diff)
	}
	if log[1].Pods[0].ResourceVersion != "11" {
		t.Error("the log itself was put in another order")
	}
}

func TestReadFileGoesOnWhereItStopped(t *testing.T) {
	all, err := os.ReadFile(filepath.Join("testdata", "inplace.log"))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "audit.log")
	lines := strings.SplitAfter(string(all), "\n")
	half := lines[0][:len(lines[0])/2]

	if err := os.WriteFile(path, []byte(half), 0o600); err != nil {
		t.Fatal(err)
	}
	writes, offset, err := ReadFile(path, 0)
	if err != nil || len(writes) != 0 || offset != 0 {
		t.Fatalf("half a line: got %d writes, offset %d, error %v; want none of it used", len(writes), offset, err)
	}

	if err := os.WriteFile(path, []byte(lines[0]+half), 0o600); err != nil {
		t.Fatal(err)
	}
	writes, offset, err = ReadFile(path, 0)
	if err != nil || len(writes) != 1 || offset != int64(len(lines[0])) {
		t.Fatalf("a line and a half: got %d writes, offset %d, error %v", len(writes), offset, err)
	}

	if err := os.WriteFile(path, all, 0o600); err != nil {
		t.Fatal(err)
	}
	writes, offset, err = ReadFile(path, offset)
	if err != nil || len(writes) != 3 || offset != int64(len(all)) {
		t.Fatalf("the rest: got %d writes, offset %d, error %v", len(writes), offset, err)
	}
}

func TestReadNamesTheLineThatIsNotAnEvent(t *testing.T) {
	_, _, err := Read(strings.NewReader("\n" + `{"objectRef":{"resource":"pods"},` + "\n"))
	if err == nil || !strings.Contains(err.Error(), "audit line 2") {
		t.Errorf("error %v, want one that names line 2", err)
	}
}

func TestCountCountsRefusedAndCollectiveWritesToo(t *testing.T) {
	writes, _, err := ReadFile(filepath.Join("testdata", "inplace.log"), 0)
	if err != nil {
		t.Fatal(err)
	}
	want := Tally{"web-a": {{Verb: "create"}: 1, {Verb: "patch", Subresource: "status"}: 1}}
	got := Count(writes, "slipway-manager")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the manager's writes (-want +got):\n%s", diff)
	}
	if got.Of("web-a") != 2 || got.Most() != 2 || got.Total() != 2 {
		t.Errorf("of %d, most %d, total %d; want 2 each", got.Of("web-a"), got.Most(), got.Total())
	}
	if n := Count(writes, "kube-controller-manager").Of("web-a"); n != 1 {
		t.Errorf("deletecollection counted %d times for its pod, want 1", n)
	}
}

func TestReadEventsFindsFinishedWritesOfEverything(t *testing.T) {
	lines := strings.Join([]string{
		`{"stage":"RequestReceived","verb":"update","objectRef":{"resource":"leases","name":"l"}}`,
		`{"stage":"ResponseComplete","verb":"get","objectRef":{"resource":"pods","name":"a"}}`,
		`{"stage":"ResponseComplete","verb":"patch","requestURI":"/x?dryRun=All","objectRef":{"resource":"pods","name":"a"}}`,
		`{"stage":"ResponseComplete","verb":"update","userAgent":"m/v1","objectRef":{"apiGroup":"coordination.k8s.io","resource":"leases","namespace":"s","name":"l"},` +
			`"responseStatus":{"code":409},"requestObject":{"a":1},"responseObject":{"b":2}}`,
		`{"stage":"ResponseComplete","verb":"delete","objectRef":{"resource":"pods","name":"unfinished`,
	}, "\n")
	events, used, err := ReadEvents(strings.NewReader(lines))
	if err != nil || int(used) != strings.LastIndex(lines, "\n")+1 {
		t.Fatalf("used %d bytes, error %v", used, err)
	}
	want := []Event{{
		UserAgent: "m/v1", Verb: "update", Group: "coordination.k8s.io", Resource: "leases", Namespace: "s", Name: "l", Code: 409,
		Asked: []byte(`{"a":1}`), Answered: []byte(`{"b":2}`),
	}}
	if diff := cmp.Diff(want, events); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	if events[0].Accepted() {
		t.Error("a refused write counts as accepted")
	}
}
