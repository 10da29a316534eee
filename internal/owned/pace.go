// SPDX-License-Identifier: Apache-2.0

package owned

import "time"

// countsEvery is how long a status stays as it is when only numbers of pods in it change. Each pod of a release would
// cause several such writes, of which each costs the API server more than the pod's own. Where the server is slow they
// become rarer: they take one part in countsShare of the time, and come every countsAtLeast all the same.
const countsEvery, countsShare, countsAtLeast = time.Second, 20, 10 * time.Second

// Pace is how often the status of one object is written that counts pods. Its zero value has written none yet.
type Pace struct {
	// countsFrom is when the status may be written next only because pods count otherwise.
	countsFrom time.Time
}

// Reported notes when the writing of a status began and ended.
func (p *Pace) Reported(began, ended time.Time) {
	p.countsFrom = ended.Add(min(max(countsEvery, countsShare*ended.Sub(began)), countsAtLeast))
}

// CountsIn is how long to wait before a status is written that differs from the last one in nothing but numbers of pods.
func (p *Pace) CountsIn(now time.Time) time.Duration { return max(0, p.countsFrom.Sub(now)) }
