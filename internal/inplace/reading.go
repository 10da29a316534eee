// SPDX-License-Identifier: Apache-2.0

package inplace

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"
)

// Reading is what the annotations of a pod say about its in-place update. To decode them is most of the work
// of judging a pod, so whoever judges the same pods again and again keeps the readings. Nothing changes one.
type Reading struct {
	recordKey, rawRecord string
	heldKey, rawHeld     string

	record *Record
	held   *Held
	err    error
}

// Read decodes the annotations of a pod.
func Read(p *corev1.Pod) Reading {
	var r Reading
	r.recordKey, r.rawRecord = written(p, recordKeys)
	r.heldKey, r.rawHeld = written(p, heldKeys)
	var errRecord, errHeld error
	r.record, errRecord = RecordOf(p)
	r.held, errHeld = HeldOf(p)
	r.err = cmp.Or(errRecord, errHeld)
	return r
}

// Holds tells whether a pod's annotations still are those that were read.
func (r Reading) Holds(p *corev1.Pod) bool {
	recordKey, rawRecord := written(p, recordKeys)
	heldKey, rawHeld := written(p, heldKeys)
	return r.recordKey == recordKey && r.rawRecord == rawRecord && r.heldKey == heldKey && r.rawHeld == rawHeld
}

// Found tells whether there was anything to decode: without, keeping the reading saves nothing.
func (r Reading) Found() bool { return r.recordKey != "" || r.heldKey != "" }
