// SPDX-License-Identifier: Apache-2.0

package errand

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Owner is the object that errands are for. One of the same name that was created later is another owner.
type Owner struct {
	types.NamespacedName
	UID types.UID
}

// Errand is something to find out.
type Errand[A any] struct {
	// Key names it among those of its owner.
	Key string
	// Version stands for all that the errand was told. While an errand is under way, one of the same key and another version
	// replaces it, so that a mistake in a plan can be corrected; once there is an answer, it does not.
	Version string
	// Try tries once. It runs in a goroutine of its own and ends soon after its context does. The logger of the context names
	// owner and key.
	Try func(ctx context.Context) Attempt[A]
}

// Attempt is what came of one try: Done or Again.
type Attempt[A any] struct {
	done   bool
	answer A
	said   string
	after  time.Duration
}

// Done ends an errand with its answer.
func Done[A any](answer A) Attempt[A] { return Attempt[A]{done: true, answer: answer} }

// Again has an errand tried again. Said tells people why, in words that are the same as long as the reason is. It is not tried
// before a time has passed that grows with each try up to half a minute, nor before after has, of which at most MaxAfter counts.
func Again[A any](said string, after time.Duration) Attempt[A] {
	return Attempt[A]{said: said, after: after}
}

// MaxAfter is the longest wait that another system can ask for.
const MaxAfter = 5 * time.Minute

// State is how far an errand is.
type State string

const (
	// None means that there is no such errand.
	None State = "None"
	// UnderWay means that there is no answer yet.
	UnderWay State = "UnderWay"
	// Answered means that there is one. It stays the same until the errand is forgotten.
	Answered State = "Answered"
)

// Report is what came of an errand so far.
type Report[A any] struct {
	State State
	// Answer of an errand that is Answered.
	Answer A
	// Said is why the newest try was not the last one; empty before the first one has ended.
	Said string
	// Tries is how many have ended.
	Tries int
}
