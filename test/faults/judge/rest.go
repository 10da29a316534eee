// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"slipway.dev/slipway/test/audit"
)

// claim judges the deletion of a claim: nobody uses it, and the set does not keep it.
func (c *court) claim(e *entry) {
	if !e.gone || !c.ours(e) {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(c.pods)) {
		pod := c.pods[name]
		if s := c.owner(pod); active(pod) && mounts(pod, e.claim.Name) && s != nil && !s.gone {
			c.find(e, Claim, e.claim.Name, "it is deleted, and pod %s uses it", name)
		}
	}
	for _, ref := range e.claim.OwnerReferences {
		if s := c.sets[ref.UID]; s != nil && !s.gone && !s.latest().deletesItsClaims {
			c.find(e, Claim, e.claim.Name, "it is deleted, and set %s keeps its claims", s.name)
		}
	}
	for _, s := range c.sets {
		if s.single && !s.gone && !s.latest().deletesItsClaims && e.claim.Labels["app"] == s.name {
			c.find(e, Claim, e.claim.Name, "it is deleted, and set %s keeps its claims", s.name)
		}
	}
}

func mounts(pod *corev1.Pod, claim string) bool {
	return slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool {
		return v.PersistentVolumeClaim != nil && v.PersistentVolumeClaim.ClaimName == claim
	})
}

// count bounds the writes to each pod. A pod that comes again under its name is another one: a CloneSet uses names again.
func (c *court) count(events []audit.Event) {
	type life struct {
		name string
		nth  int
	}
	accepted, all, lives := map[life]int{}, map[life]int{}, map[string]int{}
	events = slices.SortedStableFunc(slices.Values(events), func(a, b audit.Event) int { return a.At.Compare(b.At) })
	for i := range events {
		e := &events[i]
		if e.Group != "" || e.Resource != "pods" || e.Namespace != c.Namespace || !e.At.After(c.Since) || audit.Product(e.UserAgent) != c.Product {
			continue
		}
		name := e.Name
		if name == "" {
			var made metav1.PartialObjectMetadata
			if json.Unmarshal(e.Answered, &made) == nil {
				name = made.Name
			}
		}
		if e.Verb == "create" && e.Subresource == "" && e.Accepted() {
			lives[name]++
		}
		of := life{name, lives[name]}
		if all[of]++; e.Accepted() {
			accepted[of]++
		}
	}
	ordered := slices.SortedFunc(maps.Keys(all), func(a, b life) int {
		return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.nth, b.nth))
	})
	for _, of := range ordered {
		for _, bound := range []struct {
			n, most int
			what    string
		}{{accepted[of], c.MostWrites, "changed"}, {all[of], c.MostTries, "written to"}} {
			if bound.most > 0 && bound.n > bound.most && of.name != "" {
				c.findings = append(c.findings, Finding{Invariant: Writes, Object: of.name, Detail: fmt.Sprintf("it was %s %d times, %d are enough", bound.what, bound.n, bound.most)})
			}
		}
	}
}

// end judges whether everything is as the newest specs want it.
func (c *court) end() {
	find := func(what Invariant, object, format string, args ...any) {
		c.findings = append(c.findings, Finding{Invariant: what, Object: object, Detail: fmt.Sprintf(format, args...)})
	}
	for _, uid := range slices.Sorted(maps.Keys(c.sets)) {
		s := c.sets[uid]
		if s.gone {
			continue
		}
		of, pods := s.latest(), c.members(s)
		available, fresh := 0, 0
		for _, p := range pods {
			if audit.Available(p, 0, time.Time{}) {
				available++
			}
			if imagesOf(&p.Spec) == of.images {
				fresh++
			}
			if s.single && ordinal(s, p.Name) >= of.replicas {
				find(Finished, p.Name, "ordinals go up to %d", of.replicas-1)
			}
		}
		if len(pods) != of.replicas || available != of.replicas {
			find(Finished, s.name, "%d pods, %d of them available; %d are wanted", len(pods), available, of.replicas)
		}
		if least := max(of.replicas-of.keeps, 0); fresh < least {
			find(Finished, s.name, "%d pods have the newest template, %d should", fresh, least)
		}
	}
	for uid, name := range c.asked {
		if p := c.pods[name]; p != nil && p.UID == uid && active(p) {
			find(Deletion, name, "somebody asked for its deletion, and it is still there")
		}
	}
}

