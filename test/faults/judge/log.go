// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"slipway.dev/slipway/test/audit"
)

// entry is one thing that happened to one object.
type entry struct {
	version uint64
	at      time.Time
	// write is nil for a pod that somebody only saw, and of which no write tells.
	write *audit.Event
	pod   *corev1.Pod
	claim *metav1.ObjectMeta
	owner *ownerState
	gone  bool
}

type ownerState struct {
	meta     metav1.ObjectMeta
	single   bool
	spec     spec
	observed int64
}

func isSet(e *audit.Event) bool {
	return e.Group == "apps.kruise.io" && (e.Resource == "clonesets" || e.Resource == "statefulsets")
}

// entries puts the accepted writes of a namespace in order, with the sightings between them of which the log does not tell.
func entries(events []audit.Event, seen []audit.Sighting, namespace string) ([]entry, error) {
	var all []entry
	var unanswered []*audit.Event
	told := map[uint64]bool{}
	for i := range events {
		e := &events[i]
		if e.Namespace != namespace {
			continue
		}
		if e.Unanswered() && e.Group == "" && e.Resource == "pods" {
			unanswered = append(unanswered, e)
		}
		if !e.Accepted() {
			continue
		}
		read, err := read(e)
		if err != nil {
			return nil, fmt.Errorf("%s %s %s: %w", e.Verb, e.Resource, e.Name, err)
		}
		for _, r := range read {
			told[r.version] = r.version != 0
		}
		all = append(all, read...)
	}
	for _, s := range seen {
		if s.Namespace != namespace || told[s.Version] {
			continue
		}
		pod := s.Pod
		if pod == nil {
			pod = &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: s.Name}}
		}
		all = append(all, entry{version: s.Version, at: s.At, pod: pod, gone: s.Gone})
	}
	var last uint64
	for i := range all {
		if all[i].version == 0 {
			all[i].version = last + 1
		}
		last = max(last, all[i].version)
	}
	slices.SortStableFunc(all, func(a, b entry) int { return cmp.Compare(a.version, b.version) })
	attribute(all, unanswered)
	return all, nil
}

// attribute gives states that somebody saw to the unanswered writes that made them: whoever wrote is to be judged for it.
func attribute(all []entry, unanswered []*audit.Event) {
	last := map[string]*corev1.Pod{}
	for i := range all {
		e := &all[i]
		if e.pod == nil {
			continue
		}
		if e.write == nil {
			at := slices.IndexFunc(unanswered, func(u *audit.Event) bool { return made(u, last[e.pod.Name], e) })
			if at >= 0 {
				e.write = unanswered[at]
				unanswered = slices.Delete(unanswered, at, at+1)
			}
		}
		last[e.pod.Name] = e.pod
		if e.removes() {
			delete(last, e.pod.Name)
		}
	}
}

// made says whether an unanswered write can have brought a pod from one state to the next. Before is nil where there was none.
func made(u *audit.Event, before *corev1.Pod, e *entry) bool {
	var asked metav1.PartialObjectMetadata
	if len(u.Asked) > 0 && json.Unmarshal(u.Asked, &asked) != nil {
		return false
	}
	if cmp.Or(u.Name, asked.Name) != e.pod.Name || u.Received.After(e.at) {
		return false
	}
	isNew := before == nil || e.pod.UID != "" && before.UID != e.pod.UID
	switch u.Verb {
	case "create":
		return u.Subresource == "" && isNew && !e.gone
	case "delete":
		return !isNew && e.gone
	default:
		return !isNew && !e.gone && (asked.ResourceVersion == "" || asked.ResourceVersion == before.ResourceVersion)
	}
}

func read(e *audit.Event) ([]entry, error) {
	removes := e.Verb == "delete" || e.Verb == "deletecollection" || e.Subresource == "eviction"
	switch {
	case e.Group == "" && e.Resource == "pods":
		return readPods(e, removes)
	case e.Group == "" && e.Resource == "persistentvolumeclaims":
		var claim struct {
			metav1.ObjectMeta `json:"metadata"`
		}
		if err := json.Unmarshal(e.Answered, &claim); err != nil {
			return nil, fmt.Errorf("decoding a claim: %w", err)
		}
		claim.Name = cmp.Or(e.Name, claim.Name)
		return []entry{{version: number(claim.ResourceVersion), at: e.At, write: e, claim: &claim.ObjectMeta, gone: removes}}, nil
	case isSet(e) && e.Verb != "deletecollection":
		if removes {
			return []entry{{at: e.At, write: e, owner: &ownerState{meta: metav1.ObjectMeta{Name: e.Name}, single: e.Resource == "statefulsets"}, gone: true}}, nil
		}
		meta, spec, observed, err := readSet(e.Resource, e.Answered)
		if err != nil {
			return nil, err
		}
		own := &ownerState{meta: meta, single: e.Resource == "statefulsets", spec: spec, observed: observed}
		return []entry{{version: number(meta.ResourceVersion), at: e.At, write: e, owner: own}}, nil
	default:
		return nil, nil
	}
}

func readPods(e *audit.Event, removes bool) ([]entry, error) {
	var list corev1.PodList
	var kind metav1.TypeMeta
	if len(e.Answered) > 0 {
		if err := json.Unmarshal(e.Answered, &kind); err != nil {
			return nil, fmt.Errorf("decoding the kind: %w", err)
		}
	}
	switch kind.Kind {
	case "Pod":
		list.Items = make([]corev1.Pod, 1)
		if err := json.Unmarshal(e.Answered, &list.Items[0]); err != nil {
			return nil, fmt.Errorf("decoding a pod: %w", err)
		}
	case "PodList":
		if err := json.Unmarshal(e.Answered, &list); err != nil {
			return nil, fmt.Errorf("decoding pods: %w", err)
		}
	}
	var all []entry
	for i := range list.Items {
		pod := &list.Items[i]
		all = append(all, entry{version: number(pod.ResourceVersion), at: e.At, write: e, pod: pod, gone: removes || pod.DeletionTimestamp != nil})
	}
	if len(all) == 0 && removes && e.Name != "" {
		named := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: e.Namespace, Name: e.Name}}
		all = append(all, entry{at: e.At, write: e, pod: named, gone: true})
	}
	return all, nil
}

func number(version string) uint64 {
	n, err := strconv.ParseUint(version, 10, 64)
	if err != nil {
		return 0
	}
	return n
}
