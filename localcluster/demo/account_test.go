// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"slipway.dev/slipway/test/audit"
)

// log makes evidence: states of pods in order, each accepted write of the manager.
type log struct {
	version int
	writes  []audit.Write
}

func (l *log) write(name string, change func(*corev1.Pod)) *log {
	l.version++
	p := corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, UID: types.UID(name), ResourceVersion: fmt.Sprint(l.version),
			OwnerReferences: []metav1.OwnerReference{{UID: "set", Controller: ptr.To(true)}},
		},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Image: "app:1"}}},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, PodIP: "10.0.0.1",
			Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}},
	}
	change(&p)
	l.writes = append(l.writes, audit.Write{UserAgent: product + "/v1", Verb: "patch", Name: name, Code: 200, Pods: []corev1.Pod{p}})
	return l
}

func (l *log) refused(name string) *log {
	l.writes = append(l.writes, audit.Write{UserAgent: product + "/v1", Verb: "patch", Subresource: "status", Name: name, Code: 409})
	return l
}

func (l *log) evidence(from, skip int) evidence {
	return evidence{
		history: audit.NewHistory("set", audit.Sightings(l.writes)), window: audit.Window{From: uint64(from)},
		writes: l.writes[skip:], took: 1500 * time.Millisecond,
	}
}

func asIs(*corev1.Pod)      {}
func down(p *corev1.Pod)    { p.Status.Conditions[0].Status = corev1.ConditionFalse; updated(p) }
func updated(p *corev1.Pod) { p.Spec.Containers[0].Image = "app:2" }
func moved(p *corev1.Pod)   { updated(p); p.Status.PodIP = "10.0.0.2" }
func another(p *corev1.Pod) { updated(p); p.UID = "another" }

func TestAccount(t *testing.T) {
	two := func() *log { return (&log{}).write("a", asIs).write("b", asIs) }
	for sentence, test := range map[string]struct {
		log    *log
		lines  []string
		broken []string
	}{
		"a good release keeps every promise": {
			log: two().write("a", down).refused("a").write("a", updated).write("b", down).write("b", updated),
			lines: []string{
				"pods         2 of 2 kept their UID and IP, 2 run app:2",
				"unavailable  at most 1 at any time, 1 allowed (5 states seen)",
				"API writes   4 by slipway-manager, at most 2 to one pod (4 patch), 1 more refused, since the pod had just changed",
				"time         1.5 seconds",
			},
		},
		"too many at a time": {
			log:    two().write("a", down).write("b", down).write("a", updated).write("b", updated),
			broken: []string{"2 pods were unavailable at a time, 1 were allowed"},
		},
		"a pod with another IP":  {log: two().write("a", moved).write("b", updated), broken: []string{"1 of 2 pods did not keep their UID and IP"}},
		"a pod with another UID": {log: two().write("a", another).write("b", updated), broken: []string{"1 of 2 pods did not keep their UID and IP"}},
		"a pod that was left out": {
			log: two().write("a", updated), broken: []string{"1 pods run app:2, 2 should"}},
		"a pod too many": {
			log:    two().write("c", updated).write("a", updated).write("b", updated),
			broken: []string{"3 pods existed at a time, 2 were wanted", "3 pods run app:2, 2 should"},
		},
		"too many writes": {
			log:    two().write("a", down).write("a", down).write("a", down).write("a", updated).write("b", updated),
			broken: []string{"4 writes to one pod, 3 should do"},
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			a := newAccount(test.log.evidence(2, 2), 2, 1, "app:2")
			if diff := cmp.Diff(test.broken, a.Broken(2)); diff != "" {
				t.Errorf("broken promises (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.lines, a.Lines()); diff != "" && test.lines != nil {
				t.Errorf("lines (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAnOrderedReleaseHasToKeepItsOrder(t *testing.T) {
	for sentence, test := range map[string]struct {
		log    *log
		broken []string
	}{
		"from the highest down":       {log: (&log{}).write("b", updated).write("a", updated)},
		"as far as it has come":       {log: (&log{}).write("b", updated)},
		"the lowest is not first":     {log: (&log{}).write("a", updated).write("b", updated), broken: []string{"pods got the image in the order a, b"}},
		"nor is one that comes alone": {log: (&log{}).write("a", updated), broken: []string{"pods got the image in the order a"}},
	} {
		t.Run(sentence, func(t *testing.T) {
			a := newAccount(test.log.evidence(0, 0), 2, 2, "app:2")
			a.Kept, a.Ordered = 2, []string{"b", "a"} // only the order is looked at
			if diff := cmp.Diff(test.broken, a.Broken(a.Got)); diff != "" {
				t.Errorf("broken promises (-want +got):\n%s", diff)
			}
			if text := strings.Join(a.Lines(), "\n"); !strings.Contains(text, "order        "+strings.Join(a.Order, ", ")) {
				t.Errorf("the account does not tell the order:\n%s", text)
			}
		})
	}
}

func TestAccountOfAClusterWithoutALog(t *testing.T) {
	e := (&log{}).write("a", asIs).write("a", updated).evidence(1, 1)
	e.writes = nil
	a := newAccount(e, 1, 1, "app:2")
	if broken := a.Broken(1); broken != nil {
		t.Errorf("broken %q: what cannot be measured is not a broken promise", broken)
	}
	if text := strings.Join(a.Lines(), "\n"); !strings.Contains(text, "cannot be measured") {
		t.Errorf("the account does not say what it does not know:\n%s", text)
	}
}

func TestAnEmptyLogIsNotAProof(t *testing.T) {
	e := (&log{}).write("a", asIs).write("a", updated).evidence(1, 2)
	if broken := newAccount(e, 1, 1, "app:2").Broken(1); len(broken) != 1 || !strings.Contains(broken[0], "not the log of this release") {
		t.Errorf("broken %q, want one about the log", broken)
	}
}