// CheckLease says which accepted writes of the product came from a manager that did not hold the lease, or whose lease
// had run out. Managers are told apart by the mark
// that a proxy leaves in their user agents (see package proxy).
func CheckLease(events []audit.Event, product string, since time.Time) ([]Finding, error) {
	type turn struct {
		version uint64
		holder  string
		at      time.Time
		until   time.Time
	}
	var turns []turn
	identities := map[string]map[string]bool{} // by mark
	for i := range events {
		e := &events[i]
		if e.Resource != "leases" || !e.Accepted() || e.Verb == "delete" {
			continue
		}
		var lease coordinationv1.Lease
		if err := json.Unmarshal(e.Answered, &lease); err != nil {
			return nil, fmt.Errorf("decoding a lease: %w", err)
		}
		holder := ptr.Deref(lease.Spec.HolderIdentity, "")
		length := time.Duration(ptr.Deref(lease.Spec.LeaseDurationSeconds, 0)) * time.Second
		turns = append(turns, turn{number(lease.ResourceVersion), holder, e.At, e.At.Add(length)})
		if holder != "" && audit.Product(e.UserAgent) == product {
			if identities[mark(e.UserAgent)] == nil {
				identities[mark(e.UserAgent)] = map[string]bool{}
			}
			identities[mark(e.UserAgent)][holder] = true
		}
	}
	slices.SortFunc(turns, func(a, b turn) int { return int(int64(a.version) - int64(b.version)) })
	var findings []Finding
	for i := range events {
		e := &events[i]
		if audit.Product(e.UserAgent) != product || e.Resource == "leases" || !e.Accepted() || !e.At.After(since) {
			continue
		}
		var written metav1.PartialObjectMetadata
		if len(e.Answered) == 0 || json.Unmarshal(e.Answered, &written) != nil || number(written.ResourceVersion) == 0 {
			continue // not even its place in the order is known
		}
		version := number(written.ResourceVersion)
		var now *turn
		changed := true
		for t := range turns {
			if turns[t].version < version {
				now = &turns[t]
			} else if turns[t].at.Before(e.Received) {
				changed = false // the answer is older than the request: a removal, or a patch without effect
			}
		}
		if !changed {
			continue
		}
		object := e.Resource + " " + written.Name
		switch {
		case now == nil:
		case !identities[mark(e.UserAgent)][now.holder]:
			findings = append(findings, Finding{Lease, e.At, version, object, fmt.Sprintf("%s by %s, and %q holds the lease", e.Verb, e.UserAgent, now.holder)})
		case e.Received.After(now.until):
			findings = append(findings, Finding{Lease, e.At, version, object,
				fmt.Sprintf("%s by %s, %s after its lease had run out", e.Verb, e.UserAgent, e.Received.Sub(now.until).Round(time.Millisecond))})
		}
	}
	return findings, nil
}

// mark is what follows "via/": one program sends several user agents, but its proxy is one.
func mark(userAgent string) string {
	_, name, _ := strings.Cut(userAgent, " via/")
	return name
}

// CheckSilence says what the product has written in a namespace between two times, accepted or not.
func CheckSilence(events []audit.Event, product, namespace string, from, to time.Time) []Finding {
	var findings []Finding
	for i := range events {
		e := &events[i]
		if e.Namespace == namespace && audit.Product(e.UserAgent) == product && e.Received.After(from) && e.Received.Before(to) {
			findings = append(findings, Finding{Invariant: Silence, At: e.At, Object: e.Resource + " " + e.Name, Detail: e.Verb + " although everything is settled"})
		}
	}
	return findings
}
