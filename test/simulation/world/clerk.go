// SPDX-License-Identifier: Apache-2.0

package world

import (
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"slipway.dev/slipway/test/simulation/api"
)

// Clerk reads the history of the API to a judge, and keeps the first violation. It is a part of each judge.
type Clerk struct {
	// Gist is what an object says, in a few words, for who plays a story; nil for nothing.
	Gist func(client.Object) string

	world *World
	write func(api.Write) error
	done  int // how much of the history was read
	err   error
}

// NewClerk is a clerk who has each write judged, of whomever it is.
func NewClerk(w *World, write func(api.Write) error) *Clerk { return &Clerk{world: w, write: write} }

// Look has the writes judged that came since the last look.
func (c *Clerk) Look() {
	log := c.world.Server.Log()
	for ; c.done < len(log); c.done++ {
		w := log[c.done]
		if w.Actor == Actor {
			gist := ""
			if c.Gist != nil {
				gist = c.Gist(w.After)
			}
			c.world.Tell("manager: %s of %s %s %s, version %d%s", w.Verb, w.Kind, w.After.GetName(), w.Subresource, w.Version, gist)
		}
		if err := c.write(w); err != nil {
			c.Accuse(fmt.Errorf("%s %s %s (version %d): %w", w.Verb, w.Kind, w.After.GetName(), w.Version, err))
		}
	}
}

// Violation is the first one; nil while there is none.
func (c *Clerk) Violation() error { return c.err }

// Accuse is told of a violation that no write shows.
func (c *Clerk) Accuse(violation error) {
	if c.err == nil {
		c.err = violation
	}
}
