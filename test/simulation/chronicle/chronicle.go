// SPDX-License-Identifier: Apache-2.0

package chronicle

import (
	"fmt"
	"strings"
	"time"

	rolloutv1alpha1 "slipway.dev/slipway/api/oam/rollout/v1alpha1"
	"slipway.dev/slipway/test/simulation/api"
	"slipway.dev/slipway/test/simulation/world"
)

// Chronicle is that of one world.
type Chronicle struct {
	world *world.World
	began time.Time
	notes []note
	lines []string
	// state and numbers are what was told last of the rollout; row is the line to which numbers are added, -1 for none.
	state, numbers string
	row            int
}

// note is something that a person did, or that happened besides, at a place in the history.
type note struct {
	at   int
	time time.Time
	text string
}

// Of is the chronicle of a world. It begins now.
func Of(w *world.World) *Chronicle {
	c := &Chronicle{world: w}
	c.Begins()
	return c
}

// Begins has the story begin now: what was written before is not told, and all times count from here.
func (c *Chronicle) Begins() { c.began = c.world.Clock.Now() }

// Say notes what happened besides the writes of the manager.
func (c *Chronicle) Say(format string, args ...any) {
	c.notes = append(c.notes, note{len(c.world.Server.Log()), c.world.Clock.Now(), fmt.Sprintf(format, args...)})
}

// Text tells the story: of each write what one has to say, and in the end how everything stands. These two add the lines.
func (c *Chronicle) Text(write func(api.Write), end func()) string {
	c.lines, c.row, c.state, c.numbers = nil, -1, "", ""
	notes := c.notes
	for i, w := range c.world.Server.Log() {
		for len(notes) > 0 && notes[0].at <= i {
			c.Line(notes[0].time, notes[0].text)
			notes = notes[1:]
		}
		if !w.Time.Before(c.began) {
			write(w)
		}
	}
	for _, n := range notes {
		c.Line(n.time, n.text)
	}
	end()
	return strings.Join(c.lines, "\n") + "\n"
}

// Line tells something with the time since the beginning.
func (c *Chronicle) Line(at time.Time, text string) {
	since := at.Sub(c.began)
	c.lines = append(c.lines, fmt.Sprintf("%02d:%02d %s", int(since.Minutes()), int(since.Seconds())%60, text))
	c.row = -1
}

// Progress tells the state of the rollout, as somebody has put it, when that is another one; numbers alone are added to their line.
func (c *Chronicle) Progress(at time.Time, state string, st *rolloutv1alpha1.RolloutStatus) {
	numbers := fmt.Sprintf("%d/%d", st.UpgradedReplicas, st.UpgradedReadyReplicas)
	switch {
	case state != c.state:
		text := "rollout   " + state
		if numbers != c.numbers && numbers != "0/0" {
			text += "; " + numbers
		}
		c.Line(at, text)
	case numbers != c.numbers && c.row >= 0:
		c.lines[c.row] += " " + numbers
	case numbers != c.numbers:
		c.Line(at, "numbers   "+numbers)
		c.row = len(c.lines) - 1
	}
	c.state, c.numbers = state, numbers
}

// Gone tells that there is no rollout any more; the next one is told from its beginning.
func (c *Chronicle) Gone(at time.Time, text string) {
	c.Line(at, "rollout   "+text)
	c.state, c.numbers = "", ""
}

// StateOf tells the state of a rollout in a few words.
func StateOf(st *rolloutv1alpha1.RolloutStatus) string {
	if st.RollingState != rolloutv1alpha1.RollingInBatchesState || st.Running == nil {
		return string(st.RollingState)
	}
	return fmt.Sprintf("batch %d of %d: %s", st.CurrentBatch+1, len(st.Running.RolloutBatches), st.BatchRollingState)
}
