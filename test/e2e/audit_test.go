// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	"slipway.dev/slipway/test/audit"
)

// auditLog is what the API server has written down so far.
type auditLog struct {
	path   string
	offset int64
	// pods are all writes of pods.
	pods []audit.Write
	// writes are all writes of anything, in words, by the manager.
	writes []managerWrite
	// deployments are all writes of CafeDeployments, but not of their status.
	deployments []audit.Event
	// follower sees the states of pods of which the log will never tell.
	follower *audit.Follower
}

// late is when the log has told of a state, if it ever does.
const late = 2 * time.Second

// managerWrite is one write of the manager: to what, and what it was, such as "patch clonesets/status web".
type managerWrite struct{ namespace, what string }

// read reads what has been written since the last call.
func (l *auditLog) read() {
	GinkgoHelper()
	file, err := os.Open(l.path)
	Expect(err).NotTo(HaveOccurred())
	defer file.Close()
	_, err = file.Seek(l.offset, io.SeekStart)
	Expect(err).NotTo(HaveOccurred())
	content, err := io.ReadAll(file)
	Expect(err).NotTo(HaveOccurred())
	pods, used, err := audit.Read(bytes.NewReader(content))
	Expect(err).NotTo(HaveOccurred())
	events, _, err := audit.ReadEvents(bytes.NewReader(content))
	Expect(err).NotTo(HaveOccurred())
	l.offset += used
	l.pods = append(l.pods, pods...)
	l.follower.Forget(pods)
	for _, e := range events {
		if e.Resource == "cafedeployments" && e.Subresource == "" && e.Accepted() {
			l.deployments = append(l.deployments, e)
		}
	}
	for line := range bytes.Lines(content[:used]) {
		var event struct {
			Stage     auditv1.Stage
			Verb      string
			UserAgent string
			ObjectRef auditv1.ObjectReference
		}
		Expect(json.Unmarshal(line, &event)).To(Succeed())
		if event.Stage != auditv1.StageResponseComplete || audit.Product(event.UserAgent) != managerName {
			continue
		}
		what := event.ObjectRef.Resource
		if event.ObjectRef.Subresource != "" {
			what += "/" + event.ObjectRef.Subresource
		}
		l.writes = append(l.writes, managerWrite{event.ObjectRef.Namespace, fmt.Sprintf("%s %s %s", event.Verb, what, event.ObjectRef.Name)})
	}
}

// sightings are the states of the pods of a namespace, by what was read so far.
func (l *auditLog) sightings(namespace string) []audit.Sighting {
	return append(audit.Sightings(in(l.pods, namespace)), l.follower.Seen(namespace, time.Now().Add(-late))...)
}

// chapter is a part of the history of one set: from one moment to as far as the log is written.
type chapter struct {
	set client.Object
	// from is the last version of a pod before the chapter. before are the pods as they were then.
	from   uint64
	before map[string]*corev1.Pod
	// pods and writes are where the chapter begins in the log.
	pods, writes int
}

// beginning is the chapter of everything that ever happens to the set.
func beginning(set client.Object) *chapter { return &chapter{set: set} }

// history is what the log tells of the set's pods, up to now. It waits until the log tells all, since the API
// server answers a request before it writes it down.
func history(set client.Object) *audit.History {
	GinkgoHelper()
	return toldOf(set.GetNamespace(), func() []*corev1.Pod { return podsOf(set) }, func(seen []audit.Sighting) *audit.History {
		return audit.NewHistory(set.GetUID(), seen)
	})
}

// toldOf is what the log tells of pods that can be listed.
func toldOf(namespace string, list func() []*corev1.Pod, of func([]audit.Sighting) *audit.History) *audit.History {
	GinkgoHelper()
	var told *audit.History
	Eventually(func(g Gomega) {
		live := map[string]string{}
		for _, pod := range list() {
			live[pod.Name] = pod.ResourceVersion
		}
		cluster.audit.read()
		told = of(cluster.audit.sightings(namespace))
		logged := map[string]string{}
		for name, pod := range told.At(0) {
			logged[name] = pod.ResourceVersion
		}
		g.Expect(logged).To(Equal(live), "the pods that the audit log tells of")
	}).Should(Succeed())
	return told
}

// from begins a chapter now.
func from(set client.Object) *chapter {
	GinkgoHelper()
	told := history(set)
	moments := told.Moments(audit.Window{}, 0)
	return &chapter{
		set: set, from: moments[len(moments)-1].Version, before: told.At(0),
		pods: len(cluster.audit.pods), writes: len(cluster.audit.writes),
	}
}

// verdict is how a chapter went.
type verdict struct {
	// unavailable is the most of the replicas at any moment; pods the most that existed.
	unavailable, pods int
	// kept are the names of the pods that have the UID and IP of the beginning.
	kept []string
}

// judge judges the chapter up to now, with replicas being what was wanted all the time.
func (c *chapter) judge(replicas int) verdict {
	GinkgoHelper()
	told := history(c.set)
	moments := told.Moments(audit.Window{From: c.from}, 0)
	unavailable, _ := audit.Worst(moments, replicas)
	return verdict{unavailable: unavailable, pods: audit.MostPods(moments), kept: audit.Kept(c.before, told.At(0))}
}

// disorder is where pods that wait for one another did not.
func (c *chapter) disorder() []string {
	GinkgoHelper()
	return history(c.set).Disorder(audit.Window{From: c.from})
}

// order names the pods in the order in which they got the revision that the set is now at.
func (c *chapter) order() []string {
	GinkgoHelper()
	latest := revisionsOf(c.set)
	newest := latest[len(latest)-1].Name
	return history(c.set).Order(audit.Window{From: c.from}, func(p *corev1.Pod) bool { return p.Labels[kruisev1alpha1.LabelRevision] == newest })
}

// podWrites counts the manager's writes to pods in the chapter, also those that were refused.
func (c *chapter) podWrites() audit.Tally {
	GinkgoHelper()
	history(c.set)
	return audit.Count(c.requests(), managerName)
}

// acceptedPodWrites counts those that changed something.
func (c *chapter) acceptedPodWrites() audit.Tally {
	GinkgoHelper()
	history(c.set)
	accepted := slices.DeleteFunc(c.requests(), func(w audit.Write) bool { return !w.Accepted() })
	return audit.Count(accepted, managerName)
}

// requests are all writes to pods of the set in the chapter. Names of pods begin with that of their set.
func (c *chapter) requests() []audit.Write {
	return slices.DeleteFunc(in(cluster.audit.pods[c.pods:], c.set.GetNamespace()), func(w audit.Write) bool {
		return !strings.HasPrefix(w.Name, c.set.GetName()+"-")
	})
}

// byKind adds the writes of all pods up.
func byKind(tally audit.Tally) map[audit.Kind]int {
	sum := map[audit.Kind]int{}
	for _, kinds := range tally {
		for kind, n := range kinds {
			sum[kind] += n
		}
	}
	return sum
}

// managerWrites are all writes of the manager in the chapter, in words.
func (c *chapter) managerWrites() []string {
	GinkgoHelper()
	cluster.audit.read()
	var words []string
	for _, write := range cluster.audit.writes[c.writes:] {
		if write.namespace == c.set.GetNamespace() {
			words = append(words, write.what)
		}
	}
	return words
}

// names of the pods at the beginning, sorted.
func (c *chapter) names() []string { return slices.Sorted(maps.Keys(c.before)) }

func in(writes []audit.Write, namespace string) []audit.Write {
	var those []audit.Write
	for _, write := range writes {
		if write.Namespace == namespace {
			those = append(those, write)
		}
	}
	return those
}
