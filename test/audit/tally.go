// SPDX-License-Identifier: Apache-2.0

package audit

import "strings"

// Product is the name in a user agent: what stands before the first slash.
func Product(userAgent string) string {
	name, _, _ := strings.Cut(userAgent, "/")
	return name
}

// Kind is what writes are counted by.
type Kind struct {
	Verb        string
	Subresource string
}

// String is the verb, with the subresource behind a slash.
func (k Kind) String() string {
	if k.Subresource == "" {
		return k.Verb
	}
	return k.Verb + "/" + k.Subresource
}

// Tally counts writes by pod name, and for each pod by kind.
type Tally map[string]map[Kind]int

// Count counts the requests of one product (see Product), refused ones too, since they
// cost the API server as much. A deletecollection counts once for each pod it removed.
func Count(writes []Write, product string) Tally {
	tally := Tally{}
	add := func(name string, kind Kind) {
		if tally[name] == nil {
			tally[name] = map[Kind]int{}
		}
		tally[name][kind]++
	}
	for _, write := range writes {
		if Product(write.UserAgent) != product {
			continue
		}
		kind := Kind{Verb: write.Verb, Subresource: write.Subresource}
		if write.Name != "" {
			add(write.Name, kind)
			continue
		}
		for i := range write.Pods {
			add(write.Pods[i].Name, kind)
		}
	}
	return tally
}

// Kinds adds the pods' counts up by kind.
func (t Tally) Kinds() map[Kind]int {
	sum := map[Kind]int{}
	for _, kinds := range t {
		for kind, n := range kinds {
			sum[kind] += n
		}
	}
	return sum
}

// Of is the number of writes to one pod.
func (t Tally) Of(name string) int {
	sum := 0
	for _, n := range t[name] {
		sum += n
	}
	return sum
}

// Most is the highest number of writes to any pod.
func (t Tally) Most() int {
	most := 0
	for name := range t {
		most = max(most, t.Of(name))
	}
	return most
}

// Total is the number of writes to all pods.
func (t Tally) Total() int {
	sum := 0
	for name := range t {
		sum += t.Of(name)
	}
	return sum
}
