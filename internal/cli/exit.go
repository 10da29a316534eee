// SPDX-License-Identifier: Apache-2.0

package cli

import "errors"

// ErrChanges says that a plan is not empty. It is no failure, and has an exit status of its own.
var ErrChanges = errors.New("there are changes")

// Exit statuses of the program.
const (
	ExitFine    = 0
	ExitError   = 1
	ExitChanges = 2
	// ExitGoesOn is the status of a rollout that has not ended yet.
	ExitGoesOn = 2
)

// Told is the error of a command that has said all on its output, so that only its exit status is left to tell.
type Told struct {
	Status int
	What   string
}

// Error says it once more, for who does not see the output.
func (t Told) Error() string { return t.What }

// ExitStatus is the status that the program ends with when a command returns the error.
func ExitStatus(err error) int {
	var told Told
	switch {
	case err == nil:
		return ExitFine
	case errors.As(err, &told):
		return told.Status
	case errors.Is(err, ErrChanges):
		return ExitChanges
	}
	return ExitError
}

// IsTold tells whether nothing is left to print of the error.
func IsTold(err error) bool {
	var told Told
	return errors.As(err, &told) || errors.Is(err, ErrChanges)
}
