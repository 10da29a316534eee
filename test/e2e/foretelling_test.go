// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kruisev1alpha1 "slipway.dev/slipway/api/kruise/v1alpha1"
	"slipway.dev/slipway/test/audit"
)

// foretelling is what `slipway plan -o json` prints about one set, read without its own types, and how the program ended.
type foretelling struct {
	Changes []struct {
		InPlace bool
		Forces  []string
	}
	Start   count
	Moments []struct {
		Actions       []action
		During, After count
	}
	LeastAvailable int
	Left           []string

	status int
	errors string
}

type count struct{ Total int }

// action is what happens to a pod, or to another object when it has no order.
type action struct {
	Order                 int
	Object, Verb, To, Why string
}

// plan runs slipway plan for files. Of several, only how it ended is of use.
func plan(files ...string) foretelling {
	GinkgoHelper()
	args := []string{"plan", "-o", "json"}
	for _, file := range files {
		args = append(args, "-f", file)
	}
	cmd := cluster.slipway(testCtx, args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil && !errors.As(err, new(*exec.ExitError)) {
		Expect(err).NotTo(HaveOccurred())
	}
	var printed struct{ Items []foretelling }
	if out.Len() > 0 {
		Expect(json.Unmarshal(out.Bytes(), &printed)).To(Succeed(), out.String())
	}
	told := foretelling{}
	if len(printed.Items) > 0 {
		told = printed.Items[0]
		told.keepBeginnings()
	}
	told.status, told.errors = cmd.ProcessState.ExitCode(), errs.String()
	return told
}

// course is what becomes of each pod, foretold or happened.
type course struct {
	// Fates are of the pods of the beginning, by name.
	Fates map[string]string
	// Created counts new pods by the hash of their revision.
	Created map[string]int
	// Names are those of the new pods, as long as no pod goes, whose name they might take over.
	Names []string
}

func newCourse(names []string) course {
	c := course{Fates: map[string]string{}, Created: map[string]int{}}
	for _, name := range names {
		c.Fates[name] = left
	}
	return c
}

// create notes a new pod.
func (c *course) create(name, hash string) {
	c.Created[hash]++
	c.Names = append(c.Names, name)
}

// finish forgets names that nobody promises, among them all names of a set that does not exist yet.
func (c course) finish() course {
	stays := len(c.Fates) > 0
	for _, fate := range c.Fates {
		stays = stays && (fate == left || fate == inPlace)
	}
	if !stays {
		c.Names = nil
	}
	slices.Sort(c.Names)
	return c
}

// course is what the plan says.
func (t *foretelling) course(names []string) course {
	c := newCourse(names)
	for _, a := range t.ofPods() {
		_, old := c.Fates[a.Object]
		switch {
		case a.Verb == "create":
			c.create(a.Object, a.To)
		case old && c.Fates[a.Object] == left:
			c.Fates[a.Object] = a.Verb
		default:
			c.Fates[a.Object] += ", then " + a.Verb
		}
	}
	return c.finish()
}

// ofPods are all actions, in order.
func (t *foretelling) ofPods() []action {
	var all []action
	for _, moment := range t.Moments {
		all = append(all, moment.Actions...)
	}
	return all
}

// keepBeginnings leaves what begins something with a pod, which is what the audit log is compared by: nothing about other
// objects, and of an update with a grace period only that the pod leaves service.
func (t *foretelling) keepBeginnings() {
	for i := range t.Moments {
		moment := &t.Moments[i]
		moment.Actions = slices.DeleteFunc(moment.Actions, func(a action) bool {
			return a.Order == 0 || a.Verb == "update in place after its grace period"
		})
		for j := range moment.Actions {
			if a := &moment.Actions[j]; a.Verb == "drain" {
				a.Verb = inPlace
			}
		}
	}
}

// touched are the pods that something is done to, in order.
func (t *foretelling) touched() []string {
	var names []string
	for _, a := range t.ofPods() {
		names = append(names, a.Object)
	}
	return names
}

// most is how many pods there are at most.
func (t *foretelling) most() int {
	n := t.Start.Total
	for _, moment := range t.Moments {
		n = max(n, moment.During.Total, moment.After.Total)
	}
	return n
}

// why is every reason for doing something or leaving it.
func (t *foretelling) why() string {
	all := slices.Clone(t.Left)
	for _, a := range t.ofPods() {
		all = append(all, a.Why)
	}
	return strings.Join(all, "; ")
}

// deed is one write of the manager that decides over a pod.
type deed struct{ pod, did, revision string }

// deeds are those of the chapter, in the order in which the API server accepted them.
func (c *chapter) deeds() []deed {
	GinkgoHelper()
	history(c.set)
	var all []deed
	for _, write := range audit.InOrder(in(cluster.audit.pods[c.pods:], c.set.GetNamespace())) {
		pod := &write.Pods[0]
		if audit.Product(write.UserAgent) != managerName || !slices.ContainsFunc(pod.OwnerReferences, func(o metav1.OwnerReference) bool { return o.UID == c.set.GetUID() }) {
			continue
		}
		kind := audit.Kind{Verb: write.Verb, Subresource: write.Subresource}
		all = append(all, deed{pod: pod.Name, did: kind.String(), revision: pod.Labels[kruisev1alpha1.LabelPodTemplateHash]})
	}
	return all
}

// course is what the audit log, the events and the pods say.
func (c *chapter) course(names []string) course {
	GinkgoHelper()
	told := newCourse(names)
	alive := map[types.UID]*corev1.Pod{}
	for _, pod := range podsOf(c.set) {
		alive[pod.UID] = pod
	}
	written, removed := map[string]bool{}, map[string]bool{}
	for _, d := range c.deeds() {
		switch {
		case d.did == creation.String():
			told.create(d.pod, d.revision)
		case c.before[d.pod] != nil:
			written[d.pod] = true
			removed[d.pod] = removed[d.pod] || d.did == deletion.String()
		}
	}
	for _, name := range names {
		before := c.before[name]
		now := alive[before.UID]
		switch {
		case now == nil && removed[name]:
			told.Fates[name] = c.reasonFor(name)
		case now == nil:
			told.Fates[name] = "lost"
		case now.Labels[kruisev1alpha1.LabelRevision] != before.Labels[kruisev1alpha1.LabelRevision]:
			told.Fates[name] = inPlace
		case written[name]:
			told.Fates[name] = "written to"
		}
	}
	return told.finish()
}

// reasonFor tells from the events whether a pod was deleted or recreated.
func (c *chapter) reasonFor(pod string) string {
	GinkgoHelper()
	var found string
	Eventually(func(g Gomega) {
		list := &eventsv1.EventList{}
		g.Expect(cluster.List(testCtx, list, client.InNamespace(c.set.GetNamespace()))).To(Succeed())
		for i := range list.Items {
			event := &list.Items[i]
			names, _, _ := strings.Cut(strings.TrimPrefix(event.Note, "pod "), ":")
			if event.Regarding.UID != c.set.GetUID() || !slices.Contains(strings.Split(names, ", "), pod) {
				continue
			}
			switch event.Reason {
			case "SuccessfulUpdatePodReCreate":
				found = recreated
			case "SuccessfulDelete":
				found = deleted
			}
		}
		g.Expect(found).NotTo(BeEmpty(), "an event that says why pod %s was deleted", pod)
	}).Should(Succeed())
	return found
}

// outOfOrder says what was done to pods earlier than the plan promises. Moments may overlap, since nodes are not equally
// fast; but nothing of a moment is begun before all of the earlier moments is, as far as old pods go. Where each
// moment is about one pod nothing can overlap, and new pods come in the order of the plan too.
func (t *foretelling) outOfOrder(deeds []deed, names []string) (wrong []string) {
	begun, single := map[string]bool{}, true
	var happened, foretold []string
	moments := map[string]int{}
	for i, moment := range t.Moments {
		for _, a := range moment.Actions {
			if a.Verb == "create" {
				foretold = append(foretold, "a new pod")
				continue
			}
			foretold = append(foretold, a.Object)
			moments[a.Object] = i
		}
		single = single && len(moment.Actions) <= 1
	}
	latest := 0
	for _, d := range deeds {
		switch {
		case d.did == creation.String():
			happened = append(happened, "a new pod")
		case !slices.Contains(names, d.pod) || begun[d.pod]:
		default:
			begun[d.pod] = true
			happened = append(happened, d.pod)
			if moments[d.pod] < latest {
				wrong = append(wrong, fmt.Sprintf("pod %s came after pods of later moments: %v", d.pod, happened))
			}
			latest = max(latest, moments[d.pod])
		}
	}
	if single && !slices.Equal(foretold, happened) {
		wrong = append(wrong, fmt.Sprintf("the order was %v, the plan says %v", happened, foretold))
	}
	return wrong
}
